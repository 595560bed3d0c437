/** Child processes: started with their output in a log file, ended by a signal, and killed if they ignore it. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { endWithThisProcess } from "./processes.ts";

/** A running child process. */
export interface ChildService {
  readonly pid: number;
  /** Resolves when the process has ended, with a text about the cause. */
  readonly exited: Promise<string>;
  /** Lets the process finish its open work. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

interface SpawnedChild {
  readonly pid: number;
  readonly exited: Promise<string>;
  readonly child: ChildProcess;
}

/** Starts a child process. @throws if the program cannot be started at all */
export function spawnChild(
  command: string,
  args: readonly string[],
  options: {
    log: string;
    environment?: NodeJS.ProcessEnv;
    /** Signal sent to the child if this process ends first. */
    whenOrphaned: "INT" | "KILL";
  },
): Promise<SpawnedChild> {
  const output = openSync(options.log, "a", 0o600);
  // The child has its own process group: Ctrl-C in the terminal reaches only the supervisor, which stops the processes in order.
  const child = spawn(command, args, {
    detached: true,
    stdio: ["ignore", output, output],
    ...(options.environment && { env: options.environment }),
  });
  closeSync(output);
  // The guard must start right after the child: if this process ended in between, the child would outlive it.
  const untie = child.pid === undefined ? async () => undefined : endWithThisProcess(child.pid, options.whenOrphaned);
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const exited = ended.then(async (how) => {
    await untie();
    return how;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("spawn", () => resolve({ pid: child.pid as number, exited, child }));
  });
}

/** Signals the child and waits for its end; kills it after the limit. */
export async function endChild(
  child: ChildProcess,
  exited: Promise<string>,
  signal: NodeJS.Signals,
  limitMs: number,
): Promise<void> {
  child.kill(signal);
  const timer = new AbortController();
  const late = delay(limitMs, "late", { signal: timer.signal }).catch(() => "in time");
  if ((await Promise.race([exited, late])) === "late") child.kill("SIGKILL");
  timer.abort();
  await exited;
}

/** The last lines written to a log file after its first `from` bytes, for the terminal. */
export function lastLines(path: string, count: number, from = 0): string {
  const size = fileSize(path);
  const tail = Buffer.alloc(Math.min(size - from, 16_384));
  const file = openSync(path, "r");
  try {
    readSync(file, tail, 0, tail.length, size - tail.length);
  } finally {
    closeSync(file);
  }
  return tail.toString("utf8").trimEnd().split("\n").slice(-count).join("\n");
}

/** Log lines for people: the message and error of a JSON line, and repeated lines once. */
export function toReadableLines(lines: string): string {
  const words = lines.split("\n").map(wordsOf);
  return words.filter((line, n) => line !== words[n - 1]).join("\n");
}

function wordsOf(line: string): string {
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
    if (msg !== undefined) return err?.message === undefined ? msg : `${msg}: ${err.message}`;
  } catch {
    // A line that is not JSON stays as it is.
  }
  return line;
}

export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
