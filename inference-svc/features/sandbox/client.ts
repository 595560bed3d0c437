/**
 * Client of the operator's sandbox: an HTTP adapter that runs commands and code in containers (docs/tools/sandbox.md).
 * Sluice itself runs nothing.
 */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { SandboxSettings } from "@sluice/proto/config/sandbox.js";
import { GuardedService, type OnServiceEnd, observeCall } from "../../services/guarded-service.ts";
import type { OpenMeter, ServiceCaller } from "../../models/ledger/service-meter.ts";
import { throwIfAborted } from "../../turn/abort.ts";
import { MeteredClient } from "../../services/metered-client.ts";
import { ServiceClient } from "../../services/service-client.ts";
import { type CommandOutput, SandboxRefused, readRun } from "./sandbox-answer.ts";

/** Milliseconds the adapter may take in addition to the run: a container starts in one to eight seconds. */
const overheadMs = 8_000;
/** Maximum milliseconds of a run: the call must end within the one-minute limit of every tool. */
export const maxRunMs = 50_000;
/** Maximum UTF-8 bytes of a run's output, over all commands and both streams. */
const maxOutputBytes = 256 * 1024;

/** Called when a run begins; returns a function to be called with the outcome. */
export type SandboxWatch = () => OnServiceEnd;

/** Settings of a run's container. Different settings mean different containers, even with the same id. */
export interface Container {
  /** Hash of workspace and key, which separates the containers of different keys. */
  readonly tenant: string;
  /** Id of the container: 1 to 64 letters, digits, _ and -. */
  readonly id: string;
  /** The network policy as the client wrote it; undefined stands for no network. */
  readonly networkPolicy: unknown;
  /** Memory limit: 1g, 4g, 16g or 64g; undefined for the adapter's default. */
  readonly memoryLimit: unknown;
  /** Seconds without a run after which the container is removed. */
  readonly sleepAfterSeconds: number;
}

/** Programs that run one after the other, until one exceeds the time limit. */
export interface Run {
  readonly language: "shell" | "python";
  readonly commands: readonly string[];
  /** Time limit in milliseconds for all programs together. */
  readonly timeoutMs: number;
}

/** The sandbox gave no result; the message is for the model. */
export class SandboxUnavailable extends Error {}

export interface SandboxDependencies {
  /** Version of Sluice, for the user agent. */
  readonly version: string;
  readonly watch: SandboxWatch;
  readonly meter: OpenMeter;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
  readonly log: Pick<Logger, "warn">;
}

export class Sandbox {
  readonly #connections: ServiceClient;
  readonly #client: MeteredClient;
  readonly #service: GuardedService;
  readonly #watch: SandboxWatch;

  constructor(settings: SandboxSettings, { version, watch, meter, now, log }: SandboxDependencies) {
    const price = settings.pricing?.request;
    this.#connections = new ServiceClient(settings, `sluice/${version}`);
    this.#client = new MeteredClient(
      this.#connections,
      meter({ operation: "sandbox", model: "sandbox", provider: "sandbox", price }),
    );
    this.#service = new GuardedService({
      name: "the sandbox",
      warning: "run in the sandbox failed",
      fields: {},
      Unavailable: SandboxUnavailable,
      refusal: (error) => (error instanceof SandboxRefused ? error.explanation : undefined),
      now,
      log,
    });
    this.#watch = watch;
  }

  /**
   * Runs the commands. The adapter ends a run when its connection closes.
   * @returns one output for each command; fewer when a command exceeded the time limit
   * @throws SandboxUnavailable; Fault when the turn is over, or when the budget forbids the run
   */
  async run(container: Container, run: Run, { scope, signal }: ServiceCaller): Promise<readonly CommandOutput[]> {
    throwIfAborted(signal);
    const limits = { scope, signal, timeoutMs: run.timeoutMs + overheadMs };
    return observeCall(this.#watch(), signal, async () => {
      this.#service.check();
      return this.#service.run(signal, async () =>
        readRun(await this.#client.post("/v1/runs", bodyOf(container, run), limits), run.commands.length),
      );
    });
  }

  /** Lets running calls finish, and closes idle connections. */
  retire(): void {
    this.#connections.retire();
  }

  /** Waits for running calls. */
  close(): Promise<void> {
    return this.#connections.close();
  }
}

const bodyOf = ({ tenant, id, networkPolicy, memoryLimit, sleepAfterSeconds }: Container, run: Run): string =>
  JSON.stringify({
    tenant,
    container_id: id,
    language: run.language,
    commands: run.commands,
    timeout_ms: run.timeoutMs,
    max_output_bytes: maxOutputBytes,
    network_policy: networkPolicy ?? { type: "disabled" },
    ...(typeof memoryLimit === "string" && { memory_limit: memoryLimit }),
    sleep_after_seconds: sleepAfterSeconds,
  });
