/** Samples of what processes do, taken by Linux' `perf`, with V8's names for compiled code. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** Node option with which V8 writes /tmp/perf-<pid>.map, from which perf takes names. */
export const perfNodeOptions = ["--perf-basic-prof"];
/** The rate is not a multiple of any timer's frequency, so samples do not coincide with timers. */
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
  /** The running function and its callers, innermost first. V8 keeps frame pointers, Node's C++ code mostly, and the kernel its own. */
  readonly frames: readonly PerfFrame[];
}

/** @returns why perf cannot be used here; undefined if it can */
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
    // The event is a clock, since virtual machines of clouds have no hardware counters.
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

/** Removes the name files of ended processes. */
export function removeNames(pids: readonly number[]): void {
  for (const pid of pids) rmSync(`/tmp/perf-${pid}.map`, { force: true });
}

/**
 * Parses the output of `perf script`: a sample is a line with the process id, and then a line such as `\tef8a63 v8::Uint32::Value (/usr/bin/node)`
 * for each frame.
 */
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
