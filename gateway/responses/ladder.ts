/**
 * The event ladder of a stream: turn events in, Responses server-sent events out, in the order of the contract, numbered from 0.
 *
 * Every method returns the text to write, whole events only: some clients drop an event that is cut between its data line and the
 * blank line. Deltas are written by template; only their text goes through JSON.stringify.
 */
import type { NativeEvent, TextDelta, TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/runtime/fault.js";
import { OpenItem, type Emit } from "./item.ts";
import type { ResponseObject } from "./object.ts";

export const doneSentinel = "data: [DONE]\n\n";

export class Ladder {
  readonly #response: ResponseObject;
  readonly #items = new Map<number, OpenItem>();
  #sequence = 0;
  #opened = false;
  #text = "";

  constructor(response: ResponseObject) {
    this.#response = response;
  }

  /** created and in_progress, once: before the first event, or when the stream must begin without one. */
  open(): string {
    this.#open();
    return this.#take();
  }

  events(events: readonly TurnEvent[]): string {
    for (const { event } of events) this.#step(event);
    return this.#take();
  }

  /** response.failed, with what was begun as it stands. Everything after it is [DONE]. */
  failed(fault: Fault): string {
    this.#open();
    const partial = new Map<number, string>();
    for (const [index, item] of this.#items) partial.set(index, item.partialJson());
    this.#emit("response.failed", `"response":${this.#response.failed(fault, partial)}`);
    return this.#take() + doneSentinel;
  }

  #step(event: TurnEvent["event"]): void {
    this.#response.apply(event);
    if (event.case === "debug") {
      const body = Buffer.from(event.value.upstreamBodyJson).toString();
      return this.#emit("response.debug", `"debug":{"echo_upstream_body":${body}}`);
    }
    if (event.case === "start" || event.case === undefined) return;
    this.#open();
    switch (event.case) {
      case "itemStart": {
        const item = new OpenItem(event.value.index, event.value.itemJson, this.#emit);
        this.#items.set(event.value.index, item);
        return item.added();
      }
      case "textDelta":
        return this.#items.get(event.value.index)?.text(event.value);
      case "refusalDelta":
        return this.#delta("refusal", event.value);
      case "reasoningDelta":
        return this.#delta("reasoning_text", event.value);
      case "summaryDelta":
        return this.#delta("summary_text", event.value);
      case "argumentsDelta":
        return this.#items.get(event.value.index)?.arguments(event.value.delta);
      case "annotation":
        return this.#items.get(event.value.index)?.annotation(event.value);
      case "itemEnd":
        this.#items.get(event.value.index)?.done(event.value.itemJson);
        this.#items.delete(event.value.index);
        return;
      case "native":
        return this.#native(event.value);
      case "end":
        return this.#terminal();
    }
  }

  #delta(kind: "refusal" | "reasoning_text" | "summary_text", delta: TextDelta): void {
    this.#items.get(delta.index)?.delta(kind, delta.part, delta.delta);
  }

  #native({ index, type, payloadJson }: NativeEvent): void {
    const payload = Buffer.from(payloadJson).toString().slice(1, -1);
    const address = index === undefined ? "" : (this.#items.get(index)?.address ?? "");
    this.#emit(type, address !== "" && payload !== "" ? `${address},${payload}` : address + payload);
  }

  #terminal(): void {
    const terminal = this.#response.terminal();
    if (!terminal) return;
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
