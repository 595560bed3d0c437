/**
 * Scans the texts of an answer with the rules that change it, and holds text back only from the start of a possible match.
 *
 * Each text is scanned in every way in which a reader may see it: joined with all texts that clients join it to, whatever comes between them; with the
 * other texts of its item, in their order; and by itself, since a match at the edge of a text may vanish within a longer text. Where two of these are the
 * same text, one scan serves both.
 *
 * Text that may still become part of a match stays held after the end of its item, and everything after it waits: an item ends before the next begins,
 * delivered text cannot be called back, and redacting every possible beginning of a match would spoil most answers. The wait ends with the next joined
 * character, or with the answer.
 */
import { append } from "@sluice/proto/lib/text/append.js";
import type { Yielding } from "../../../turn/time-slice.ts";
import type { Region } from "../../../turn/replacements.ts";
import { maxHeldUnits } from "./rules/bounded-scan.ts";
import { type HitSearch, finishSearch, isFinishedSearch } from "./rules/hit-search.ts";
import { DeliveryBuffer } from "./delivery-buffer.ts";
import type { TextPart } from "./text-part.ts";
import { type RuleHit, mergeHits } from "./rules/merge-hits.ts";
import type { Report } from "./rules/report.ts";
import { type OutputRule, localRulesOf } from "./rules/output-rules.ts";
import { JoinedText } from "./joined-text.ts";

export class GuardedTexts {
  readonly #rules: readonly OutputRule[];
  readonly #report: Report;
  readonly #joinedTexts = new Map<string, JoinedText>();
  /** The parts of the last item, in order. */
  #siblings: TextPart[] = [];
  /** The joined text of the last part. */
  #joinedText: JoinedText | undefined;
  /** The parts of the last item in order; undefined while `#joined` reads the same text. */
  #itemText: JoinedText | undefined;
  /** The last part by itself; undefined while `#joined` reads the same text. */
  #partText: JoinedText | undefined;
  /** The scans under way: joined text, item text and part text, as far as they exist. */
  #scans: readonly JoinedText[] = [];
  #last: TextPart | undefined;
  /** Place before which all other joined texts are decided. */
  #othersDecided = Number.POSITIVE_INFINITY;
  readonly #buffer = new DeliveryBuffer();
  #hits: RuleHit[] = [];
  /** Names of hits already taken: several scans can find the same hit. Absent before the first. */
  #knownHits: Set<string> | undefined;
  /** A block rule has matched: nothing more is delivered. */
  blocked = false;

  constructor(rules: readonly OutputRule[], report: Report) {
    this.#rules = rules;
    this.#report = report;
  }

  /** UTF-16 units held back. */
  get held(): number {
    return this.#buffer.held;
  }

  /** @returns the rest of the work, if there is any @throws Fault UNAVAILABLE when a rule fails */
  push(part: TextPart, text: string): Yielding | undefined {
    if (part !== this.#last && this.#joinedText) return this.#pushBehind(part, text);
    if (part !== this.#last) this.#beginFirst(part);
    return this.#append(part, text);
  }

  /** Begins the very first part: there is no other part to end. */
  #beginFirst(part: TextPart): void {
    this.#buffer.begin(part);
    this.#scanFrom(part, this.#joinedTextOf(part));
  }

  *#pushBehind(part: TextPart, text: string): Yielding {
    yield* this.#beginBehind(part);
    const rest = this.#append(part, text);
    if (rest) yield* rest;
  }

