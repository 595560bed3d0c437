/**
 * Guards a provider's native events. An event without text and with a name that no rule matches is delivered at once;
 * an event with text is held until its item is complete, since a text may be split over several events.
 */
import type { TurnEvent } from "../../../turn/turn.ts";
import { redactValue, hasText, isContractWord, findTexts } from "./redact-value.ts";
import type { TextScanner } from "./rules/text-scanner.ts";

type NativeEvent = Extract<TurnEvent, { readonly type: "native" }>;
type Payload = Readonly<Record<string, unknown>>;

interface HeldEvent {
  readonly event: NativeEvent;
  readonly payload: Payload;
}

/** The part of a split text that one event carries. */
interface TextPiece {
  readonly held: HeldEvent;
  readonly text: string;
}

const none: readonly NativeEvent[] = [];

export class NativeEvents {
  readonly #scanner: TextScanner;
  readonly #held: HeldEvent[] = [];
  /** Names of events unknown to the API, and whether no rule matches them. */
  readonly #names = new Map<string, boolean>();

  constructor(scanner: TextScanner) {
    this.#scanner = scanner;
  }

  /**
   * Holds the event for `flush`, or returns it if it carries no text. An event with a name that must be redacted is
   * dropped, since a name cannot contain a placeholder.
   * @throws BlockRuleMatched; Fault UNAVAILABLE when a rule fails and its guardrail fails closed
   */
  async take(event: NativeEvent): Promise<NativeEvent | undefined> {
    if (!(await this.#isAllowed(event.name))) return undefined;
    const payload = JSON.parse(event.payloadJson) as Payload;
    // An event after a held event waits as well, to keep their order.
    if (this.#held.length === 0 && !hasText(payload)) return this.#redact({ event, payload });
    this.#held.push({ event, payload });
    return undefined;
  }

  async #isAllowed(name: string): Promise<boolean> {
    // Names are not sent to detector services.
    if (isContractWord(name) || this.#scanner.usesService) return true;
    const known = this.#names.get(name) ?? (await this.#scanner.redact(name)) === name;
    this.#names.set(name, known);
    return known;
  }

  /**
   * Returns the held events, redacted. If a match is split over several events, all of them are dropped.
   * @throws BlockRuleMatched; Fault UNAVAILABLE when a rule fails and its guardrail fails closed
   */
  flush(): Promise<readonly NativeEvent[]> | readonly NativeEvent[] {
    return this.#held.length === 0 ? none : this.#flushHeld();
  }

  async #flushHeld(): Promise<readonly NativeEvent[]> {
    const split = await this.#findSplitMatches();
    const redacted: NativeEvent[] = [];
    for (const held of this.#held) if (!split.has(held)) redacted.push(await this.#redact(held));
    return redacted;
  }

  async #redact({ event, payload }: HeldEvent): Promise<NativeEvent> {
    const redacted = await redactValue(payload, this.#scanner);
    return redacted === payload ? event : { ...event, payloadJson: JSON.stringify(redacted) };
  }

  /** The events that contain a part of a match each, while none contains all of it. */
  async #findSplitMatches(): Promise<ReadonlySet<HeldEvent>> {
    const split = new Set<HeldEvent>();
    for (const pieces of joinPieces(this.#held)) {
      const ends: number[] = [];
      let text = "";
      for (const piece of pieces) ends.push((text += piece.text).length);
      const hits = await this.#scanner.findHits(text);
      const across = hits.filter(({ start, end }) => end > (ends[indexOfPieceAt(ends, start)] as number));
      for (const { start, end } of this.#scanner.enforce(across)) {
        for (let at = indexOfPieceAt(ends, start); at === 0 || (ends[at - 1] ?? end) < end; at++)
          split.add((pieces[at] as TextPiece).held);
      }
    }
    return split;
  }
}

/** Index of the first piece that ends after a place of the joined text. */
function indexOfPieceAt(ends: readonly number[], position: number): number {
  let from = 0;
  for (let to = ends.length; from < to; ) {
    const middle = (from + to) >> 1;
    if ((ends[middle] as number) > position) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Minimum events in which a field has the same value for the field to be a constant rather than a text in pieces. */
const minRepeats = 3;

/**
 * The texts a client may assemble from events of one name: each field in the order of the events, and each interleaved
 * stream by itself.
 */
function* joinPieces(all: readonly HeldEvent[]): Iterable<readonly TextPiece[]> {
  for (const sameName of groupBy(all, ({ event }) => event.name)) {
    if (sameName.length === 1) continue;
    for (const [path, pieces] of groupByPath(sameName)) {
      const isConstant = pieces.length >= minRepeats && pieces.every(({ text }) => text === pieces[0]?.text);
      if (pieces.length === 1 || (isConstant && path !== "delta")) continue;
      const fields = findStreamFields(pieces, path);
      const apart = groupBy(pieces, ({ held: { payload } }) => JSON.stringify(fields.map((field) => payload[field])));
      yield pieces;
      if (apart.length > 1) yield* apart;
    }
  }
}

/** Groups pieces of text by the path of their field. */
function groupByPath(events: readonly HeldEvent[]): ReadonlyMap<string, readonly TextPiece[]> {
  const pieces = new Map<string, TextPiece[]>();
  for (const held of events) {
    for (const [path, text] of findTexts(held.payload)) {
      const list = pieces.get(path);
      if (list) list.push({ held, text });
      else pieces.set(path, [{ held, text }]);
    }
  }
  return pieces;
}

/** Fields that distinguish interleaved streams: their values repeat, unlike those of counters and timestamps. */
function findStreamFields(pieces: readonly TextPiece[], path: string): readonly string[] {
  const fields = new Set(pieces.flatMap(({ held }) => Object.keys(held.payload)));
  return [...fields].filter((field) => {
    if (path === field || path.startsWith(`${field} `)) return false;
    const values = pieces.map(({ held }) => JSON.stringify(held.payload[field]));
    const begun = values.filter((value, at) => value !== values[at - 1]);
    return new Set(begun).size < begun.length;
  });
}

function groupBy<Member>(members: readonly Member[], keyOf: (member: Member) => string): readonly Member[][] {
  const groups = new Map<string, Member[]>();
  for (const member of members) {
    const group = groups.get(keyOf(member));
    if (group) group.push(member);
    else groups.set(keyOf(member), [member]);
  }
  return [...groups.values()];
}
