/** Samples of processes' activity, taken by Linux' own `perf`, with V8's names for compiled code. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Makes V8 write /tmp/perf-<pid>.map, the source of perf's names. */
export const perfNodeOptions = ["--perf-basic-prof"];
/** Not a multiple of any timer's frequency. */
const samplesPerSecond = 1_999;
const attachMs = 500;
const maxScript = 1_000_000_000;

/** A function and the file of its code. */
export interface PerfFrame {
  readonly symbol: string;
  readonly file: string;
}

export interface PerfSample {
  readonly pid: number;
  /** The running function and its callers, innermost first. V8 keeps frame pointers, Node's C++ in the most part, the kernel its own. */
  readonly frames: readonly PerfFrame[];
}

/** @returns why perf cannot be used here, or undefined */
export function perfDenial(): string | undefined {
  try {
    execFileSync("perf", ["stat", "-e", "cpu-clock", "true"], { stdio: "ignore" });
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "perf is not installed" : "perf may not be used here";
  }
}

/** Samples all threads of the processes while `work` runs. */
export async function samplesDuring(
  pids: readonly number[],
  work: () => Promise<void>,
): Promise<readonly PerfSample[]> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-perf-"));
  try {
    const file = join(folder, "perf.data");
    // The VMs of clouds have no hardware counters, but they have this clock.
    const options = [
      "-e",
      "cpu-clock",
      "-F",
      String(samplesPerSecond),
      "--call-graph",
      "fp",
      "-o",
      file,
      "-p",
      pids.join(","),
    ];
    const perf = spawn("perf", ["record", ...options], { stdio: "ignore" });
    const ended = once(perf, "close");
    await delay(attachMs);
    await work();
    perf.kill("SIGINT");
    await ended;
    const script = ["script", "-i", file, "-F", "pid,ip,sym,dso"];
    return parse(
      execFileSync("perf", script, { encoding: "utf8", maxBuffer: maxScript, stdio: ["ignore", "pipe", "ignore"] }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes the names of ended processes. */
export function removeNames(pids: readonly number[]): void {
  for (const pid of pids) rmSync(`/tmp/perf-${pid}.map`, { force: true });
}

/** A sample is a line with the id of its process, and a line such as `\tef8a63 v8::Uint32::Value (/usr/bin/node)` for each frame. */
function parse(script: string): PerfSample[] {
  const samples: { pid: number; frames: PerfFrame[] }[] = [];
  for (const line of script.split("\n")) {
    const pid = /^\s*(\d+)\s*$/.exec(line)?.[1];
    if (pid !== undefined) samples.push({ pid: Number(pid), frames: [] });
    const [, symbol, file] = /^\s*[\da-f]+ (.*) \(([^()]*(?:\([^()]*\))?)\)$/.exec(line) ?? [];
    if (symbol !== undefined) samples.at(-1)?.frames.push({ symbol, file: file ?? "" });
  }
  return samples.filter(({ frames }) => frames.length > 0);
}
