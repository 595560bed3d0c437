/** Looks for what rules name in all forms of the texts of a request. */
import { type Found, type Scan, type Span, pieceLengthOf } from "@sluice/proto/runtime/pattern/finder.js";
import { isAudit } from "../../turn/applied.ts";
import type { Rule } from "../policy.ts";
import type { Breath, Pauses } from "../../turn/breath.ts";
import { located } from "./locate.ts";
import { type Passage, Seams, isRead } from "./passages.ts";
import type { Source } from "./source.ts";
import { type View, viewsOf } from "./views.ts";

/** What was found. */
export class Tally {
  /** Places in which a rule found something; of a rule that blocks no more than the first are counted. */
  readonly counts = new Map<Rule, number>();
  /** Rules that would have to redact where nothing can be replaced. */
  readonly stuck = new Set<Rule>();
  /** Why a rule could not look. */
  readonly failures = new Map<Rule, unknown>();

  isSettled(rule: Rule): boolean {
    return this.failures.has(rule) || (rule.action === "block" && this.counts.has(rule));
  }

  count(rule: Rule, places: number): void {
    this.counts.set(rule, (this.counts.get(rule) ?? 0) + places);
  }
}

/** What is to be redacted is noted with its source. @throws Fault when the turn ends */
export async function search(
  passages: Iterable<Passage | undefined>,
  rules: readonly Rule[],
  breath: Breath,
): Promise<Tally> {
  const tally = new Tally();
  await breath.through(searchAll(passages, rules, tally));
  return tally;
}

function* searchAll(passages: Iterable<Passage | undefined>, rules: readonly Rule[], tally: Tally): Pauses {
  for (const passage of passages) {
    yield;
    if (passage === undefined) continue;
    const looking = rules.filter(
      (rule) => !(rule.userOnly && !passage.byUser) && isRead(passage, rule.reads) && !tally.isSettled(rule),
    );
    if (looking.length > 0) yield* searchPassage(passage, looking, tally);
  }
}

function* searchPassage(passage: Passage, rules: readonly Rule[], tally: Tally): Pauses {
  const [first, ...more] = passage.sources;
  if (first === undefined || first.text === "") return;
  const text = more.length === 0 ? first.text : passage.sources.map((source) => source.text).join("");
  const counted = new Set(passage.repeats === true ? passage.before : []);
  for (const view of viewsOf(text)) {
    if (view === undefined) {
      yield;
      continue;
    }
    const looking = rules.filter((rule) => !tally.isSettled(rule));
    for (const [rule, spans] of yield* placesIn(view, looking, tally)) {
      const own = more.length === 0 ? spans : yield* overSeams(passage, spans);
      if (own.length === 0) continue;
      if (!counted.has(rule)) tally.count(rule, own.length);
      counted.add(rule);
      passage.before?.add(rule);
      if (rule.action === "redact" && !isAudit(rule)) yield* redact(passage, rule, own, tally);
    }
  }
}

function* redact(passage: Passage, rule: Rule, spans: readonly Span[], tally: Tally): Pauses {
  const [first, ...more] = passage.sources as [Source, ...Source[]];
  if (more.length === 0) {
    if (!(yield* first.redact(spans, rule))) tally.stuck.add(rule);
    return;
  }
  const seams = new Seams(passage);
  for (const span of spans) {
    for (const [source, part] of seams.partsOf(span)) {
      if (!(yield* source.redact([part], rule))) tally.stuck.add(rule);
    }
  }
}

/** The rest is found in the parts by themselves. */
function* overSeams(passage: Passage, spans: readonly Span[]): Pauses<readonly Span[]> {
  const seams = new Seams(passage);
  const over: Span[] = [];
  for (const span of spans) {
    if (seams.partsOf(span).length > 1) over.push(span);
    yield;
  }
  return over;
}

/** In the text that the view is of. */
function* placesIn(view: View, rules: readonly Rule[], tally: Tally): Pauses<ReadonlyMap<Rule, readonly Span[]>> {
  const found = new Map<Rule, Span[]>();
  const scans = new Scans(rules, found, tally);
  for (const { text } of view()) {
    for (const scan of scans.open) {
      for (let at = 0; at < text.length; at += scan.pieceLength) {
        scans.push(scan, text.slice(at, at + scan.pieceLength));
        yield;
      }
    }
  }
  scans.end();
  return found.size === 0 ? found : yield* located(view, found);
}

interface Looking {
  readonly rule: Rule;
  readonly scan: Scan;
  readonly pieceLength: number;
}

/** One scan for each rule. A rule that breaks stops looking, and is known to have. */
class Scans {
  open: readonly Looking[] = [];
  readonly #found: Map<Rule, Span[]>;
  readonly #tally: Tally;

  constructor(rules: readonly Rule[], found: Map<Rule, Span[]>, tally: Tally) {
    this.#found = found;
    this.#tally = tally;
    this.open = rules.flatMap((rule) => {
      const scan = this.#attempt(rule, () => rule.finder.open());
      return scan ? [{ rule, scan, pieceLength: pieceLengthOf(rule.finder) }] : [];
    });
  }

  push({ rule, scan }: Looking, piece: string): void {
    this.#note(rule, () => scan.push(piece));
  }

  end(): void {
    for (const { rule, scan } of this.open) this.#note(rule, () => scan.end());
  }

  #note(rule: Rule, look: () => Found): void {
    if (this.#tally.failures.has(rule)) return;
    const spans = this.#attempt(rule, look)?.spans ?? [];
    if (spans.length === 0) return;
    const before = this.#found.get(rule);
    if (before === undefined) this.#found.set(rule, [...spans]);
    else for (const span of spans) before.push(span);
  }

  #attempt<Result>(rule: Rule, work: () => Result): Result | undefined {
    try {
      return work();
    } catch (error) {
      this.#tally.failures.set(rule, error);
      return undefined;
    }
  }
}
