/** A provider's own events: one whose name or text no rule finds anything in passes. Those with text are held until their item is whole, since a text may be cut over several. */
import type { TurnEvent } from "../../turn/turn.ts";
import { cleanedLeaves, hasText, isContractWord, textsIn } from "./leaves.ts";
import type { Looker } from "./look.ts";

type NativeEvent = Extract<TurnEvent, { readonly type: "native" }>;
type Payload = Readonly<Record<string, unknown>>;

interface Held {
  readonly event: NativeEvent;
  readonly payload: Payload;
}

/** A piece of a text that comes in several events. */
interface Piece {
  readonly held: Held;
  readonly text: string;
}

export class NativeTexts {
  readonly #looker: Looker;
  readonly #held: Held[] = [];
  /** Names that no contract knows, and whether nothing was found in them. */
  readonly #names = new Map<string, boolean>();

  constructor(looker: Looker) {
    this.#looker = looker;
  }

  /** Keeps it for `cleaned`, or gives it back where there is no text in it. One with a redacted name is left out: nothing can stand in its place. @throws as Looker.cleaned */
  async take(event: NativeEvent): Promise<NativeEvent | undefined> {
    if (!(await this.#isAllowed(event.name))) return undefined;
    const payload = JSON.parse(event.payloadJson) as Payload;
    // Behind an event that is held, all others are.
    if (this.#held.length === 0 && !hasText(payload)) return this.#cleaned({ event, payload });
    this.#held.push({ event, payload });
    return undefined;
  }

  async #isAllowed(name: string): Promise<boolean> {
    // No service is asked about names.
    if (isContractWord(name) || this.#looker.asks) return true;
    const known = this.#names.get(name) ?? (await this.#looker.cleaned(name)) === name;
    this.#names.set(name, known);
    return known;
  }

  /** Of a text that was cut, what is redacted is missing with the events that carried it. @throws as Looker.cleaned */
  async cleaned(): Promise<readonly NativeEvent[]> {
    const cut = await this.#cut();
    const cleaned: NativeEvent[] = [];
    for (const held of this.#held) if (!cut.has(held)) cleaned.push(await this.#cleaned(held));
    return cleaned;
  }

  async #cleaned({ event, payload }: Held): Promise<NativeEvent> {
    const looked = await cleanedLeaves(payload, this.#looker);
    return looked === payload ? event : { ...event, payloadJson: JSON.stringify(looked) };
  }

  /** The events over which something goes that no single one of them shows. */
  async #cut(): Promise<ReadonlySet<Held>> {
    const cut = new Set<Held>();
    for (const pieces of jointsOf(this.#held)) {
      const ends: number[] = [];
      let text = "";
      for (const piece of pieces) ends.push((text += piece.text).length);
      const hits = await this.#looker.hits(text);
      const across = hits.filter(({ start, end }) => end > (ends[indexAt(ends, start)] as number));
      for (const { start, end } of this.#looker.settled(across)) {
        for (let at = indexAt(ends, start); at === 0 || (ends[at - 1] ?? end) < end; at++)
          cut.add((pieces[at] as Piece).held);
      }
    }
    return cut;
  }
}

/** Of the first piece that ends behind the position. */
function indexAt(ends: readonly number[], position: number): number {
  let from = 0;
  for (let to = ends.length; from < to; ) {
    const middle = (from + to) >> 1;
    if ((ends[middle] as number) > position) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** From so many events on, a field that says the same in each of them is no text in pieces. */
const minRepeats = 3;

/** The texts that clients may put together from events of one name: of each field, in order, and of those apart that come beside each other. */
function* jointsOf(all: readonly Held[]): Iterable<readonly Piece[]> {
  for (const named of grouped(all, ({ event }) => event.name)) {
    if (named.length === 1) continue;
    for (const [path, pieces] of piecesIn(named)) {
      const isConstant = pieces.length >= minRepeats && pieces.every(({ text }) => text === pieces[0]?.text);
      if (pieces.length === 1 || (isConstant && path !== "delta")) continue;
      const fields = tellingFields(pieces, path);
      const apart = grouped(pieces, ({ held: { payload } }) => JSON.stringify(fields.map((field) => payload[field])));
      yield pieces;
      if (apart.length > 1) yield* apart;
    }
  }
}

/** Texts by the path of their field. */
function piecesIn(events: readonly Held[]): ReadonlyMap<string, readonly Piece[]> {
  const pieces = new Map<string, Piece[]>();
  for (const held of events) {
    for (const [path, text] of textsIn(held.payload)) {
      const list = pieces.get(path);
      if (list) list.push({ held, text });
      else pieces.set(path, [{ held, text }]);
    }
  }
  return pieces;
}

/** Fields that tell texts apart which come beside each other: they go back to what they said before, and counters and times do not. */
function tellingFields(pieces: readonly Piece[], path: string): readonly string[] {
  const fields = new Set(pieces.flatMap(({ held }) => Object.keys(held.payload)));
  return [...fields].filter((field) => {
    if (path === field || path.startsWith(`${field} `)) return false;
    const values = pieces.map(({ held }) => JSON.stringify(held.payload[field]));
    const begun = values.filter((value, at) => value !== values[at - 1]);
    return new Set(begun).size < begun.length;
  });
}

function grouped<Member>(members: readonly Member[], keyOf: (member: Member) => string): readonly Member[][] {
  const groups = new Map<string, Member[]>();
  for (const member of members) {
    const group = groups.get(keyOf(member));
    if (group) group.push(member);
    else groups.set(keyOf(member), [member]);
  }
  return [...groups.values()];
}
