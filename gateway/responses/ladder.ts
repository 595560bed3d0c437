/**
 * The event ladder of a stream: turn events in, Responses server-sent events out, in the order of the contract, numbered from 0.
 *
 * Every method returns the text to write, whole events only: some clients drop an event that is cut between its data line and the
 * blank line. Deltas are written by template; only their text goes through JSON.stringify.
 */
import type {
  ItemEnd,
  ItemStart,
  NativeEvent,
  TextDelta,
  TurnEvent,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { OpenItem, type Emit } from "./item.ts";
import type { ResponseObject } from "./object.ts";

const doneSentinel = "data: [DONE]\n\n";

/** What a provider's own progress events are called; those of the ladder are not among them. */
const nativeType = /^response\.(?!output_item\.|content_part\.)[a-z0-9_]+(?:\.[a-z0-9_]+)+$/;

const disorder = (what: string): Fault =>
  new Fault(FaultReason.INTERNAL, "", { origin: FaultOrigin.INFERENCE, cause: new Error(what) });

export class Ladder {
  readonly #response: ResponseObject;
  /** By output index; those that have begun and not ended. */
  readonly #items = new Map<number, OpenItem>();
  #begun = 0;
  #sequence = 0;
  #opened = false;
  #over = false;
  #text = "";

  constructor(response: ResponseObject) {
    this.#response = response;
  }

  /** created and in_progress, once: before the first event, or when the stream must begin without one. */
  open(): string {
    this.#open();
    return this.#take();
  }

  /** @throws Fault INTERNAL when the events cannot be a stream that clients can follow */
  events(events: readonly TurnEvent[]): string {
    for (const { event } of events) this.#step(event);
    return this.#take();
  }

  /** response.failed, with what was begun as it stands. Everything after it is [DONE]. */
  failed(fault: Fault): string {
    if (this.#over) return "";
    this.#over = true;
    this.#open();
    const partial = new Map<number, string>();
    for (const [index, item] of this.#items) partial.set(index, item.partialJson());
    this.#emit("response.failed", `"response":${this.#response.failed(fault, partial)}`);
    return this.#take() + doneSentinel;
  }

  #step(event: TurnEvent["event"]): void {
    if (this.#over) return;
    this.#response.apply(event);
    if (event.case === "debug") {
      const body = Buffer.from(event.value.upstreamBodyJson).toString();
      return this.#emit("response.debug", `"debug":{"echo_upstream_body":${body}}`);
    }
    if (event.case === "start" || event.case === "usage" || event.case === undefined) return;
    this.#open();
    switch (event.case) {
      case "itemStart":
        return this.#begin(event.value);
      case "textDelta":
        return this.#items.get(event.value.index)?.text(event.value);
      case "refusalDelta":
        return this.#delta("refusal", event.value);
      case "reasoningDelta":
        return this.#delta("reasoning_text", event.value);
      case "summaryDelta":
        return this.#delta("summary_text", event.value);
      case "argumentsDelta":
        return this.#items.get(event.value.index)?.callDelta(event.value.delta);
      case "annotation":
        return this.#items.get(event.value.index)?.annotation(event.value);
      case "itemEnd":
        return this.#finish(event.value);
      case "native":
        return this.#native(event.value);
      case "end":
        return this.#terminal();
    }
  }

  /** Clients append an item at "added" and find it by its number afterwards: a gap would make them write into the wrong one. */
  #begin({ index, itemJson }: ItemStart): void {
    if (index !== this.#begun) throw disorder(`item ${index} begins after ${this.#begun} items`);
    this.#begun++;
    const item = new OpenItem(index, itemJson, this.#emit);
    this.#items.set(index, item);
    item.added();
  }

  #finish({ index, itemJson }: ItemEnd): void {
    const item = this.#items.get(index);
    if (!item) throw disorder(`item ${index} ends without being open`);
    item.done(itemJson);
    this.#items.delete(index);
  }

  #delta(kind: "refusal" | "reasoning_text" | "summary_text", delta: TextDelta): void {
    this.#items.get(delta.index)?.delta(kind, delta.part, delta.delta);
  }

  #native({ index, type, payloadJson }: NativeEvent): void {
    if (!nativeType.test(type)) return;
    const members = Buffer.from(payloadJson).toString().slice(1, -1);
    if (index === undefined) this.#emit(type, members);
    else this.#items.get(index)?.native(type, members);
  }

  #terminal(): void {
    if (this.#items.size > 0) throw disorder(`the turn ends while ${this.#items.size} items are open`);
    const terminal = this.#response.terminal();
    if (!terminal) return;
    this.#over = true;
    this.#emit(`response.${terminal.status}`, `"response":${terminal.json}`);
    this.#text += doneSentinel;
  }

  #open(): void {
    if (this.#opened) return;
    this.#opened = true;
    const json = this.#response.inProgress();
    this.#emit("response.created", `"response":${json}`);
    this.#emit("response.in_progress", `"response":${json}`);
  }

  readonly #emit: Emit = (type, payload) => {
    this.#text += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++}${payload === "" ? "" : `,${payload}`}}\n\n`;
  };

  #take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}
