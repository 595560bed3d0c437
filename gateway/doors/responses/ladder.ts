/**
 * Converts turn events to the server-sent events of the Responses format, in the order required by the contract and numbered from 0. Every method
 * returns whole events, because some clients drop an event that arrives in two reads.
 */
import type {
  ItemEnd,
  ItemStart,
  NativeEvent,
  TextDelta,
  TurnEvent,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import type { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import type { StreamedAnswer } from "../../edge/turns/door.ts";
import { EventText } from "./event-text.ts";
import { OpenItem } from "./item.ts";

const doneSentinel = "data: [DONE]\n\n";

/** Types of the progress events of providers. Event types of the gateway itself do not match. */
const nativeType = /^response\.(?!output_item\.|content_part\.)[a-z0-9_]+(?:\.[a-z0-9_]+)+$/;

const disorder = (what: string): Fault =>
  new Fault(FaultReason.INTERNAL, "", { origin: FaultOrigin.INFERENCE, cause: new Error(what) });

export class Ladder implements StreamedAnswer {
  readonly #response: ResponseObject;
  /** Open items by output index; undefined after their end. */
  readonly #items: (OpenItem | undefined)[] = [];
  #open = 0;
  readonly #events = new EventText();
  #opened = false;
  /** Whether the last event of the stream was written. */
  over = false;

  constructor(response: ResponseObject) {
    this.#response = response;
  }

  get withheldUsageJson(): string | undefined {
    return this.#response.withheldUsageJson;
  }

  /** Returns the events `created` and `in_progress`, once: before the first other event, or earlier when the stream must begin. */
  open(): string {
    this.#begin();
    return this.#events.take();
  }

  /** @throws Fault INTERNAL when the events do not form a valid stream */
  events(events: readonly TurnEvent[]): string {
    for (let index = 0; index < events.length; index++) this.#step(events[index]!.event);
    return this.#events.take();
  }

  /** Returns the event `response.failed`, with unfinished items as they are now, and then [DONE]. */
  failed(fault: Fault): string {
    if (this.over) return "";
    this.over = true;
    this.#begin();
    const partial = new Map<number, string>();
    for (const [index, item] of this.#items.entries()) if (item) partial.set(index, item.partialJson());
    this.#events.add("response.failed", `"response":${this.#response.failed(fault, partial)}`);
    return this.#events.take() + doneSentinel;
  }

  #step(event: TurnEvent["event"]): void {
    if (this.over || event.case === undefined) return;
    switch (event.case) {
      case "textDelta":
        this.#begin();
        return this.#items[event.value.index]?.text(event.value);
      case "start":
      case "usage":
        return this.#response.apply(event);
      case "debug":
        return this.#events.add(
          "response.debug",
          `"debug":{"echo_upstream_body":${textOf(event.value.upstreamBodyJson)}}`,
        );
    }
    this.#begin();
    switch (event.case) {
      case "itemStart":
        return this.#beginItem(event.value);
      case "refusalDelta":
        return this.#delta("refusal", event.value);
      case "reasoningDelta":
        return this.#delta("reasoning_text", event.value);
      case "summaryDelta":
        return this.#delta("summary_text", event.value);
      case "argumentsDelta":
        return this.#items[event.value.index]?.callDelta(event.value.delta);
      case "annotation":
        return this.#items[event.value.index]?.annotation(event.value);
      case "itemEnd":
        return this.#finish(event.value);
      case "native":
        return this.#native(event.value);
      case "end":
        this.#response.apply(event);
        return this.#terminal();
    }
  }

  /**
   * Begins an item, and rejects a gap in the indices: clients append an item at "added", find it by index later, and would write into the wrong item.
   */
  #beginItem({ index, itemJson }: ItemStart): void {
    const begun = this.#items.length;
    if (index !== begun) throw disorder(`item ${index} begins after ${begun} items`);
    this.#items.push(new OpenItem(index, textOf(itemJson), this.#events));
    this.#open++;
  }

  #finish({ index, itemJson }: ItemEnd): void {
    const json = textOf(itemJson);
    this.#response.finish(index, json);
    const item = this.#items[index];
    if (!item) throw disorder(`item ${index} ends without being open`);
    if (!item.isSuspended(json)) item.done(json);
    this.#items[index] = undefined;
    this.#open--;
  }

  #delta(kind: "refusal" | "reasoning_text" | "summary_text", delta: TextDelta): void {
    this.#items[delta.index]?.delta(kind, delta.part, delta.delta);
  }

  #native({ index, type, payloadJson }: NativeEvent): void {
    if (!nativeType.test(type)) return;
    const members = textOf(payloadJson).slice(1, -1);
    if (index === undefined) this.#events.add(type, members);
    else this.#items[index]?.native(type, members);
  }

  #terminal(): void {
    if (this.#open > 0) throw disorder(`the turn ends while ${this.#open} items are open`);
    const terminal = this.#response.terminal();
    if (!terminal) return;
    this.over = true;
    this.#events.add(`response.${terminal.status}`, `"response":${terminal.json}`);
    this.#events.addRaw(doneSentinel);
  }

  #begin(): void {
    if (this.#opened) return;
    this.#opened = true;
    const payload = `"response":${this.#response.inProgress()}`;
    this.#events.add("response.created", payload);
    this.#events.add("response.in_progress", payload);
  }
}
