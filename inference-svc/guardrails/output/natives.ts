/** Progress events with texts in them, held until their item is whole: a text may be cut over several. */
import type { TurnEvent } from "../../turn/turn.ts";
import { cleanedLeaves, hasText } from "./leaves.ts";
import type { Looker } from "./look.ts";

type NativeEvent = Extract<TurnEvent, { readonly type: "native" }>;
type Payload = Readonly<Record<string, unknown>>;

interface Held {
  readonly event: NativeEvent;
  readonly payload: Payload;
}

export class NativeTexts {
  readonly #looker: Looker;
  readonly #held: Held[] = [];

  constructor(looker: Looker) {
    this.#looker = looker;
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  hold(event: NativeEvent, payload: unknown): void {
    this.#held.push({ event, payload: payload as Payload });
  }

  async take(event: NativeEvent): Promise<boolean> {
    const payload: unknown = JSON.parse(event.payloadJson);
    if (hasText(payload)) this.hold(event, payload);
    return hasText(payload);
  }

  /** Of a text that was cut, what is redacted is missing with the events that carried it. @throws as Looker.cleaned */
  async cleaned(): Promise<readonly NativeEvent[]> {
    const cut = await this.#cut();
    const cleaned: NativeEvent[] = [];
    for (const held of this.#held) {
      if (cut.has(held)) continue;
      const { event, payload } = held;
      const looked = await cleanedLeaves(payload, this.#looker);
      cleaned.push(looked === payload ? event : { ...event, payloadJson: JSON.stringify(looked) });
    }
    return cleaned;
  }

  /** The deltas over which something goes that no single one of them shows. */
  async #cut(): Promise<ReadonlySet<Held>> {
    const cut = new Set<Held>();
    for (const stream of streamsOf(this.#held)) {
      const ends: number[] = [];
      let text = "";
      for (const { payload } of stream) ends.push((text += payload["delta"] as string).length);
      const hits = await this.#looker.hits(text);
      const across = hits.filter(({ start, end }) => end > (ends[indexAt(ends, start)] as number));
      for (const { start, end } of this.#looker.settled(across)) {
        for (let at = indexAt(ends, start); at === 0 || (ends[at - 1] ?? end) < end; at++) cut.add(stream[at] as Held);
      }
    }
    return cut;
  }
}

/** Of the first event that ends behind the position. */
function indexAt(ends: readonly number[], position: number): number {
  let from = 0;
  for (let to = ends.length; from < to; ) {
    const middle = (from + to) >> 1;
    if ((ends[middle] as number) > position) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Deltas of one text each, of more than one event. */
const streamsOf = (held: readonly Held[]): readonly (readonly Held[])[] =>
  grouped(
    held.filter(({ payload }) => typeof payload["delta"] === "string"),
    ({ event }) => event.name,
  )
    .flatMap((named) => {
      const fields = tellingFields(named);
      return grouped(named, ({ payload }) => JSON.stringify(fields.map((field) => payload[field])));
    })
    .filter(({ length }) => length > 1);

/** Fields that tell texts apart which come beside each other: they go back to what they said before, and counters and times do not. */
function tellingFields(deltas: readonly Held[]): readonly string[] {
  const fields = new Set(deltas.flatMap(({ payload }) => Object.keys(payload)));
  fields.delete("delta");
  return [...fields].filter((field) => {
    const values = deltas.map(({ payload }) => JSON.stringify(payload[field]));
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
