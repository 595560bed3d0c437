/** Progress events with texts in them, held until their item is whole: a text may be cut over several. */
import type { TurnEvent } from "../../turn/turn.ts";
import { cleanedLeaves } from "./leaves.ts";
import type { Looker } from "./look.ts";

type NativeEvent = Extract<TurnEvent, { readonly type: "native" }>;
type Payload = Readonly<Record<string, unknown>>;

export class NativeTexts {
  readonly #looker: Looker;
  readonly #held: { readonly event: NativeEvent; readonly payload: Payload }[] = [];

  constructor(looker: Looker) {
    this.#looker = looker;
  }

  hold(event: NativeEvent, payload: unknown): void {
    this.#held.push({ event, payload: payload as Payload });
  }

  /** Of a text that was cut, what is redacted is missing with the events that carried it. @throws as Looker.cleaned */
  async cleaned(): Promise<readonly NativeEvent[]> {
    const cut = await this.#cut();
    const cleaned: NativeEvent[] = [];
    for (const { event, payload } of this.#held) {
      if (cut.has(streamOf(event, payload))) continue;
      const looked = await cleanedLeaves(payload, this.#looker);
      cleaned.push(looked === payload ? event : { ...event, payloadJson: JSON.stringify(looked) });
    }
    return cleaned;
  }

  /** The streams of deltas in which something is found that no single event shows. */
  async #cut(): Promise<ReadonlySet<string>> {
    const streams = new Map<string, string[]>();
    for (const { event, payload } of this.#held) {
      if (typeof payload["delta"] !== "string") continue;
      const stream = streamOf(event, payload);
      streams.set(stream, [...(streams.get(stream) ?? []), payload["delta"]]);
    }
    const cut = new Set<string>();
    for (const [stream, deltas] of streams) {
      if (deltas.length > 1 && (await this.#looker.cleaned(deltas.join(""))) !== deltas.join("")) cut.add(stream);
    }
    return cut;
  }
}

/** What the deltas of one text have in common. */
const streamOf = ({ name }: NativeEvent, payload: Payload): string =>
  `${name} ${JSON.stringify({ ...payload, delta: undefined })}`;
