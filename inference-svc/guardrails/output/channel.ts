/**
 * The texts of an answer under the rules that change what is delivered: held back from where a match might be under way, and not further.
 *
 * Each text is read as a reader may have it before him: with all texts that clients join it to, whatever item they stand in and whatever comes
 * between them; with the other texts of its item in their order; and by itself, since a match at the beginning or the end of a text may be none
 * within a longer one. As long as two of these are the same text, one reading is enough.
 *
 * A text that may still become part of a match is held although its item has ended, and everything behind it waits: the ladder ends an item before it
 * begins the next, nothing that went out can be called back, and to replace whatever may become a match would spoil most answers. That is over
 * with the next character that clients join to it, or with the answer.
 */
import type { Pauses } from "../../turn/breath.ts";
import type { Region } from "../../turn/replaced.ts";
import { maxHeld } from "./bounded.ts";
import { Outlet } from "./outlet.ts";
import type { Part } from "./part.ts";
import { type Hit, regionsOf } from "./regions.ts";
import type { Report } from "./report.ts";
import type { OutputRule } from "./rules.ts";
import { Strand } from "./strand.ts";

export class Channel {
  readonly #rules: readonly OutputRule[];
  /** Rules that ask a service are left out: that reads a text as a whole, and none begins anew with a part. */
  readonly #ownRules: readonly OutputRule[];
  readonly #report: Report;
  readonly #strands = new Map<string, Strand>();
  /** The parts of the last item, in their order. */
  #siblings: Part[] = [];
  /** Reads the last part together with those that clients join it to. */
  #strand: Strand | undefined;
  /** Reads the siblings; undefined while their strand reads the same. */
  #item: Strand | undefined;
  /** Reads the last part; undefined while its strand reads the same. */
  #own: Strand | undefined;
  /** The readings that exist: of the strand, of the item, and of the part alone. */
  #readings: readonly Strand[] = [];
  #last: Part | undefined;
  /** Up to here the other strands have decided. */
  #othersDecided = Number.POSITIVE_INFINITY;
  readonly #outlet = new Outlet();
  #hits: Hit[] = [];
  /** Hits that several readings have found. */
  readonly #known = new Set<string>();
  /** Nothing more is delivered. */
  blocked = false;

  constructor(rules: readonly OutputRule[], report: Report) {
    this.#rules = rules;
    this.#ownRules = rules.filter(({ outage }) => outage === undefined);
    this.#report = report;
  }

  /** UTF-16 units that are held back. */
  get held(): number {
    return this.#outlet.held;
  }

