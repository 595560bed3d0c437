/**
 * Scans the texts of an answer with the rules that change or block it, and holds text back only from the start of a
 * possible match.
 *
 * Each text is scanned in every way in which a reader may see it: joined with all texts to which clients join it,
 * whatever comes between them; together with the other texts of its item, in their order; and by itself, since a match
 * at the edge of a text may vanish within a longer text. Where two of these are the same text, one scan serves both.
 *
 * Text that may still become part of a match stays held after the end of its item, and everything after it waits: an
 * item ends before the next begins, delivered text cannot be called back, and redacting every possible beginning of a
 * match would spoil most answers. The wait ends with the next character of the joined text, or with the answer.
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
  /** The joined text to which the last part belongs. */
  #joinedText: JoinedText | undefined;
  /** Scan of the last item's parts in order; undefined while the joined text is the same text. */
  #itemText: JoinedText | undefined;
  /** Scan of only the last part; undefined while the joined text is the same text. */
  #partText: JoinedText | undefined;
  /** The scans under way: those of the joined text, the item and the part, as far as they exist. */
  #scans: readonly JoinedText[] = [];
  #last: TextPart | undefined;
  /** Place before which no other joined text can have matches. */
  #othersDecided = Number.POSITIVE_INFINITY;
  readonly #buffer = new DeliveryBuffer();
  #hits: RuleHit[] = [];
  /** Keys of the matches already taken, since several scans can find the same match. Absent before the first one. */
  #knownHits: Set<string> | undefined;
  /** Whether a block rule has matched, so nothing more is delivered. */
  blocked = false;

  constructor(rules: readonly OutputRule[], report: Report) {
    this.#rules = rules;
    this.#report = report;
  }

  /** UTF-16 units held back. */
  get held(): number {
    return this.#buffer.held;
  }

  /**
   * Scans a delta of a part. @returns the rest of the work, if there is any @throws Fault UNAVAILABLE when a rule fails
   * and its guardrail fails closed
   */
  push(part: TextPart, text: string): Yielding | undefined {
    if (part !== this.#last && this.#joinedText) return this.#pushBehind(part, text);
    if (part !== this.#last) this.#beginFirst(part);
    return this.#append(part, text);
  }

  /** Begins the first part of the answer, when no other part has to be ended. */
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

  /** Continues a search for matches. @param search the search in the scan with the index `from` */
  *#scanRest(text: string, from: number, search: HitSearch): Yielding {
    for (const [index, scan] of this.#scans.entries()) {
      if (index < from) continue;
      const hits = yield* finishSearch(index === from ? search : scan.push(text));
      if (hits.length > 0) this.#add(scan.locate(hits));
    }
    this.#advance();
  }

  /**
   * Ends the last item. Text of later items may still be joined to its texts.
   * @returns the rest of the work, if there is any @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed
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
   * Scans the text of these joined texts that was held because its form was not clear. Must be called before services
   * are called for them.
   * @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed
   */
  *flushHeldForms(names?: readonly string[]): Yielding {
    for (const joinedText of this.#joinedTextsNamed(names)) this.#add(yield* joinedText.flushHeldForms());
  }

  /**
   * Calls the detector services.
   * @param over whether the texts are complete; this call must then come before their end
   * @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed; the turn's Fault once the turn is over
   */
  async scanByServices(over: boolean, names?: readonly string[]): Promise<void> {
    for (const joinedText of this.#joinedTextsNamed(names)) this.#add(await joinedText.scanByServices(over));
    this.#advance();
  }

  /** Whether any of these joined texts has begun. */
  hasJoinedText(names: readonly string[]): boolean {
    return names.some((name) => this.#joinedTexts.has(name));
  }

  /**
   * Ends these joined texts, because clients join no later text to them. @throws Fault UNAVAILABLE when a rule fails
   * and its guardrail fails closed
   */
  *endJoinedTexts(names: readonly string[]): Yielding {
    yield* this.#endItemText();
    for (const joinedText of this.#joinedTextsNamed(names)) this.#add(yield* finishSearch(joinedText.end()));
    for (const name of names) this.#joinedTexts.delete(name);
    this.#advance();
  }

  /** Ends all texts. @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed */
  *end(): Yielding {
    if (this.#partText || this.#itemText) yield* this.#endItemScans();
    for (const joinedText of this.#joinedTexts.values()) {
      const search = joinedText.end();
      this.#add(isFinishedSearch(search) ? search : yield* search);
    }
    this.#advance(true);
  }

  /** Calls `run` once all text pushed so far is delivered. */
  afterDelivery(run: () => void): void {
    this.#buffer.afterDelivery(run);
  }

  /** @param names names of joined texts; all of them when absent */
  #joinedTextsNamed(names: Iterable<string> = this.#joinedTexts.keys()): readonly JoinedText[] {
    return [...names].flatMap((name) => this.#joinedTexts.get(name) ?? []);
  }

  /** Begins a part that follows another, and ends the scans of single earlier parts. */
  *#beginBehind(part: TextPart): Yielding {
    // The text of a part cannot go on after another part began: it was scanned as complete.
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

  /**
   * Begins the scans of a part that has its place in the buffer. @param joinedText the text to which clients join the
   * part
   */
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

  /** Ends the scans of the last single part, and of its item. */
  *#endItemScans(): Yielding {
    if (this.#partText) this.#add(yield* finishSearch(this.#partText.end()));
    if (this.#itemText) this.#add(yield* finishSearch(this.#itemText.end()));
    this.#partText = this.#itemText = undefined;
    if (this.#joinedText) this.#scans = [this.#joinedText];
  }

  /** Scans a complete part by itself if only the joined text was scanned, to find a match at its edge. */
  *#endBefore(part: TextPart, joinedText: JoinedText): Yielding {
    const { partsOfOneItem: parts = [] } = joinedText;
    const isOver = parts.length === 1 || parts[0]?.membership.item !== part.membership.item;
    if (parts.length === 0 || !isOver || joinedText.decided === Number.POSITIVE_INFINITY) return;
    const again = yield* JoinedText.rescan(parts, localRulesOf(this.#rules), this.#report);
    this.#add(yield* finishSearch(again.end()));
  }

  /**
   * Scans the item's texts in their order in the item, too, once this order differs from that of the joined text:
   * clients may read either, and a match may span either.
   */
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

  /** Whether another scan has already found the same match. */
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
        // Another rule may still have a match that extends into this region.
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
   * Replaces the decided part of a long region now: however the match ends, none of this text stays, and holding it
   * back would only delay the answer.
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
