/** Measures the cost of clients that do not read: bytes and memory buffered for them, and the effect on other streams. */
import { setTimeout as delay } from "node:timers/promises";
import type { Bench, ResultRow } from "../bench.ts";
import { residentBytes } from "../../../support/machine.ts";
import type { Script } from "../script.ts";

const readers = 10;
const healthyScript = { kind: "paced", deltas: 20, gapMs: 20 } as const satisfies Script;
/** Milliseconds: twice the duration of the script, since a loaded machine may be late, but a starved stream never ends. */
const healthyLimitMs = 2 * healthyScript.deltas * healthyScript.gapMs;
const firstLookMs = 2_000;
const secondLookMs = 4_500;
const acceptedTolerance = 0.05;
/** Maximum MB of memory per stream and process, besides buffers of the kernel; a stream may hold its credit and one read. */
const residentLimitMb = 16;

export const slowReaderScripts: readonly Script[] = [{ kind: "flood" }, healthyScript];

interface Look {
  readonly acceptedMb: number;
  readonly gatewayMb: number;
  readonly inferenceMb: number;
}

const mb = (bytes: number) => bytes / 1e6;

async function look({ mock, installation }: Bench): Promise<Look> {
  const accepted = await mock.call("accepted");
  return {
    acceptedMb: mb(accepted.reduce((sum, bytes) => sum + bytes, 0)) / readers,
    gatewayMb: mb(residentBytes(installation.gatewayPid)),
    inferenceMb: mb(residentBytes(installation.inferencePid)),
  };
}

export async function measureSlowReaders(bench: Bench): Promise<readonly ResultRow[]> {
  const { load, installation } = bench;
  const before = await look(bench);
  const beganMs = performance.now();
  const until = (ms: number) => delay(Math.max(0, beganMs + ms - performance.now()));
  await load.call("openUnread", { target: installation.target, count: readers });
  await until(firstLookMs);
  const first = await look(bench);
  const healthy = await load.call("timeStream", {
    target: installation.target,
    script: healthyScript,
    limitMs: healthyLimitMs,
  });
  await until(secondLookMs);
  const second = await look(bench);
  await load.call("closeUnread");
  return [
    acceptedFinding(first, second),
    memoryFinding(before, first, second),
    {
      measure: `slow readers: a healthy stream of ${healthyScript.deltas} events beside them`,
      installation: healthy.problem ?? `complete in ${healthy.durationMs.toFixed(0)} ms`,
      pipe: "",
      ratio: "",
      gate: `complete within ${healthyLimitMs} ms`,
      verdict: healthy.problem === undefined ? "pass" : "FAIL",
    },
  ];
}

function acceptedFinding(first: Look, second: Look): ResultRow {
  const growth = second.acceptedMb / first.acceptedMb - 1;
  return {
    measure: `slow readers: ${readers} endless streams that nobody reads, accepted per stream at 2.0 s -> 4.5 s`,
    installation: `${first.acceptedMb.toFixed(1)} -> ${second.acceptedMb.toFixed(1)} MB`,
    pipe: "",
    ratio: "",
    gate: "<= +5 %",
    verdict: first.acceptedMb > 0 && growth <= acceptedTolerance ? "pass" : "FAIL",
  };
}

function memoryFinding(before: Look, first: Look, second: Look): ResultRow {
  const growth = (at: Look) => ({
    gateway: at.gatewayMb - before.gatewayMb,
    inference: at.inferenceMb - before.inferenceMb,
  });
  const [early, late] = [growth(first), growth(second)];
  const limitMb = readers * residentLimitMb;
  const bounded = late.gateway <= limitMb && late.inference <= limitMb;
  return {
    measure: "slow readers: resident memory added at 2.0 s -> 4.5 s",
    installation: `gateway ${early.gateway.toFixed(0)} -> ${late.gateway.toFixed(0)} MB, inference-svc ${early.inference.toFixed(0)} -> ${late.inference.toFixed(0)} MB`,
    pipe: "",
    ratio: "",
    gate: `<= ${limitMb} MB each`,
    verdict: bounded ? "pass" : "FAIL",
  };
}
