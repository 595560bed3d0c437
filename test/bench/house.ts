/** The house under test: the real processes, started as `npm start` starts them, with the mock upstream as its only provider. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { HouseRecord } from "@sluice/local/house-record.js";
import { tie } from "@sluice/local/processes.js";
import type { Target } from "./client/target.ts";
import { familyOf, pin } from "./measure/machine.ts";
import { type Script, modelOf } from "./script.ts";

/** Above what any scenario opens: the limit protects against what a bench is. */
export const streamsPerKey = 100_000;
const startLimitMs = 90_000;
const stopLimitMs = 15_000;
const supervisor = fileURLToPath(import.meta.resolve("@sluice/local/main.js"));

const portVariables = [
  "SLUICE_PORT",
  "SLUICE_INFERENCE_PORT",
  "SLUICE_ADMIN_PORT",
  "SLUICE_POSTGRES_PORT",
  "SLUICE_GATEWAY_HEALTH_PORT",
  "SLUICE_INFERENCE_HEALTH_PORT",
  "SLUICE_ADMIN_HEALTH_PORT",
];

export interface House {
  readonly target: Target;
  readonly managementKey: string;
  readonly gatewayPid: number;
  readonly inferencePid: number;
  /** Tells gateway and inference-svc to collect their garbage, as they do by themselves some time. */
  collect(): void;
  stop(): Promise<void>;
}

/** @throws with the end of what the house said when it does not get ready */
export async function startHouse(options: {
  readonly upstreamPort: number;
  readonly scripts: readonly Script[];
  readonly cpu: number;
  readonly interruption: AbortSignal;
}): Promise<House> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  const dataDir = join(folder, "data");
  const config = join(folder, "sluice.yaml");
  writeFileSync(config, JSON.stringify(houseFile(options.upstreamPort, options.scripts)));
  const environment = {
    ...process.env,
    ...(await freePorts()),
    NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --import=${import.meta.resolve("./roles/collect.js")}`,
    SLUICE_DATA_DIR: dataDir,
    SLUICE_CONFIG: config,
  };
  const child = spawn(process.execPath, [supervisor], {
    env: { ...environment, SLUICE_DRAIN_LIMIT_MS: "5000" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = new Output(child);
  const untie = tie(child.pid as number, "KILL");
  const stop = async () => {
    await end(child);
    await untie();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { base_url: baseUrl, pids } = await untilReady(join(dataDir, "house.json"), child, options.interruption);
    const { api_key: key, management_key: managementKey } = readJson(join(dataDir, "keys.json")) as {
      readonly api_key: string;
      readonly management_key: string;
    };
    for (const pid of familyOf(child.pid as number)) pin(pid, options.cpu);
    return {
      target: { port: Number(new URL(baseUrl).port), format: "responses", key },
      managementKey,
      gatewayPid: pids.gateway as number,
      inferencePid: pids["inference-svc"] as number,
      collect: () => {
        for (const name of ["gateway", "inference-svc"]) process.kill(pids[name] as number, "SIGUSR2");
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`the house did not start: ${(error as Error).message}\n${output.tail}`, { cause: error });
  }
}

/** One upstream under three names, which share what is asked of the model that has an outage. */
const mocks = ["mock", "mock-2", "mock-3"];
const pricing = { prompt: "1", completion: "1" };

function houseFile(upstreamPort: number, scripts: readonly Script[]): object {
  return {
    providers: mocks.map((id) => ({ id, dialect: "chat", base_url: `http://127.0.0.1:${upstreamPort}/v1` })),
    models: [...new Map(scripts.map((script) => [modelOf(script), script]))].map(([id, { kind }]) => ({
      id,
      endpoints: kind === "outage" ? mocks.map((provider) => ({ provider, pricing })) : [{ provider: mocks[0] }],
    })),
    limits: { streams_per_key: streamsPerKey },
  };
}

/** Held open together until all are known, so that no two are the same. */
async function freePorts(): Promise<Record<string, string>> {
  const ports: Record<string, string> = {};
  const servers = portVariables.map(() => createServer());
  for (const [index, server] of servers.entries()) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ports[portVariables[index] as string] = String((server.address() as AddressInfo).port);
  }
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  return ports;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

async function untilReady(recordPath: string, child: ChildProcess, interruption: AbortSignal): Promise<HouseRecord> {
  const limitMs = performance.now() + startLimitMs;
  for (;;) {
    const record = readJson(recordPath) as HouseRecord | undefined;
    if (record?.ready) return record;
    if (child.exitCode !== null) throw new Error(`exit code ${child.exitCode}`);
    if (performance.now() > limitMs) throw new Error(`not ready after ${startLimitMs} ms`);
    await delay(50, undefined, { signal: interruption });
  }
}

/** The supervisor ends its services; when it is killed, they end with it. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const force = setTimeout(() => child.kill("SIGKILL"), stopLimitMs);
  await exited;
  clearTimeout(force);
}

/** The last lines of what the supervisor prints, read so that it never blocks. */
class Output {
  tail = "";

  constructor(child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.tail = (this.tail + text).slice(-4_000);
      });
    }
  }
}
