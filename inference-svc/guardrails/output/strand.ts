/** Texts that are read as one although others may stand between them. Places are told as places in the channel, through which all texts come. */
import type { Pauses } from "../../turn/breath.ts";
import type { Part } from "./part.ts";
import { Reading } from "./reading.ts";
import type { Hit } from "./regions.ts";
import type { Report } from "./report.ts";
import { type OutputRule, jointPieceLength } from "./rules.ts";

/** Characters that stand next to each other in the channel, too. */
interface Stretch {
  /** Place of the first one in the strand. */
  readonly from: number;
  /** Its place in the channel. */
  readonly at: number;
}

export class Strand {
  readonly #reading: Reading;
  readonly #stretches: Stretch[] = [];
  /** UTF-16 units that were read. */
  #length = 0;
  #ended = false;
  /** Its parts, as long as all of them belong to one item. */
  alone: Part[] | undefined = [];

  constructor(rules: readonly OutputRule[], report: Report) {
    this.#reading = new Reading(rules, 0, report);
  }

  /** Reads whole parts once more. Its findings up to there are those of the reading that had them first. */
  static *again(parts: readonly Part[], rules: readonly OutputRule[], report: Report): Pauses<Strand> {
    const strand = new Strand(rules, report);
    const length = jointPieceLength(rules);
    for (const part of parts) {
      strand.begin(part);
      for (let at = 0; at < part.raw.length; at += length) {
        yield* strand.push(part.raw.slice(at, at + length));
        yield;
      }
    }
    return strand;
  }

  get isEmpty(): boolean {
    return this.#stretches.length === 0;
  }

  /** Text that is pushed from here on belongs to the part. */
  begin(part: Part): void {
    const at = part.start ?? 0;
    const last = this.#stretches.at(-1);
    if (!last || at - last.at !== this.#length - last.from) this.#stretches.push({ from: this.#length, at });
    const item = this.alone?.[0]?.of.item ?? part.of.item;
    if (item === part.of.item) this.alone?.push(part);
    else this.alone = undefined;
  }

  /** @returns what is found, to be located @throws Fault UNAVAILABLE when a rule fails */
  push(text: string): Pauses<readonly Hit[]> {
    this.#length += text.length;
    return this.#reading.push(text);
  }

  /** The text is over: to be called before others are asked about all of it. @throws as push */
  *rest(): Pauses<readonly Hit[]> {
    return this.located(yield* this.#reading.rest());
  }

  /** Lets those look that rules ask. @throws as push; Fault when the turn is over */
  async ask(over: boolean): Promise<readonly Hit[]> {
    return this.located(await this.#reading.ask(over));
  }

  /** The text is over. @throws as push */
  *end(): Pauses<readonly Hit[]> {
    this.#ended = true;
    return this.located(yield* this.#reading.end());
  }

  /** Up to here no rule finds anything any more; Infinity when that is all of it. */
  get decided(): number {
    const { decided } = this.#reading;
    return this.#ended || decided >= this.#length ? Number.POSITIVE_INFINITY : this.#placeOf(decided);
  }

  #placeOf(position: number): number {
    const { from, at } = this.#stretches[this.#indexAt(position)] as Stretch;
    return position - from + at;
  }

  /** Index of the stretch that holds it. */
  #indexAt(position: number): number {
    return this.#stretches.findLastIndex(({ from }) => from <= position);
  }

  /** A match over several stretches is a hit in each of them; the first one says what stands there instead. */
  located(hits: readonly Hit[]): readonly Hit[] {
    const isChannel = this.#stretches.length === 1 && this.#stretches[0]?.at === 0;
    return hits.length === 0 || isChannel ? hits : hits.flatMap((hit) => [...this.#piecesOf(hit)]);
  }

  *#piecesOf(hit: Hit): Iterable<Hit> {
    for (let index = this.#indexAt(hit.start), start = hit.start; start < hit.end; index++) {
      const { from, at } = this.#stretches[index] as Stretch;
      const end = Math.min(hit.end, this.#stretches[index + 1]?.from ?? hit.end);
      const piece = { ...hit, start: start - from + at, end: end - from + at };
      yield start > hit.start ? { ...piece, continues: true } : piece;
      start = end;
    }
  }
}
