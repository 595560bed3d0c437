/** Formats the result of the simulation of an overloaded fleet. */
import { allowedWaitMs, goodputOf } from "./complaints.ts";
import { quantile } from "../../policy/figure.ts";
import type { PhaseFigures, SheddingFigures, SheddingSize } from "./scenario.ts";

const percent = (part: number, whole: number): string =>
  whole === 0 ? "none" : `${((100 * part) / whole).toFixed(1)} %`;
const whole = (value: number): string => Math.round(value).toLocaleString("en-US");

export function sheddingLines(seed: number, size: SheddingSize, figures: SheddingFigures): string[] {
  const { gateways, processes, keys, turnUs } = size;
  const { fallenS, recoveredS, calmS, lost } = figures;
  return [
    `seed ${seed}: ${gateways} gateways, ${processes} inference processes, ${keys} keys, ${whole(turnUs)} us of an inference process for a turn; p99 of the wait allowed ${whole(allowedWaitMs(size))} ms`,
    ...figures.phases.flatMap(phaseLines),
    `recovery: load below what they can do ${fallenS} s after the end of the overload, because refused requests come again; from then on, nothing refused after ${recoveredS} s and no gateway overloaded after ${calmS} s; ${lost} requests without an answer`,
  ];
}

function phaseLines(phase: PhaseFigures): string[] {
  const { name, counts, capacity, greedyShare } = phase;
  const { keys, greedy, failed, refusedWhileIdle, waits, greedyWaits } = counts;
  const [asked, attempts] = [counts.sum("asked"), counts.sum("attempts")];
  const shares = keys.slice(1).map((key) => key.served / key.asked);
  return [
    `${name}: ${whole(asked)} requests, ${(attempts / asked).toFixed(2)} attempts for each; goodput ${percent(goodputOf(phase) * capacity, capacity)}, refused ${percent(counts.sum("refused"), attempts)} of the attempts, ${refusedWhileIdle} while a process was idle; ${failed} failed`,
    `${name}: turns waited p50 ${whole(quantile(waits, 0.5))}, p99 ${whole(quantile(waits, 0.99))}, longest ${whole(quantile(waits, 1))} ms; keys got ${percent(Math.min(...shares), 1)} to ${percent(Math.max(...shares), 1)} of what they asked for`,
    ...(greedyShare === 0
      ? []
      : [
          `${name}: of attempts of the greedy key ${percent(greedy.refused, greedy.attempts)} were refused, of others ${percent(counts.sumOfOthers("refused"), counts.sumOfOthers("attempts"))}; it got ${percent(greedy.served, greedy.asked)} of what it asked for, and its turns waited for up to ${whole(quantile(greedyWaits, 1))} ms`,
        ]),
  ];
}
