/**
 * Converts turn events to the server-sent events of the Messages format. Blocks are written one after another, since clients add each delta to the
 * last block. While an item is open, the events of another item wait for its end.
 */
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import type { StreamedAnswer } from "../../edge/turns/door.ts";
import { BlockWriter } from "./block-writer.ts";
import { type MessageIdentity, MessageState } from "./message.ts";
import { noteItem } from "./object.ts";
import { type StreamedItem, streamItem } from "./streamed-item.ts";

/** The output index in an event; undefined for events that belong to no item. */
function indexOf(event: TurnEvent["event"]): number | undefined {
  const { value } = event;
  return value !== undefined && "index" in value ? value.index : undefined;
}

export class MessageStream implements StreamedAnswer {
  readonly #state: MessageState;
  readonly #writer = new BlockWriter();
  #index: number | undefined;
  #item: StreamedItem | undefined;
  #waiting: TurnEvent["event"][] = [];
  #opened = false;
  #over = false;

  constructor(identity: MessageIdentity) {
    this.#state = new MessageState(identity);
  }

  get withheldUsageJson(): string | undefined {
    return this.#state.withheldUsageJson;
  }

  get over(): boolean {
    return this.#over;
  }

  open(): string {
    this.#begin();
    return this.#writer.take();
  }

  events(events: readonly TurnEvent[]): string {
    for (let index = 0; index < events.length; index++) this.#step(events[index]!.event);
    return this.#writer.take();
  }

  failed(fault: Fault): string {
    if (this.#over) return "";
    this.#over = true;
    this.#begin();
    this.#writer.event("error", this.#state.failureJson(fault));
    return this.#writer.take();
  }

  #begin(): void {
    if (this.#opened) return;
    this.#opened = true;
    this.#writer.event("message_start", `{"type":"message_start","message":${this.#state.startJson()}}`);
    this.#writer.event("ping", '{"type":"ping"}');
  }

  #step(event: TurnEvent["event"]): void {
    if (this.#over || event.case === undefined) return;
    const index = indexOf(event);
    if (index === undefined) return this.#ofTurn(event);
    if (this.#index !== undefined && this.#index !== index) return void this.#waiting.push(event);
    this.#begin();
    this.#index = index;
    this.#ofItem(event);
  }

  #ofTurn(event: TurnEvent["event"]): void {
    this.#state.apply(event);
    if (event.case !== "end") return;
    this.#begin();
    this.#over = true;
    this.#writer.event("message_delta", `{"type":"message_delta",${this.#state.deltaMembers()}}`);
    this.#writer.event("message_stop", '{"type":"message_stop"}');
  }

  #ofItem(event: TurnEvent["event"]): void {
    switch (event.case) {
      case "itemStart":
        this.#item = streamItem(JSON.parse(textOf(event.value.itemJson)) as JsonObject, this.#writer);
        return;
      case "textDelta":
      case "refusalDelta":
      case "reasoningDelta":
      case "summaryDelta":
        return this.#item?.text(event.case, event.value.part, event.value.delta);
      case "argumentsDelta":
        return this.#item?.arguments(event.value.delta);
      case "annotation":
        return this.#item?.annotation(JSON.parse(textOf(event.value.annotationJson)));
      case "itemEnd":
        return this.#finish(JSON.parse(textOf(event.value.itemJson)) as JsonObject);
    }
  }

  #finish(item: JsonObject): void {
    noteItem(item, this.#state);
    this.#item?.end(item);
    this.#item = undefined;
    this.#index = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const event of waiting) this.#step(event);
  }
}
