/** Information about processes by id, and a guard that ends a child together with its parent. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return !hasEnded(pid);
}

/**
 * Whether a process is a zombie: it has ended, but its parent has not collected it. In containers whose first process collects none, zombies stay for
 * ever.
 */
function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    return false; // the system has no /proc
  }
}

/** The command line of a process, by which a reused id is detected; undefined if the process is gone. */
export function readCommandLine(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return commandByPs(pid);
  }
}

function commandByPs(pid: number): string | undefined {
  try {
    return execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" });
  } catch {
    return undefined;
  }
}

/** Sends a signal to a process, unless it is already gone. */
export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Waits for the end of a process other than a child: the system does not report its end. @returns false if it still runs after the limit */
export async function waitUntilGone(pid: number, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (isAlive(pid)) {
    if (performance.now() > end) return false;
    await delay(10);
  }
  return true;
}

/**
 * Ends the process `pid` when this process ends, even if it is killed: a shell waits at a pipe, and the kernel then closes the pipe. Services of a killed
 * supervisor would otherwise keep their ports.  @returns a function to remove the guard; call it once the child is gone, before another process
 * can get its id
 */
export function endWithThisProcess(pid: number, name: "INT" | "KILL"): () => Promise<void> {
  const guard = spawn("/bin/sh", ["-c", `read -r _; kill -${name} ${pid}`], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.on("error", () => undefined);
  guard.unref();
  (guard.stdin as Socket).unref();
  return () => dismiss(guard);
}

/** Waits for the guard to end: otherwise it would become a zombie when this process ends. */
function dismiss(guard: ChildProcess): Promise<void> {
  if (guard.pid === undefined || guard.exitCode !== null || guard.signalCode !== null) return Promise.resolve();
  guard.ref();
  guard.kill("SIGKILL");
  return new Promise((resolve) => guard.once("exit", () => resolve()));
}
