/** Processor time of requests and events, and the delay that a gateway adds to them. */
import type { Bench } from "../bench.ts";
import { foreignTolerance, median, percentile } from "../measure/rounds.ts";
import type { SubjectLoad } from "../measure/subject-windows.ts";
import { measureWindow } from "../measure/window.ts";
import { costScenarios, findProblem, measureRounds, medianCost } from "../scenarios/cost.ts";
import { firstEventScript } from "../scenarios/first-event.ts";
import type { Script } from "../script.ts";
import type { LoadSubject } from "../subject.ts";
import { type Cell, type PeerRow, eachCell } from "./rows.ts";

/**
 * As many streams as one core of every gateway serves without falling behind. LiteLLM ends a stream with an error when a hundred events of the same
 * text come one after the other, as those of the scripted upstream do.
 */
export const pacedLoad: SubjectLoad = {
  script: { kind: "paced", deltas: 90, gapMs: 20 },
  connections: 20,
  spreadMs: 1_000,
};

const costs = [
  { measure: "processor time of a request, 1 KB, 32 at a time", load: costScenarios.U },
  { measure: "the same, 20 KB", load: costScenarios.U20 },
  { measure: "processor time of an event, 20 streams of one event every 20 ms", load: pacedLoad },
] as const;

/** A window in which a slow gateway ended no request has no cost of a request. */
function costCell(us: number): Cell {
  if (!Number.isFinite(us)) return { text: "too slow for a window" };
  return { text: `${us.toFixed(us < 100 ? 1 : 0)} us`, value: us };
}

export async function measureCosts(bench: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow[]> {
  const rows: PeerRow[] = [];
  for (const { measure, load } of costs) {
    bench.say(measure);
    const cells = await eachCell(subjects, async (subject) => {
      const problem = await findProblem(bench, load, subject);
      return { text: problem === undefined ? "" : `cannot: ${problem}` };
    });
    const able = subjects.filter((subject) => cells.get(subject)?.text === "");
    const { rounds, problems } = await measureRounds(bench, load, able);
    for (const [problem, count] of problems) bench.say(`  ${count} x ${problem}`);
    for (const subject of [...able, bench.pipe]) {
      cells.set(subject, costCell(medianCost(rounds, subject)));
    }
    rows.push({ measure, cells, inconclusive: rounds.inconclusive });
  }
  return rows;
}

/** Below what the slowest of them can serve on one core. */
const perSecond = 40;

export async function measureDelays(bench: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow[]> {
  const answers: Script = { kind: "json" };
  return [
    await addedRow(bench, subjects, { script: answers, title: "an answer of a 1 KB request" }),
    await addedRow(bench, subjects, { script: firstEventScript, title: "the first event of a stream" }),
  ];
}

interface Delays {
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
  readonly foreignShare: number;
}

async function measureDelay(bench: Bench, { target }: LoadSubject, script: Script): Promise<Delays> {
  const { load, pace } = bench;
  const [forMs, settleMs] = [3 * pace.windowMs, pace.warmUpMs];
  const [offered, { foreignShare }] = await Promise.all([
    load.call("offer", { target, script, perSecond, connections: 100, forMs, settleMs }),
    measureWindow({ windowMs: settleMs + forMs, watched: [], root: process.pid }, () => undefined),
  ]);
  for (const [problem, count] of offered.problems) bench.say(`  ${count} x ${problem}`);
  const ms = script.kind === "json" ? offered.servedMs : offered.firstMs;
  const failed = offered.sent + offered.away - offered.servedMs.length;
  return { p50: percentile(ms, 50), p99: percentile(ms, 99), failed, foreignShare };
}

async function addedRow(
  bench: Bench,
  subjects: readonly LoadSubject[],
  { script, title }: { readonly script: Script; readonly title: string },
): Promise<PeerRow> {
  const measure = `time to ${title}, added to the upstream's own, ${perSecond} a second, p50 / p99`;
  bench.say(measure);
  const own = await measureDelay(bench, bench.direct, script);
  const foreignShares = [own.foreignShare];
  const cells = await eachCell([bench.pipe, ...subjects], async (subject) => {
    const { p50, p99, failed, foreignShare } = await measureDelay(bench, subject, script);
    foreignShares.push(foreignShare);
    // Those that were sent last are still under way.
    if (failed >= perSecond) return { text: `falls behind: ${failed} not answered in time` };
    return { text: `${(p50 - own.p50).toFixed(1)} / ${(p99 - own.p99).toFixed(1)} ms`, value: p50 - own.p50 };
  });
  return { measure, cells, inconclusive: median(foreignShares) > foreignTolerance };
}
