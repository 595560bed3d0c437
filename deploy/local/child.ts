/** One child process: started with its output in a log file, ended by a signal and, when that does not help, by force. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { tie } from "./processes.ts";

/** A process that is up. */
export interface Running {
  readonly pid: number;
  /** Settles when the process is gone and says how it ended. */
  readonly exited: Promise<string>;
  /** Lets it finish what it has begun. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

interface SpawnedChild {
  readonly pid: number;
  readonly exited: Promise<string>;
  readonly child: ChildProcess;
}

/** @throws when the program cannot be started at all */
export function spawnChild(
  command: string,
  args: readonly string[],
  options: {
    log: string;
    environment?: NodeJS.ProcessEnv;
    /** Sent when this process ends before the child. */
    whenOrphaned: "INT" | "KILL";
  },
): Promise<SpawnedChild> {
  const output = openSync(options.log, "a", 0o600);
  // A process group of its own: Ctrl-C in the terminal reaches the supervisor only, which stops the house in order.
  const child = spawn(command, args, {
    detached: true,
    stdio: ["ignore", output, output],
    ...(options.environment && { env: options.environment }),
  });
  closeSync(output);
  // At once: whatever happens between the two would leave the child alone.
  const untie = child.pid === undefined ? async () => undefined : tie(child.pid, options.whenOrphaned);
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

/** Signals the child and waits for its end; after the limit it is killed. */
export async function end(
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

/** The end of what a log file got since it had `from` bytes, for people who look at the terminal. */
export function lastLines(path: string, count: number, from = 0): string {
  const size = sizeOf(path);
  const tail = Buffer.alloc(Math.min(size - from, 16_384));
  const file = openSync(path, "r");
  try {
    readSync(file, tail, 0, tail.length, size - tail.length);
  } finally {
    closeSync(file);
  }
  return tail.toString("utf8").trimEnd().split("\n").slice(-count).join("\n");
}

/** Lines of a log as people read them: of a JSON line its message and its error, and what is said again and again once. */
export function inWords(lines: string): string {
  const words = lines.split("\n").map(wordsOf);
  return words.filter((line, n) => line !== words[n - 1]).join("\n");
}

function wordsOf(line: string): string {
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
    if (msg !== undefined) return err?.message === undefined ? msg : `${msg}: ${err.message}`;
  } catch {
    // Said by a program that does not log in JSON.
  }
  return line;
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
