/** An additional process of an installation: a copy of one of its services with memory limits of its own. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, endWithThisProcess } from "@sluice/local/processes.js";
import { freePorts } from "../../support/runner/free-ports.ts";
import type { Installation } from "../../support/installation.ts";
import { eventually, programIn, root } from "../../support/processes.ts";

export type ServiceRoom = "gateway" | "inference-svc" | "admin-svc";

export interface Limits {
  /** Program with arguments that sets the limits and then runs the process. */
  readonly prefix?: readonly string[];
  readonly nodeOptions?: readonly string[];
  /** Environment variables that replace those of the copied process. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface LimitedInstallation {
  readonly pid: number;
  readonly port: number;
  readonly healthPort: number;
  readonly alive: boolean;
  /** The log of the process, and its exit code if it has ended. */
  output(): string;
  stop(): Promise<void>;
}

const portVariables: Record<ServiceRoom, readonly [string, string]> = {
  gateway: ["SLUICE_PORT", "SLUICE_GATEWAY_HEALTH_PORT"],
  "inference-svc": ["SLUICE_INFERENCE_PORT", "SLUICE_INFERENCE_HEALTH_PORT"],
  "admin-svc": ["SLUICE_ADMIN_PORT", "SLUICE_ADMIN_HEALTH_PORT"],
};

/** Starts a copy; the promise resolves when the process is ready. */
export async function startLimited(
  installation: Installation,
  room: ServiceRoom,
  limits: Limits,
  checkout = root,
): Promise<LimitedInstallation> {
  const [port = 0, healthPort = 0] = await freePorts(2);
  const [portVariable, healthVariable] = portVariables[room];
  const spool = mkdtempSync(join(installation.dataDir, "spool-"));
  const { prefix = [] } = limits;
  const [command, ...args] = [...prefix, process.execPath, ...(limits.nodeOptions ?? []), programIn(checkout, room)];
  const env = {
    ...environmentOf(installation.pids()[room] as number),
    SLUICE_SPOOL_DIR: spool,
    [portVariable]: String(port),
    [healthVariable]: String(healthPort),
    ...limits.environment,
  };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const pid = child.pid as number;
  const untie = endWithThisProcess(pid, "KILL");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const exited = new Promise<void>((resolve) => {
    child.once("close", (code, signal) => {
      output += `\nended: ${signal ?? code}\n`;
      void untie();
      resolve();
    });
  });
  await eventually(() => {
    if (!isAlive(pid)) throw new Error(`the process did not start:\n${output}`);
    return fetch(`http://127.0.0.1:${healthPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  return {
    pid,
    port,
    healthPort,
    get alive() {
      return isAlive(pid);
    },
    output: () => output,
    stop: async () => {
      child.kill("SIGKILL");
      await exited;
      rmSync(spool, { recursive: true, force: true });
    },
  };
}

function environmentOf(pid: number): NodeJS.ProcessEnv {
  const entries = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").filter(Boolean);
  return Object.fromEntries(entries.map((entry) => [entry.split("=", 1)[0], entry.slice(entry.indexOf("=") + 1)]));
}

/** A control group that ends its processes above a memory limit, like a container. */
export interface MemoryGroup {
  /** Command prefix to start a program in the group. */
  readonly prefix: readonly string[];
  readonly peakBytes: number;
  /** Bytes of memory of the group's programs, with their mapped file pages but without the cache of files. */
  readonly residentBytes: number;
  remove(): void;
}

const v1 = "/sys/fs/cgroup/memory";

/** @throws if this user may not create a control group */
export function makeMemoryGroup(name: string, limitBytes: number): MemoryGroup {
  const folder = join(v1, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "memory.limit_in_bytes"), String(limitBytes));
  return {
    prefix: ["/bin/sh", "-c", `echo $$ > ${folder}/cgroup.procs && exec "$0" "$@"`],
    get peakBytes() {
      return Number(readFileSync(join(folder, "memory.max_usage_in_bytes"), "utf8"));
    },
    get residentBytes() {
      const figures = readFileSync(join(folder, "memory.stat"), "utf8");
      const figure = (name: string) => Number(new RegExp(`^total_${name} (\\d+)$`, "m").exec(figures)?.[1]);
      return figure("rss") + figure("mapped_file");
    },
    remove: () => rmdirSync(folder),
  };
}