  /** @throws Fault UNAVAILABLE when a rule fails */
  *push(part: Part, text: string): Pauses {
    if (part !== this.#last) yield* this.#begin(part);
    part.raw += text;
    this.#outlet.hold(text);
    for (const strand of this.#readings) {
      const hits = yield* strand.push(text);
      if (hits.length > 0) this.#add(strand.located(hits));
    }
    this.#advance();
  }

  /** The last item is whole; texts of others may still be joined to it. @throws as push */
  *endItem(): Pauses {
    yield* this.#endAlone();
    this.#siblings = [];
    this.#last = undefined;
    this.#advance();
  }

  /** The texts of these strands are whole: to be called before others are asked about all of them. @throws as push */
  *rest(names?: readonly string[]): Pauses {
    for (const strand of this.#strandsOf(names)) this.#add(yield* strand.rest());
  }

  /** Lets those look that rules ask. @param over the texts are whole: to be called before their end @throws as push, or when the turn is over */
  async ask(over: boolean, names?: readonly string[]): Promise<void> {
    for (const strand of this.#strandsOf(names)) this.#add(await strand.ask(over));
    this.#advance();
  }

  /** Clients join nothing that comes from here on with the texts of these strands. @throws as push */
  *settle(names: readonly string[]): Pauses {
    if (!names.some((name) => this.#strands.has(name))) return;
    yield* this.endItem();
    for (const strand of this.#strandsOf(names)) this.#add(yield* strand.end());
    for (const name of names) this.#strands.delete(name);
    this.#advance();
  }

  /** All texts are whole. @throws as push */
  *end(): Pauses {
    yield* this.#endAlone();
    for (const strand of this.#strands.values()) this.#add(yield* strand.end());
    this.#advance(true);
  }

  /** Calls back once everything that came before is delivered. */
  note(pass: () => void): void {
    this.#outlet.note(pass);
  }

  /** @param names all when absent */
  #strandsOf(names: Iterable<string> = this.#strands.keys()): readonly Strand[] {
    return [...names].flatMap((name) => this.#strands.get(name) ?? []);
  }

  *#begin(part: Part): Pauses {
    // The text that was delivered of it was looked at as if nothing more came.
    if (part.start !== undefined) throw new Error(`${String(part.key)} goes on behind another part`);
    if (this.#siblings.at(-1)?.of.item !== part.of.item) yield* this.endItem();
    else if (this.#own) this.#add(yield* this.#own.end());
    this.#outlet.begin(part);
    const strand = this.#strands.get(part.of.strand) ?? new Strand(this.#rules, this.#report);
    this.#strands.set(part.of.strand, strand);
    yield* this.#endBefore(part, strand);
    yield* this.#join(part, strand);
    this.#own = strand.isEmpty ? undefined : new Strand(this.#ownRules, this.#report);
    this.#strand = strand;
    this.#siblings.push(part);
    this.#last = part;
    this.#readings = [strand, this.#item, this.#own].filter((each) => each !== undefined);
    for (const each of this.#readings) each.begin(part);
    const others = [...this.#strands.values()].filter((each) => each !== strand);
    this.#othersDecided = Math.min(...others.map(({ decided }) => decided));
  }

  /** Ends the readings of the last part and of its item alone. */
  *#endAlone(): Pauses {
    if (this.#own) this.#add(yield* this.#own.end());
    if (this.#item) this.#add(yield* this.#item.end());
    this.#own = this.#item = undefined;
    if (this.#strand) this.#readings = [this.#strand];
  }

  /** Texts that only their strand has read, which goes on now, have an end of their own as well. */
  *#endBefore(part: Part, strand: Strand): Pauses {
    const { alone = [] } = strand;
    const isOver = alone.length === 1 || alone[0]?.of.item !== part.of.item;
    if (alone.length === 0 || !isOver || strand.decided === Number.POSITIVE_INFINITY) return;
    const again = yield* Strand.again(alone, this.#ownRules, this.#report);
    this.#add(yield* again.end());
  }

  /** The item's texts are read in their order as soon as that is another text than their strand. */
  *#join(part: Part, strand: Strand): Pauses {
    if (this.#item || this.#siblings.length === 0) return;
    const isStrand = strand.alone !== undefined && this.#siblings.at(-1)?.of.strand === part.of.strand;
    if (!isStrand) this.#item = yield* Strand.again(this.#siblings, this.#ownRules, this.#report);
  }

  #advance(over = false): void {
    const decided = this.#decided(over);
    if (this.#hits.length === 0) return this.#release(this.#outlet.whole(decided, over), []);
    const regions = regionsOf(this.#hits.filter(({ rule }) => rule.action === "redact"));
    const blocks = this.#hits.filter(({ rule }) => rule.action === "block");
    const until = blocks.reduce((least, { start }) => Math.min(least, start), decided);
    this.#release(this.#outlet.whole(until, over), regions);
    this.blocked = blocks.length > 0;
  }

  /** Up to here no rule finds anything any more. */
  #decided(over: boolean): number {
    if (over) return this.#outlet.length;
    let least = Math.min(this.#outlet.length, this.#othersDecided);
    for (const { decided } of this.#readings) if (decided < least) least = decided;
    return least;
  }

  #add(hits: readonly Hit[]): void {
    for (const hit of hits) {
      if (this.#isKnown(hit)) continue;
      this.#hits.push(hit);
      if (!hit.continues) this.#report.found(hit.rule);
    }
  }

  /** Several readings find the same. */
  #isKnown({ rule, start, end, continues }: Hit): boolean {
    if (this.#strands.size === 1 && this.#readings.length === 1) return false;
    const name = `${rule.rank} ${start} ${end} ${continues === true}`;
    if (this.#known.has(name)) return true;
    this.#known.add(name);
    return false;
  }

  #release(until: number, regions: readonly Region[]): void {
    let at = this.#outlet.from;
    for (const region of regions) {
      if (region.end > until) {
        // Another rule may still find something that reaches into it.
        if (until - region.start < maxHeld) until = Math.min(until, region.start);
        else at = this.#replaceDecided(region, at, until);
        break;
      }
      this.#outlet.pass(at, region.start);
      this.#outlet.replace(region);
      at = region.end;
    }
    this.#outlet.pass(at, until);
    this.#drop(until);
  }

  /** Replaces what is decided of a long region: whatever will be found, nothing of it stays, and it is not held only to know what to say there. */
  #replaceDecided(region: Region, at: number, until: number): number {
    this.#outlet.pass(at, region.start);
    this.#outlet.replace({ ...region, end: until });
    this.#hits = this.#hits.map((hit) => (hit.start < until ? { ...hit, start: until, continues: true } : hit));
    return until;
  }

  #drop(until: number): void {
    if (this.#outlet.drop(until) && this.#hits.length > 0) this.#hits = this.#hits.filter(({ end }) => end > until);
  }
}