  #append(part: TextPart, text: string): Yielding | undefined {
    part.raw = append(part.raw, text);
    this.#buffer.append(text);
    return this.#scan(text);
  }

  #scan(text: string): Yielding | undefined {
    for (let index = 0; index < this.#scans.length; index++) {
      const scan = this.#scans[index] as JoinedText;
      const search = scan.push(text);
      if (!isFinishedSearch(search)) return this.#scanRest(text, index, search);
      if (search.length > 0) this.#add(scan.locate(search));
    }
    this.#advance();
    return undefined;
  }

  /** @param search of the scan at `from` */
  *#scanRest(text: string, from: number, search: HitSearch): Yielding {
    for (const [index, scan] of this.#scans.entries()) {
      if (index < from) continue;
      const hits = yield* finishSearch(index === from ? search : scan.push(text));
      if (hits.length > 0) this.#add(scan.locate(hits));
    }
    this.#advance();
  }

  /**
   * Ends the last item; text of later items may still be joined to its texts.
   * @returns the rest of the work, if there is any @throws as push
   */
  endItem(): Yielding | undefined {
    if (this.#partText || this.#itemText) return this.#endItemText();
    this.#leaveItem();
    return undefined;
  }

  *#endItemText(): Yielding {
    yield* this.#endItemScans();
    this.#leaveItem();
  }

  #leaveItem(): void {
    this.#siblings = [];
    this.#last = undefined;
    this.#advance();
  }

  /**
   * Scans the text that these joined texts held until its form is known; must come before services are called for them.
   * @throws as push
   */
  *flushHeldForms(names?: readonly string[]): Yielding {
    for (const joinedText of this.#joinedTextsNamed(names)) this.#add(yield* joinedText.flushHeldForms());
  }

  /**
   * Asks the detector services.
   * @param over the texts are complete: this call must come before their end
   * @throws as push, or when the turn is over
   */
  async scanByServices(over: boolean, names?: readonly string[]): Promise<void> {
    for (const joinedText of this.#joinedTextsNamed(names)) this.#add(await joinedText.scanByServices(over));
    this.#advance();
  }

  /** Whether any of these joined texts has begun. */
  hasJoinedText(names: readonly string[]): boolean {
    return names.some((name) => this.#joinedTexts.has(name));
  }

  /** Ends these joined texts: clients join no later text to them. @throws as push */
  *endJoinedTexts(names: readonly string[]): Yielding {
    yield* this.#endItemText();
    for (const joinedText of this.#joinedTextsNamed(names)) this.#add(yield* finishSearch(joinedText.end()));
    for (const name of names) this.#joinedTexts.delete(name);
    this.#advance();
  }

  /** Ends all texts. @throws as push */
  *end(): Yielding {
    if (this.#partText || this.#itemText) yield* this.#endItemScans();
    for (const joinedText of this.#joinedTexts.values()) {
      const search = joinedText.end();
      this.#add(isFinishedSearch(search) ? search : yield* search);
    }
    this.#advance(true);
  }

  /** Calls back once all text pushed so far is delivered. */
  afterDelivery(run: () => void): void {
    this.#buffer.afterDelivery(run);
  }

  /** @param names every joined text when absent */
  #joinedTextsNamed(names: Iterable<string> = this.#joinedTexts.keys()): readonly JoinedText[] {
    return [...names].flatMap((name) => this.#joinedTexts.get(name) ?? []);
  }

  /** Begins a later part, and ends the separate scans of earlier parts. */
  *#beginBehind(part: TextPart): Yielding {
    // The delivered text of this part was scanned as complete.
    if (part.start !== undefined) throw new Error(`${String(part.key)} continues after another part`);
    const before = this.#siblings.at(-1);
    if (before && before.membership.item !== part.membership.item) yield* this.#endItemText();
    else if (this.#partText) this.#add(yield* finishSearch(this.#partText.end()));
    const joinedText = this.#joinedTextOf(part);
    this.#buffer.begin(part);
    if (!joinedText.isEmpty) yield* this.#endBefore(part, joinedText);
    if (this.#siblings.length > 0) yield* this.#scanItemInOrder(part, joinedText);
    this.#scanFrom(part, joinedText);
  }

  #joinedTextOf({ membership: { joinKey } }: TextPart): JoinedText {
    const joinedText = this.#joinedTexts.get(joinKey) ?? new JoinedText(this.#rules, this.#report);
    this.#joinedTexts.set(joinKey, joinedText);
    return joinedText;
  }

  /** Begins to scan a part already placed in the buffer. @param joined the texts that clients join it to */
  #scanFrom(part: TextPart, joinedText: JoinedText): void {
    this.#partText = joinedText.isEmpty ? undefined : new JoinedText(localRulesOf(this.#rules), this.#report);
    this.#joinedText = joinedText;
    this.#siblings.push(part);
    this.#last = part;
    const scans = [joinedText];
    if (this.#itemText) scans.push(this.#itemText);
    if (this.#partText) scans.push(this.#partText);
    for (const scan of scans) scan.begin(part);
    this.#scans = scans;
    this.#othersDecided = Number.POSITIVE_INFINITY;
    for (const other of this.#joinedTexts.values())
      if (other !== joinedText) this.#othersDecided = Math.min(this.#othersDecided, other.decided);
  }

  /** Ends the separate scans of the last part and of its item. */
  *#endItemScans(): Yielding {
    if (this.#partText) this.#add(yield* finishSearch(this.#partText.end()));
    if (this.#itemText) this.#add(yield* finishSearch(this.#itemText.end()));
    this.#partText = this.#itemText = undefined;
    if (this.#joinedText) this.#scans = [this.#joinedText];
  }

  /** A text read only by a joined scan also ends by itself, to find a match at its edge. */
  *#endBefore(part: TextPart, joinedText: JoinedText): Yielding {
    const { partsOfOneItem: parts = [] } = joinedText;
    const isOver = parts.length === 1 || parts[0]?.membership.item !== part.membership.item;
    if (parts.length === 0 || !isOver || joinedText.decided === Number.POSITIVE_INFINITY) return;
    const again = yield* JoinedText.rescan(parts, localRulesOf(this.#rules), this.#report);
    this.#add(yield* finishSearch(again.end()));
  }

  /** Scans the item's texts also in their order in the item, as soon as clients that join texts by type would read them in another order: a match may span either. */
  *#scanItemInOrder(part: TextPart, joinedText: JoinedText): Yielding {
    if (this.#itemText) return;
    const isInJoinedText =
      joinedText.partsOfOneItem !== undefined && this.#siblings.at(-1)?.membership.joinKey === part.membership.joinKey;
    if (!isInJoinedText)
      this.#itemText = yield* JoinedText.rescan(this.#siblings, localRulesOf(this.#rules), this.#report);
  }

  #advance(over = false): void {
    const decided = this.#decidedUntil(over);
    if (this.#hits.length === 0) return this.#release(this.#buffer.toWholeCharacter(decided, over), []);
    const regions = mergeHits(this.#hits.filter(({ rule }) => rule.action.redacts));
    const blocks = this.#hits.filter(({ rule }) => rule.action.stops);
    const until = blocks.reduce((first, { start }) => Math.min(first, start), decided);
    this.#release(this.#buffer.toWholeCharacter(until, over), regions);
    this.blocked = blocks.length > 0;
  }

  /** Place before which no rule can have further matches. */
  #decidedUntil(over: boolean): number {
    if (over) return this.#buffer.length;
    let until = Math.min(this.#buffer.length, this.#othersDecided);
    for (const { decided } of this.#scans) if (decided < until) until = decided;
    return until;
  }

  #add(hits: readonly RuleHit[]): void {
    for (const hit of hits) {
      if (this.#isKnown(hit)) continue;
      this.#hits.push(hit);
      if (!hit.continues) this.#report.addHit(hit);
    }
  }

  /** Whether another scan has already found the same hit. */
  #isKnown({ rule, start, end, continues }: RuleHit): boolean {
    if (this.#joinedTexts.size === 1 && this.#scans.length === 1) return false;
    const name = `${rule.rank} ${start} ${end} ${continues === true}`;
    this.#knownHits ??= new Set();
    if (this.#knownHits.has(name)) return true;
    this.#knownHits.add(name);
    return false;
  }

  #release(until: number, regions: readonly Region[]): void {
    let at = this.#buffer.start;
    for (const region of regions) {
      if (region.end > until) {
        // Another rule may still match text reaching into this region.
        if (until - region.start < maxHeldUnits) until = Math.min(until, region.start);
        else at = this.#replaceDecided(region, at, until);
        break;
      }
      this.#buffer.deliver(at, region.start);
      this.#buffer.replace(region);
      at = region.end;
    }
    this.#buffer.deliver(at, until);
    this.#discard(until);
  }

  /**
   * Replaces the decided part of a long region now: whatever ends the match, none of this text stays, and holding it on
   * would only delay the answer.
   */
  #replaceDecided(region: Region, at: number, until: number): number {
    this.#buffer.deliver(at, region.start);
    this.#buffer.replace({ ...region, end: until });
    this.#hits = this.#hits.map((hit) => (hit.start < until ? { ...hit, start: until, continues: true } : hit));
    return until;
  }

  #discard(until: number): void {
    if (this.#buffer.discard(until) && this.#hits.length > 0) this.#hits = this.#hits.filter(({ end }) => end > until);
  }
}
