/** Processor time of requests and events, and the delay that a gateway adds to them. */
import type { Bench } from "../bench.ts";
import { percentile } from "../measure/rounds.ts";
import type { SubjectLoad } from "../measure/subject-windows.ts";
import { costScenarios, findProblem, measureRounds, medianCost } from "../scenarios/cost.ts";
import { firstEventScript } from "../scenarios/first-event.ts";
import type { Script } from "../script.ts";
import type { LoadSubject } from "../subject.ts";
import { type PeerRow, eachCell } from "./rows.ts";

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
      const value = medianCost(rounds, subject);
      cells.set(subject, { text: `${value.toFixed(value < 100 ? 1 : 0)} us`, value });
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

async function addedRow(
  bench: Bench,
  subjects: readonly LoadSubject[],
  { script, title }: { readonly script: Script; readonly title: string },
): Promise<PeerRow> {
  const measure = `time to ${title}, added to the upstream's own, ${perSecond} a second, p50 / p99`;
  bench.say(measure);
  const delays = async ({ target }: LoadSubject) => {
    const offered = await bench.load.call("offer", {
      target,
      script,
      perSecond,
      connections: 100,
      forMs: 3 * bench.pace.windowMs,
      settleMs: bench.pace.warmUpMs,
    });
    for (const [problem, count] of offered.problems) bench.say(`  ${count} x ${problem}`);
    const ms = script.kind === "json" ? offered.servedMs : offered.firstMs;
    return { p50: percentile(ms, 50), p99: percentile(ms, 99), failed: offered.sent - offered.servedMs.length };
  };
  const own = await delays(bench.direct);
  const cells = await eachCell([bench.pipe, ...subjects], async (subject) => {
    const { p50, p99, failed } = await delays(subject);
    // Those that were sent last are still under way.
    if (failed > perSecond) return { text: `${failed} failed` };
    return { text: `${(p50 - own.p50).toFixed(1)} / ${(p99 - own.p99).toFixed(1)} ms`, value: p50 - own.p50 };
  });
  return { measure, cells };
}
