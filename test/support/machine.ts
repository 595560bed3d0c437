/** Reads the kernel's figures about this machine and its processes, from /proc, so on Linux only. */
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";

/** Nanoseconds of processor time in a tick of /proc/stat, which is 10 ms. */
const tickNs = 10_000_000;

function has(command: string): boolean {
  try {
    execFileSync(command, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export const canPinProcesses = availableParallelism() > 1 && has("taskset");

/** Pins all threads of a process to a processor, including later ones. Without the program `taskset`, the kernel places them. */
export function pinProcess(pid: number, cpu: number): void {
  if (canPinProcesses) execFileSync("taskset", ["-acp", String(cpu), String(pid)], { stdio: "ignore" });
}

/** Reads a file; undefined if its process or thread has just ended. */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Nanoseconds of processor time of each present thread in a process, since the thread's start. */
export function threadCpuNs(pid: number): ReadonlyMap<string, number> {
  const path = `/proc/${pid}/task`;
  return new Map(list(path).map((id) => [id, Number(read(`${path}/${id}/schedstat`)?.split(" ")[0] ?? 0)]));
}

/** Nanoseconds of processor time of all present threads in a process. */
export const cpuNs = (pid: number): number => [...threadCpuNs(pid).values()].reduce((sum, ns) => sum + ns, 0);

/**
 * Nanoseconds of processor time since an earlier reading. An ended thread counts as zero: its earlier time must not be subtracted from that of
 * others.
 */
export const nsSince = (pid: number, before: ReadonlyMap<string, number> = new Map()): number =>
  [...threadCpuNs(pid)].reduce((sum, [id, ns]) => sum + Math.max(0, ns - (before.get(id) ?? 0)), 0);

/** Nanoseconds of processor time of this process's running children. */
export function cpuNsOfChildren(pid: number): number {
  const children = read(`/proc/${pid}/task/${pid}/children`) ?? "";
  return children
    .split(" ")
    .filter((child) => child !== "")
    .reduce((sum, child) => sum + cpuNs(Number(child)), 0);
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(read(`/proc/${pid}/status`) ?? "")?.[1] ?? 0) * 1024;
}

/** Private memory of a process in bytes, plus its part of memory that it shares with others. */
export function ownBytes(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? "")?.[1] ?? Number.NaN) * 1024;
}

/** Nanoseconds for which processors were busy, over all of them, including time that a hypervisor gave to others. */
export function busyNs(): number {
  const [user, nice, system, , , interrupts, softInterrupts, stolen] = (read("/proc/stat") ?? "")
    .split("\n", 1)[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (
    [user, nice, system, interrupts, softInterrupts, stolen].reduce<number>((sum, n) => sum + (n ?? 0), 0) * tickNs
  );
}

/** Ids of a process and all its descendants. */
export function familyOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of list("/proc")) {
    // The name in parentheses may contain any characters, so fields are counted from its end.
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : undefined;
    const parent = Number(stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? 0);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const family = [pid];
  for (const member of family) family.push(...(children.get(member) ?? []));
  return family;
}

export const processorModel = (): string =>
  /model name\s*:\s*(.+)/.exec(read("/proc/cpuinfo") ?? "")?.[1]?.trim() ?? process.arch;

/** Time of the machine-wide monotonic clock, in milliseconds. */
export const machineClockMs = (): number => Number(process.hrtime.bigint()) / 1e6;
