/** Processor time of a request and of an event. */
import type { Bench } from "../bench.ts";
import { median } from "../measure/rounds.ts";
import { type SubjectLoad, type SubjectWindow, SubjectWindows } from "../measure/subject-windows.ts";
import { costRounds, costsOf, findProblem } from "../scenarios/cost.ts";
import type { LoadSubject } from "../subject.ts";
import { withOtherGatewaysStopped } from "./stopped.ts";
import { type Cell, type PeerPart, type PeerRow, measureCells } from "./rows.ts";

/**
 * Streams for the cost of an event: enough to leave the processor little idle time. With 20 streams an event's cost in the pipe was 0.18 to 0.58 of
 * its cost in Sluice in the same round (2026-11-28). LiteLLM falls behind, and ends a stream with an error after a hundred events in a row with the
 * same text, as the scripted upstream sends them. The streams begin 10.2 ms apart, so their events spread over the whole 20 ms.
 */
export const pacedLoad: SubjectLoad = {
  script: { kind: "paced", deltas: 90, gapMs: 20 },
  connections: 100,
  spreadMs: 1_020,
};

/**
 * Requests over connections that open within a second, so deferred work of a gateway (up to a second late, such as storing records) falls into
 * the window like its requests.
 */
const requests: SubjectLoad = { script: { kind: "json" }, connections: 32, spreadMs: 1_000 };

/**
 * Costs to measure. `lengths` is the length of a window as a multiple of a request window. Between events a processor is idle at times, and short
 * windows vary more: in two seconds an event of 20 streams took the pipe from 32 to 66 us (2026-11-27).
 */
export const costs = [
  { part: "requests", measure: "processor time of a request, 1 KB, 32 at a time", load: requests, lengths: 1 },
  { part: "requests", measure: "the same, 20 KB", load: { ...requests, form: { long: true } }, lengths: 1 },
  {
    part: "events",
    measure: "processor time of an event, 100 streams of one event every 20 ms",
    load: pacedLoad,
    lengths: 3,
  },
] as const;

class WindowsAlone extends SubjectWindows {
  readonly #gateways: readonly LoadSubject[];
  readonly #lengths: number;

  constructor(bench: Bench, load: SubjectLoad, lengths: number) {
    super(bench, load);
    this.#gateways = bench.references;
    this.#lengths = lengths;
  }

  override of(subject: LoadSubject, windowMs: number): Promise<SubjectWindow> {
    return withOtherGatewaysStopped(this.#gateways, subject, () => super.of(subject, windowMs * this.#lengths));
  }
}

/** A window without a finished request has no cost per request. */
function costCell(rounds: readonly number[]): Cell {
  const us = median(rounds);
  if (!Number.isFinite(us)) return { text: "too slow for a window" };
  return { text: `${us.toFixed(us < 100 ? 1 : 0)} us`, value: us, rounds };
}

export async function measureCosts(
  bench: Bench,
  subjects: readonly LoadSubject[],
  parts: ReadonlySet<PeerPart>,
): Promise<PeerRow[]> {
  const rows: PeerRow[] = [];
  for (const { part, measure, load, lengths } of costs) {
    if (!parts.has(part)) continue;
    bench.say(measure);
    const cells = await findProblems(bench, load, subjects);
    const able = subjects.filter((subject) => !cells.has(subject));
    const windows = new WindowsAlone(bench, load, lengths);
    const rounds = await costRounds(bench, windows, able);
    for (const [problem, count] of windows.problems) bench.say(`  ${count} x ${problem}`);
    for (const subject of [...able, bench.pipe]) cells.set(subject, costCell(costsOf(rounds, subject)));
    rows.push({ measure, cells, inconclusive: rounds.inconclusive });
  }
  return rows;
}

/** @returns a cell with the reason for each subject that cannot serve the load */
async function findProblems(bench: Bench, load: SubjectLoad, subjects: readonly LoadSubject[]) {
  const cells = await measureCells(subjects, async (subject) => {
    const problem = await findProblem(bench, load, subject);
    return { text: problem === undefined ? "" : `cannot: ${problem}` };
  });
  return new Map([...cells].filter(([, { text }]) => text !== ""));
}
