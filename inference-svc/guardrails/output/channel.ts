/**
 * The text of one item under the rules that change what is delivered: held back from where a match might be under way, and not further.
 *
 * Parts of an item are read as one text, since readers join them, and the later ones by themselves too: what begins with a part may be no match in
 * the middle of a text.
 */
import type { Pauses } from "../../turn/breath.ts";
import type { Region } from "../../turn/replaced.ts";
import { maxHeld } from "./bounded.ts";
import { type Hit, regionsOf } from "./regions.ts";
import { Reading } from "./reading.ts";
import type { Report } from "./report.ts";
import type { OutputRule } from "./rules.ts";

/** A part as it came and as it is delivered. */
export class Part<Key> {
  readonly key: Key;
  /** Of its first character within the text. */
  readonly start: number;
  raw = "";
  shown = "";
  /** What was replaced, by places in `raw`. */
  readonly replaced: Region[] = [];

  constructor(key: Key, start: number) {
    this.key = key;
    this.start = start;
  }
}

/** Gives out what may be delivered: text of a part, never half a character. */
export type Deliver<Key> = (part: Part<Key>, text: string) => void;

interface Note {
  readonly at: number;
  readonly pass: () => void;
}

export class Channel<Key> {
  readonly #rules: readonly OutputRule[];
  readonly #report: Report;
  readonly #deliver: Deliver<Key>;
  /** Over all parts. */
  readonly #joined: Reading;
  /** Of the last part alone; undefined in the first. */
  #own: Reading | undefined;
  readonly parts: Part<Key>[] = [];
  /** Index of the part in which what was not delivered begins. */
  #current = 0;
  /** What was not delivered, and where it begins. */
  #held = "";
  #from = 0;
  #hits: Hit[] = [];
  /** Hits in later parts, which are found twice. */
  readonly #known = new Set<string>();
  readonly #notes: Note[] = [];
  /** Nothing more is delivered. */
  blocked = false;

  constructor(rules: readonly OutputRule[], report: Report, deliver: Deliver<Key>) {
    this.#rules = rules;
    this.#report = report;
    this.#deliver = deliver;
    this.#joined = new Reading(rules, 0, report);
  }

  /** UTF-16 units that are held back. */
  get held(): number {
    return this.#held.length;
  }

