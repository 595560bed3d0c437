/** Processes besides those of an installation's supervisor, with the same secrets. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithThisProcess } from "@sluice/local/processes.js";
import { freePorts } from "./runner/free-ports.ts";
import type { Installation } from "./installation.ts";
import { bareEnvironment, eventually, programIn, root } from "./processes.ts";

/** Secrets that the installation gets through its environment, and these processes, too. */
export const serviceSecrets = { SLUICE_SERVICE_TOKEN: "t".repeat(64), SLUICE_SECRET: "5".repeat(64) } as const;

export interface InstallationProcess {
  readonly port: number;
  readonly healthPort: number;
  readonly pid: number;
  /** Resolves when /readyz answers 200; the start waits for it unless its options say otherwise. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

/** @param inference ports of the inference processes that get its turns */
export async function startGateway(
  installation: Installation,
  admin: number,
  inference: readonly number[],
): Promise<InstallationProcess> {
  const gateway = await spawnGateway(installation, admin, inference);
  await gateway.ready;
  return gateway;
}

/** Starts a gateway without waiting until it is ready. */
export function spawnGateway(
  installation: Installation,
  admin: number,
  inference: readonly number[],
): Promise<InstallationProcess> {
  return start(installation, "gateway", ([port, health]) => ({
    SLUICE_PORT: String(port),
    SLUICE_GATEWAY_HEALTH_PORT: String(health),
    SLUICE_INFERENCE_ADDRESSES: inference.map((to) => `127.0.0.1:${to}`).join(","),
    SLUICE_ADMIN_ADDRESS: `127.0.0.1:${admin}`,
  }));
}

/** @param own a configuration file in place of the installation's, and a folder for its records */
export async function startInference(
  installation: Installation,
  admin: number,
  own?: OwnFiles,
): Promise<InstallationProcess & { readonly spool: string }> {
  const inference = await spawnInference(installation, admin, own);
  await inference.ready;
  return inference;
}

interface OwnFiles {
  readonly config?: string;
  readonly folder?: string;
  /** Environment variables besides those of each inference process. */
  readonly environment?: Readonly<NodeJS.ProcessEnv>;
}

/** Starts an inference process without waiting until it is ready. */
export async function spawnInference(
  installation: Installation,
  admin: number,
  own: OwnFiles = {},
): Promise<InstallationProcess & { readonly spool: string }> {
  const { config = configOf(installation), folder = tmpdir(), environment } = own;
  const spool = mkdtempSync(join(folder, "sluice-policy-spool-"));
  const member = await start(installation, "inference-svc", ([port, health]) => ({
    SLUICE_INFERENCE_PORT: String(port),
    SLUICE_INFERENCE_HEALTH_PORT: String(health),
    SLUICE_ADMIN_ADDRESS: `127.0.0.1:${admin}`,
    SLUICE_SPOOL_DIR: spool,
    SLUICE_CONFIG: config,
    ...environment,
  }));
  const stop = async () => {
    await member.stop();
    rmSync(spool, { recursive: true, force: true });
  };
  return { ...member, spool, stop };
}

const configOf = (installation: Installation): string => join(installation.dataDir, "sluice.yaml");

async function start(
  installation: Installation,
  room: string,
  environment: (ports: readonly number[]) => NodeJS.ProcessEnv,
): Promise<InstallationProcess> {
  const [port, health] = (await freePorts(2)) as [number, number];
  const secrets = { ...serviceSecrets, SLUICE_CONFIG: configOf(installation) };
  const settings = { ...secrets, SLUICE_WARM_UP_MS: "0", ...environment([port, health]) };
  const child = spawn(process.execPath, [programIn(root, room)], {
    env: { ...bareEnvironment(), ...settings },
    stdio: "ignore",
  });
  let stopped = false;
  const untie = endWithThisProcess(child.pid as number, "KILL");
  const ready = eventually(async () => {
    if (stopped) return true;
    if (child.exitCode !== null) throw new Error(`${room} ended with exit code ${child.exitCode}`);
    return fetch(`http://127.0.0.1:${health}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  const end = () => {
    stopped = true;
    return stop(child).then(untie);
  };
  return { port, healthPort: health, pid: child.pid as number, ready, stop: end };
}

/** Kills the process, without letting it finish its work. */
async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
