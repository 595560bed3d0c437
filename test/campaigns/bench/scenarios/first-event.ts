/** The delay that an installation adds to the first event of a stream, after many streams have started. */
import type { Bench, ResultRow } from "../bench.ts";
import type { LoadSubject } from "../subject.ts";
import { type Rounds, median, percentile } from "../measure/rounds.ts";
import { type SubjectLoad, SubjectWindows } from "../measure/subject-windows.ts";
import type { Script } from "../script.ts";
import { type CostRound, costRounds, windowOf } from "./cost.ts";

/** Short streams, so their starts are most of the work. */
export const firstEventScript: Script = { kind: "paced", deltas: 3, gapMs: 10 };
const load: SubjectLoad = { script: firstEventScript, connections: 8, spreadMs: 100 };
const limitsMs = { 50: 1, 99: 10 };
const goalsMs = { 50: 0.4, 99: 4 };

type Percent = keyof typeof limitsMs;

export async function measureFirstEvent(bench: Bench): Promise<readonly ResultRow[]> {
  const { direct, pipe, installations, pace } = bench;
  const windows = new SubjectWindows(bench, load);
  const starts = new Map<LoadSubject, number>();
  for (const subject of [pipe, direct, ...installations]) {
    starts.set(subject, await windows.warmUp(subject, pace.warmUpStarts, (window) => window.firstMs.length));
  }
  const rounds = await costRounds(bench, windows, [direct, ...installations]);
  for (const [problem, count] of windows.problems) bench.say(`  ${count} x ${problem}`);
  return installations.flatMap((installation) =>
    ([50, 99] as const).map((percent) => finding(bench, installation, percent, rounds, starts.get(installation) ?? 0)),
  );
}

/** Takes medians of the rounds: a percentile over all streams together would come from the most disturbed round. */
function finding(
  { direct, pipe, installations }: Bench,
  installation: LoadSubject,
  percent: Percent,
  { used, inconclusive }: Rounds<CostRound>,
  starts: number,
): ResultRow {
  const at = ({ windows }: CostRound, subject: LoadSubject) => percentile(windowOf(windows, subject).firstMs, percent);
  const withoutMs = median(used.map((round) => at(round, direct)));
  const addedMs = (subject: LoadSubject) => median(used.map((round) => at(round, subject) - at(round, direct)));
  const [installationMs, pipeMs] = [addedMs(installation), addedMs(pipe)];
  return {
    measure:
      `first event, p${percent}, added to ${withoutMs.toFixed(2)} ms without a proxy, after ${starts} stream starts` +
      (installations.length === 1 ? "" : ` [${installation.name}]`),
    installation: `${installationMs.toFixed(2)} ms`,
    pipe: `${pipeMs.toFixed(2)} ms`,
    ratio: (installationMs / pipeMs).toFixed(1),
    gate: `<= ${limitsMs[percent].toFixed(1)} ms (goal ${goalsMs[percent].toFixed(1)})`,
    verdict: inconclusive ? "inconclusive" : installationMs <= limitsMs[percent] ? "pass" : "MISS",
  };
}
