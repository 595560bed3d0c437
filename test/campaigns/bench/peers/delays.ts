/** The delay that a gateway adds to an answer, and to the first event of a stream. */
import type { Bench } from "../bench.ts";
import { maxForeignShare, median, percentile } from "../measure/rounds.ts";
import { measureWindow } from "../measure/window.ts";
import { firstEventScript } from "../scenarios/first-event.ts";
import type { Script } from "../script.ts";
import type { LoadSubject } from "../subject.ts";
import { withOtherGatewaysStopped } from "./stopped.ts";
import type { Cell, PeerRow } from "./rows.ts";

/** Requests per second: fewer than the slowest gateway can serve on one processor. */
const perSecond = 40;
/**
 * Length of a window in milliseconds. All rounds together have some twelve hundred requests: V8's collections decide a p99, and a shorter time may
 * contain none or two. With seven hundred, Portkey's delay of an answer was 1.4 and 1.9 times that of Sluice in two runs (2026-11-27).
 */
const windowMs = 5_000;
/** Milliseconds in which connections open, and those of the subject before close. */
const settleMs = 500;

export async function measureDelays(bench: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow[]> {
  return [
    await addedRow(bench, subjects, { script: { kind: "json" }, title: "an answer of a 1 KB request" }),
    await addedRow(bench, subjects, { script: firstEventScript, title: "the first event of a stream" }),
  ];
}

interface DelayWindow {
  readonly ms: readonly number[];
  readonly failed: number;
  readonly foreignShare: number;
}

async function measureDelay(bench: Bench, subject: LoadSubject, script: Script): Promise<DelayWindow> {
  const { target } = subject;
  const [offered, { foreignShare }] = await withOtherGatewaysStopped(bench.references, subject, () =>
    Promise.all([
      bench.load.call("offer", { target, script, perSecond, connections: 100, forMs: windowMs, settleMs }),
      measureWindow({ windowMs: settleMs + windowMs, watched: [], root: process.pid }, () => undefined),
    ]),
  );
  for (const [problem, count] of offered.problems) bench.say(`  ${count} x ${problem}`);
  const failed = offered.sent + offered.away - offered.servedMs.length;
  return { ms: script.kind === "json" ? offered.servedMs : offered.firstMs, failed, foreignShare };
}

async function addedRow(
  bench: Bench,
  subjects: readonly LoadSubject[],
  { script, title }: { readonly script: Script; readonly title: string },
): Promise<PeerRow> {
  const measure = `time to ${title}, added to the upstream's own, ${perSecond} a second, p50 / p99`;
  bench.say(measure);
  const all = [bench.direct, bench.pipe, ...subjects];
  const windows = new Map<LoadSubject, DelayWindow[]>(all.map((subject) => [subject, []]));
  for (let round = 0; round < bench.pace.rounds; round++)
    for (const subject of round % 2 === 0 ? all : all.toReversed())
      windows.get(subject)?.push(await measureDelay(bench, subject, script));
  const direct = windows.get(bench.direct) ?? [];
  const foreignShares = [...windows.values()].flat().map(({ foreignShare }) => foreignShare);
  return {
    measure: `${measure} of ${direct.flatMap(({ ms }) => ms).length}`,
    cells: new Map([...windows].slice(1).map(([subject, of]) => [subject, addedCell(of, direct)])),
    inconclusive: median(foreignShares) > maxForeignShare,
  };
}

function addedCell(windows: readonly DelayWindow[], direct: readonly DelayWindow[]): Cell {
  const failed = Math.max(...windows.map((window) => window.failed));
  // Fewer failures are no sign of falling behind: the last requests of a window are still running.
  if (failed >= perSecond) return { text: `falls behind: ${failed} not answered in time` };
  const added = windows.map(({ ms }, round) => percentile(ms, 50) - percentile(direct[round]?.ms ?? [], 50));
  const worst = (of: readonly DelayWindow[]) =>
    percentile(
      of.flatMap(({ ms }) => ms),
      99,
    );
  const [p50, p99] = [median(added), worst(windows) - worst(direct)];
  return { text: `${p50.toFixed(1)} / ${p99.toFixed(1)} ms`, value: p50, rounds: added };
}
