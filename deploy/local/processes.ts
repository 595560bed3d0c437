/** Information about processes by id, and a guard that ends a child with its parent. */
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

/** A zombie has ended, but its parent has not collected it. In containers whose first process collects none, it stays for ever. */
function hasEnded(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    return false; // no such folder on this system
  }
}

/** The command line of a process, to detect a reused id; undefined when the process is gone. */
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

/** Sends the signal unless the process is already gone. */
export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** For processes other than own children: the system does not report their end. */
export async function waitUntilGone(pid: number, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (isAlive(pid)) {
    if (performance.now() > end) return false;
    await delay(10);
  }
  return true;
}

/**
 * Ends `pid` when this process ends, in any way: a shell waits at a pipe, and the kernel then closes it. Services of a killed supervisor would otherwise
 * keep their ports.
 * @returns a function for removing the guard; call it once the child is gone, before its id can name another process
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

/** Waits for the end of the guard, which would otherwise become a zombie at the end of this process. */
function dismiss(guard: ChildProcess): Promise<void> {
  if (guard.pid === undefined || guard.exitCode !== null || guard.signalCode !== null) return Promise.resolve();
  guard.ref();
  guard.kill("SIGKILL");
  return new Promise((resolve) => guard.once("exit", () => resolve()));
}
