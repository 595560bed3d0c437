/**
 * Scans texts clients join as one text, whatever stands between them. Matches are reported at places in the delivery
 * buffer, which holds all texts.
 */
import type { Yielding } from "../../../turn/time-slice.ts";
import type { TextPart } from "./text-part.ts";
import { TextScan } from "./forms/text-scan.ts";
import { type HitSearch, isFinishedSearch, finishSearch } from "./rules/hit-search.ts";
import type { RuleHit } from "./rules/merge-hits.ts";
import type { Report } from "./rules/report.ts";
import { type OutputRule, combinedPieceLength } from "./rules/output-rules.ts";

/** Characters that are adjacent both in the joined text and in the delivery buffer. */
interface ContiguousRun {
  /** Place of the run's first character in the joined text. */
  readonly textStart: number;
  /** Place of the run's first character in the delivery buffer. */
  readonly bufferStart: number;
}

export class JoinedText {
  readonly #scan: TextScan;
  readonly #runs: ContiguousRun[] = [];
  /** UTF-16 units read so far. */
  #length = 0;
  #ended = false;
  /** The parts of the text, as long as all of them belong to one item; undefined afterwards. */
  partsOfOneItem: TextPart[] | undefined = [];

  constructor(rules: readonly OutputRule[], report: Report) {
    this.#scan = new TextScan(rules, 0, report);
  }

  /**
   * Scans complete parts again as one text. Matches within a single part are not reported again: the first scan has
   * found them.
   */
  static *rescan(parts: readonly TextPart[], rules: readonly OutputRule[], report: Report): Yielding<JoinedText> {
    const joinedText = new JoinedText(rules, report);
    const length = combinedPieceLength(rules);
    for (const part of parts) {
      joinedText.begin(part);
      for (let at = 0; at < part.raw.length; at += length) {
        yield* finishSearch(joinedText.push(part.raw.slice(at, at + length)));
        yield;
      }
    }
    return joinedText;
  }

  get isEmpty(): boolean {
    return this.#runs.length === 0;
  }

  /** Assigns all text pushed from now on to the part. */
  begin(part: TextPart): void {
    const at = part.start ?? 0;
    const last = this.#runs.at(-1);
    if (!last || at - last.bufferStart !== this.#length - last.textStart)
      this.#runs.push({ textStart: this.#length, bufferStart: at });
    const item = this.partsOfOneItem?.[0]?.membership.item ?? part.membership.item;
    if (item === part.membership.item) this.partsOfOneItem?.push(part);
    else this.partsOfOneItem = undefined;
  }

  /**
   * Scans a delta. @returns matches at places in the joined text, to be passed to `locate` @throws Fault UNAVAILABLE
   * when a rule fails and its guardrail fails closed
   */
  push(text: string): HitSearch {
    this.#length += text.length;
    return this.#scan.push(text);
  }

  /**
   * Scans the text held because its form was not clear. Must be called before services are called for the complete
   * text.
   * @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed
   */
  *flushHeldForms(): Yielding<readonly RuleHit[]> {
    return this.locate(yield* this.#scan.flushHeldForms());
  }

  /**
   * Calls the detector services. @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed; the turn's
   * Fault once the turn is over
   */
  async scanByServices(over: boolean): Promise<readonly RuleHit[]> {
    return this.locate(await this.#scan.scanByServices(over));
  }

  /**
   * Ends the text. @returns matches at places in the delivery buffer @throws Fault UNAVAILABLE when a rule fails and
   * its guardrail fails closed
   */
  end(): HitSearch {
    this.#ended = true;
    const search = this.#scan.end();
    return isFinishedSearch(search) ? this.locate(search) : this.#locateFound(search);
  }

  *#locateFound(search: Yielding<readonly RuleHit[]>): Yielding<readonly RuleHit[]> {
    return this.locate(yield* search);
  }

  /** Place in the delivery buffer before which no further match is possible; Infinity when all text read is decided. */
  get decided(): number {
    const { decided } = this.#scan;
    return this.#ended || decided >= this.#length ? Number.POSITIVE_INFINITY : this.#toBufferPlace(decided);
  }

  #toBufferPlace(position: number): number {
    const { textStart: from, bufferStart: at } = this.#runs[this.#indexOfRunAt(position)] as ContiguousRun;
    return position - from + at;
  }

  /** Index of the run that contains a place of the joined text. */
  #indexOfRunAt(position: number): number {
    return this.#runs.findLastIndex(({ textStart: from }) => from <= position);
  }

  /** Splits a match that spans several runs into one match per run; the first of them carries the placeholder. */
  locate(hits: readonly RuleHit[]): readonly RuleHit[] {
    const isChannel = this.#runs.length === 1 && this.#runs[0]?.bufferStart === 0;
    return hits.length === 0 || isChannel ? hits : hits.flatMap((hit) => [...this.#splitByRun(hit)]);
  }

  *#splitByRun(hit: RuleHit): Iterable<RuleHit> {
    for (let index = this.#indexOfRunAt(hit.start), start = hit.start; start < hit.end; index++) {
      const { textStart: from, bufferStart: at } = this.#runs[index] as ContiguousRun;
      const end = Math.min(hit.end, this.#runs[index + 1]?.textStart ?? hit.end);
      const piece = { ...hit, start: start - from + at, end: end - from + at };
      yield start > hit.start ? { ...piece, continues: true } : piece;
      start = end;
    }
  }
}