  get #length(): number {
    return this.#from + this.#held.length;
  }

  /** @throws Fault UNAVAILABLE when a rule fails */
  *push(key: Key, text: string): Pauses {
    const part = this.parts.at(-1);
    const same = part?.key === key ? part : yield* this.#begin(key);
    same.raw += text;
    this.#held += text;
    this.#add(yield* this.#joined.push(text));
    if (this.#own) this.#add(yield* this.#own.push(text));
    this.#advance();
  }

  /** The item is whole: to be called before others are asked about all of it. @throws Fault as push */
  *rest(): Pauses {
    this.#add(yield* this.#joined.rest());
  }

  /** Lets those look that rules ask. @param over the item is whole: to be called before its end @throws Fault as push, or when the turn is over */
  async ask(over: boolean): Promise<void> {
    this.#add(await this.#joined.ask(over));
    this.#advance();
  }

  /** The item is whole. */
  *end(): Pauses {
    this.#add(yield* this.#joined.end());
    if (this.#own) this.#add(yield* this.#own.end());
    this.#advance(true);
  }

  /** Called once everything that came before is delivered. */
  note(pass: () => void): void {
    if (this.#held === "") pass();
    else this.#notes.push({ at: this.#length, pass });
  }

  *#begin(key: Key): Pauses<Part<Key>> {
    // What was delivered of it was looked at as if nothing more came.
    if (this.parts.some((part) => part.key === key)) throw new Error(`${String(key)} goes on behind another part`);
    const part = new Part(key, this.#length);
    if (this.parts.length > 0) {
      if (this.#own) this.#add(yield* this.#own.end());
      // A service reads texts, and none begins anew with a part.
      const rules = this.#rules.filter(({ outage }) => outage === undefined);
      this.#own = new Reading(rules, part.start, this.#report);
    }
    this.parts.push(part);
    return part;
  }

  #advance(over = false): void {
    const decided = this.#decided(over);
    if (this.#hits.length === 0) return this.#release(this.#whole(decided, over), []);
    const regions = regionsOf(this.#hits.filter(({ rule }) => rule.action === "redact"));
    const blocks = this.#hits.filter(({ rule }) => rule.action === "block");
    const until = blocks.reduce((least, { start }) => Math.min(least, start), decided);
    this.#release(this.#whole(until, over), regions);
    this.blocked = blocks.length > 0;
  }

  /** Up to here no rule finds anything any more. */
  #decided(over: boolean): number {
    if (over) return this.#length;
    return Math.min(this.#length, this.#joined.decided, this.#own?.decided ?? this.#length);
  }

  #add(hits: readonly Hit[]): void {
    for (const hit of hits) {
      if (this.#own && this.#isKnown(hit)) continue;
      this.#hits.push(hit);
      if (!hit.continues) this.#report.found(hit.rule);
    }
  }

  #isKnown({ rule, start, end }: Hit): boolean {
    const name = `${rule.rank} ${start} ${end}`;
    if (this.#known.has(name)) return true;
    this.#known.add(name);
    return false;
  }

  /** Not between the halves of a character: the second may not have come. */
  #whole(decided: number, over: boolean): number {
    const last = this.#held.charCodeAt(decided - this.#from - 1);
    const half = last >= 0xd800 && last <= 0xdbff && !(over && decided === this.#length);
    return half ? decided - 1 : decided;
  }

  #release(until: number, regions: readonly Region[]): void {
    let at = this.#from;
    for (const region of regions) {
      if (region.end > until) {
        // Another rule may still find something that reaches into it.
        if (until - region.start < maxHeld) until = Math.min(until, region.start);
        else at = this.#replaceDecided(region, at, until);
        break;
      }
      this.#pass(at, region.start);
      this.#replace(region);
      at = region.end;
    }
    this.#pass(at, until);
    this.#drop(until);
  }

  /** Replaces what is decided of a long region: whatever will be found, nothing of it stays, and it is not held only to know what to say there. */
  #replaceDecided(region: Region, at: number, until: number): number {
    this.#pass(at, region.start);
    this.#replace({ ...region, end: until });
    this.#hits = this.#hits.map((hit) => (hit.start < until ? { ...hit, start: until, continues: true } : hit));
    return until;
  }

  #drop(until: number): void {
    if (until <= this.#from) return;
    this.#held = this.#held.slice(until - this.#from);
    this.#from = until;
    if (this.#hits.length > 0) this.#hits = this.#hits.filter(({ end }) => end > until);
  }

  /** What stands between two places, part by part, and the notes among it. */
  #pass(start: number, end: number): void {
    for (let at = start; at < end; ) {
      const part = this.#partAt(at);
      const next = this.parts[this.#current + 1]?.start ?? Number.POSITIVE_INFINITY;
      const note = this.#notes[0]?.at ?? Number.POSITIVE_INFINITY;
      const until = Math.min(end, next, note > at ? note : Number.POSITIVE_INFINITY);
      this.#say(part, this.#held.slice(at - this.#from, until - this.#from));
      at = until;
      this.#passNotes(at);
    }
  }

  #replace({ start, end, placeholder }: Region): void {
    for (let at = start; at < end; ) {
      const part = this.#partAt(at);
      const next = this.parts[this.#current + 1]?.start ?? Number.POSITIVE_INFINITY;
      const until = Math.min(end, next);
      const text = at === start ? placeholder : "";
      part.replaced.push({ start: at - part.start, end: until - part.start, placeholder: text });
      this.#say(part, text);
      at = until;
    }
    this.#passNotes(end);
  }

  #say(part: Part<Key>, text: string): void {
    if (text === "") return;
    part.shown += text;
    this.#deliver(part, text);
  }

  #partAt(position: number): Part<Key> {
    while ((this.parts[this.#current + 1]?.start ?? Number.POSITIVE_INFINITY) <= position) this.#current++;
    return this.parts[this.#current] as Part<Key>;
  }

  #passNotes(position: number): void {
    while ((this.#notes[0]?.at ?? Number.POSITIVE_INFINITY) <= position) this.#notes.shift()?.pass();
  }
}
