/** An installation whose gateway and inference-svc count: the real programs, with a preloaded module. */
import { mkdtempSync, rmSync } from "node:fs";
import { type Socket, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Interface, createInterface } from "node:readline";
import { type InstallationOptions, startInstallation } from "../../../support/installation.ts";
import type { LoadTarget } from "../client/target.ts";
import { guardedTarget } from "../guardrail.ts";
import { type CountCommand, type CountReply, type CountResult, type CountedQuantity, socketOf } from "./channel.ts";

export const countedServices = ["gateway", "inference-svc"] as const;
export type CountedService = (typeof countedServices)[number];
export type CountsByService = Readonly<Record<CountedService, CountResult>>;

class CountedProcess {
  readonly #socket: Socket;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;

  constructor(path: string) {
    this.#socket = connect(path);
    this.#reader = createInterface(this.#socket);
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  async ask(command: CountCommand): Promise<CountResult> {
    this.#socket.write(`${JSON.stringify(command)}\n`);
    const { value } = await this.#lines.next();
    if (value === undefined) throw new Error("the counted process is gone");
    const reply = JSON.parse(value as string) as CountReply;
    if ("error" in reply) throw new Error(reply.error);
    return reply.result;
  }

  close(): void {
    this.#reader.close();
    this.#socket.destroy();
  }
}

export interface CountedInstallation {
  readonly target: LoadTarget;
  /** The same installation, called with a key under a guardrail of 50 output patterns. */
  readonly guarded: LoadTarget;
  /** All processes by name, including those that do not count. */
  readonly pids: Readonly<Record<string, number>>;
  /** Counts in both processes while `work` runs. @param places number of largest places to report, 0 for none */
  count(quantity: CountedQuantity, places: number, work: () => Promise<void>): Promise<CountsByService>;
  stop(): Promise<void>;
}

export async function startCountedInstallation(
  options: InstallationOptions,
  nodeOptions: readonly string[] = [],
): Promise<CountedInstallation> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-counts-"));
  const preload = new URL("../roles/counting.js", import.meta.url);
  preload.searchParams.set("folder", folder);
  const environment = { ...options.environment, NODE_OPTIONS: [`--import=${preload.href}`, ...nodeOptions].join(" ") };
  try {
    const installation = await startInstallation({ ...options, environment });
    const pids = installation.pids();
    const processes = countedServices.map((name) => new CountedProcess(socketOf(folder, pids[name] as number)));
    const askAll = async (command: CountCommand): Promise<CountsByService> => {
      const [gateway, inference] = await Promise.all(processes.map((process) => process.ask(command)));
      return { gateway: gateway as CountResult, "inference-svc": inference as CountResult };
    };
    const port = Number(new URL(installation.baseUrl).port);
    const target: LoadTarget = { port, base: "/api", format: "responses", key: installation.apiKey };
    return {
      target,
      guarded: await guardedTarget(target, installation.managementKey),
      pids,
      count: async (quantity, places, work) => {
        await askAll({ do: "start", quantity, places: places > 0 });
        const failed = await work().then(
          () => undefined,
          (error: Error) => error,
        );
        const counted = await askAll({ do: "stop", quantity, places });
        if (failed) throw failed;
        return counted;
      },
      stop: async () => {
        for (const process of processes) process.close();
        await installation.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}
