/** Limits for the figures of an overloaded fleet. */
import { maxWaitingTurns } from "@sluice/proto/lib/load/pressure.js";
import { quantile } from "../../policy/figure.ts";
import { meanAnswerMs } from "./server.ts";
import { type PhaseFigures, type SheddingFigures, type SheddingSize, slowdownFactor } from "./scenario.ts";

/**
 * Milliseconds for which a gateway must see more than `maxWaitingTurns` waiting turns before it refuses any: a second, and one check of `Pressure`.
 */
const standsMs = 1_020;
/** Minimum share of the processes' capacity in use while requests are refused. */
const leastGoodput = 0.9;
/** Maximum share of time in which a process is idle: between its last turn and the arrival of the next one. */
const maxIdleShare = 0.001;
const recoveryS = 5;

/**
 * Milliseconds that 99 of 100 turns may wait, for keys with average traffic. Every gateway lets `maxWaitingTurns` turns wait for each process, and
 * accepts up to twice its capacity during the second before it refuses. The slow process has as many open turns as others, and works on them for
 * longer.
 */
export const allowedWaitMs = ({ gateways, turnUs }: SheddingSize): number =>
  slowdownFactor * ((gateways * maxWaitingTurns * turnUs) / 1_000 + standsMs + meanAnswerMs);

/**
 * Seconds for which gateways may stay overloaded after the load has fallen. The slow process finishes its waiting turns, and then a second must pass
 * without waiting turns. Gateways refuse nothing meanwhile.
 */
const allowedCalmS = ({ gateways, turnUs }: SheddingSize): number =>
  Math.max(recoveryS, 1 + Math.ceil((slowdownFactor * gateways * maxWaitingTurns * turnUs) / 1_000_000));

export const goodputOf = ({ counts, capacity }: PhaseFigures): number => counts.sum("served") / capacity;

export function complaintsOfShedding(
  { phases, recoveredS, calmS, lost }: SheddingFigures,
  size: SheddingSize,
): string[] {
  const maxCalmS = allowedCalmS(size);
  return [
    ...phases.flatMap((phase) => complaintsOfPhase(phase, size)),
    ...(recoveredS <= recoveryS ? [] : [`requests were refused ${recoveredS} s after the load had fallen`]),
    ...(calmS <= maxCalmS ? [] : [`a gateway was overloaded ${calmS} s after the load had fallen`]),
    ...(lost === 0 ? [] : [`${lost} requests got no answer`]),
  ];
}

function complaintsOfPhase(phase: PhaseFigures, size: SheddingSize): string[] {
  const { name, load, counts } = phase;
  const { refusedWhileIdle, strangeHints, strangeFailures, doubled, waits } = counts;
  const waitMs = quantile(waits, 0.99);
  const boundMs = allowedWaitMs(size);
  const claims: readonly (readonly [holds: boolean, complaint: string])[] = [
    [load < 1 || goodputOf(phase) >= leastGoodput, `goodput of ${goodputOf(phase)}`],
    [refusedWhileIdle <= maxIdleShare * counts.sum("refused"), `${refusedWhileIdle} refusals while a process was idle`],
    [waitMs <= boundMs, `one turn in a hundred waited for ${waitMs} ms, above ${boundMs}`],
    [strangeHints === 0, `${strangeHints} refusals asked for another pause than 1 to 5 s`],
    [strangeFailures === 0, `${strangeFailures} requests failed although no process was lost`],
    [doubled === 0, `${doubled} turns were begun twice`],
    ...claimsOfShares(phase),
  ];
  return claims.flatMap(([holds, complaint]) => (holds ? [] : [`${name}: ${complaint}`]));
}

/** Minimum turns of every key with average traffic, relative to its fair share. */
const leastShare = 0.6;

function claimsOfShares({ load, greedyShare, counts }: PhaseFigures): (readonly [boolean, string])[] {
  if (load < 1) return [];
  const { greedy, keys } = counts;
  const others = keys.slice(1);
  const fair = Math.min(1, counts.sum("served") / keys.length / (counts.sumOfOthers("asked") / others.length));
  const worst = Math.min(...others.map(({ served, asked }) => served / asked));
  const refused = [greedy.refused / greedy.attempts, counts.sumOfOthers("refused") / counts.sumOfOthers("attempts")];
  return [
    [worst >= leastShare * fair, `a key got ${worst} of what it asked for, and its share is ${fair}`],
    [
      greedyShare === 0 || refused[1]! < refused[0]!,
      `refused of the greedy key ${refused[0]}, of others ${refused[1]}`,
    ],
  ];
}
