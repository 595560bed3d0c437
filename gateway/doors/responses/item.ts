/**
 * Streams an output item: its parts open, grow and close. The delivered text is remembered in case the turn fails. A delta that comes after its part
 * or text has closed is not written as an event; the final item contains it.
 */
import type { Annotation, TextDelta } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import { append } from "@sluice/proto/lib/text/append.js";
import { toJsonString } from "../../edge/turns/json.ts";
import { type CallText, type ItemJson, callTexts, unfinishedStatus } from "./call-text.ts";
import type { EventText } from "./event-text.ts";
import {
  Part,
  type PartKind,
  isPartKind,
  partEventStem,
  partValue,
  partsOfItem,
  deltaEventHeads,
  textDonePayload,
  textOfPart,
  textEventStems,
} from "./part.ts";

export class OpenItem {
  readonly #index: number;
  readonly #item: ItemJson;
  readonly #events: EventText;
  /** `"item_id":...,"output_index":...`, the members at the beginning of most payloads. */
  readonly #address: string;
  readonly #parts: Part[] = [];
  #open: Part | undefined = undefined;
  /** Names of the events for the text of this call; undefined for items without such a text. */
  readonly #call: CallText | undefined;
  #callText = "";
  #callDone = false;

  constructor(index: number, itemJson: string, events: EventText) {
    this.#index = index;
    this.#item = JSON.parse(itemJson) as ItemJson;
    this.#events = events;
    this.#address = ['"item_id":', JSON.stringify(this.#item.id), ',"output_index":', index].join("");
    this.#call = callTexts.get(this.#item.type);
    this.#events.add("response.output_item.added", `"output_index":${index},"item":${itemJson}`);
  }

  /**
   * Whether a subagent's item waits for functions that the client runs: the response then ends without a `done` event of the item. @param json the
   * item as it is now
   */
  isSuspended(json: string): boolean {
    return this.#item.type.endsWith(":subagent") && (JSON.parse(json) as ItemJson).status === "in_progress";
  }

  /** Writes a delta of an output_text part. */
  text({ part: index, delta, logprobsJson }: TextDelta): void {
    const part = this.#part("output_text", index);
    if (!part) return;
    if (logprobsJson.length === 0) return this.#grow(part, delta, ',"logprobs":[]');
    const logprobs = textOf(logprobsJson);
    for (const entry of JSON.parse(logprobs) as unknown[]) part.logprobs.push(entry);
    this.#grow(part, delta, `,"logprobs":${logprobs}`);
  }

  /** Writes a delta of any other kind of part. */
  delta(kind: PartKind, index: number, delta: string): void {
    const part = this.#part(kind, index);
    if (part) this.#grow(part, delta, "");
  }

  #grow(part: Part, delta: string, rest: string): void {
    part.text = append(part.text, delta);
    this.#events.addPrepared(deltaEventHeads[part.kind], `${part.beforeDelta}${toJsonString(delta)}${rest}`);
  }

  /** Writes a delta of a call's text. */
  callDelta(delta: string): void {
    if (!this.#call || this.#callDone || delta === "") return;
    this.#callText = append(this.#callText, delta);
    this.#events.add(this.#call.delta, `${this.#address},"delta":${toJsonString(delta)}`);
  }

  annotation({ part: index, annotationJson }: Annotation): void {
    const part = this.#part("output_text", index);
    if (!part) return;
    const json = textOf(annotationJson);
    const position = part.annotations.push(JSON.parse(json)) - 1;
    this.#events.add(
      "response.output_text.annotation.added",
      `${part.position},"annotation_index":${position},"annotation":${json}`,
    );
  }

  /** Writes an event of a type of the provider. @param members members of the payload besides the item's id and index, without braces */
  native(type: string, members: string): void {
    // The text of the call is closed before any further event, since a provider runs a call only after its whole text.
    if (this.#callText !== "" && !type.endsWith(".in_progress")) this.#closeCall();
    this.#events.add(type, members === "" ? this.#address : `${this.#address},${members}`);
  }

  /** Completes the item: writes the rest of its text and then its end. */
  done(json: string): void {
    const item = JSON.parse(json) as ItemJson;
    for (const [index, part] of partsOfItem(item, "summary").entries())
      this.#complete("summary_text", index, textOfPart(part));
    for (const [index, part] of partsOfItem(item, "content").entries()) {
      if (isPartKind(part["type"])) this.#complete(part["type"], index, textOfPart(part));
      else this.#whole(index, JSON.stringify(part));
    }
    this.#close();
    if (this.#call) this.#completeCall(this.#call, item);
    this.#events.add("response.output_item.done", `"output_index":${this.#index},"item":${json}`);
  }

  /** The item with the text delivered so far, for an item that will not be completed. */
  partialJson(): string {
    const parts = (summaries: boolean) =>
      this.#parts.filter(({ kind }) => (kind === "summary_text") === summaries).map(partValue);
    const { type } = this.#item;
    return JSON.stringify({
      ...this.#item,
      status: unfinishedStatus.get(type) ?? "incomplete",
      ...(type === "reasoning" && { summary: parts(true) }),
      ...((type === "message" || type === "reasoning") && { content: parts(false) }),
      ...(this.#callText !== "" && this.#call?.write(this.#item, this.#callText)),
    });
  }

  #completeCall(call: CallText, item: ItemJson): void {
    const whole = call.read(item);
    if (this.#callText === "" && (whole === undefined || call.onlyStreamed)) return;
    this.callDelta(rest(this.#callText, whole ?? ""));
    this.#closeCall();
  }

  #closeCall(): void {
    if (!this.#call || this.#callDone) return;
    this.#callDone = true;
    const { type, name = "" } = this.#item;
    const named = type === "function_call" ? `,"name":${JSON.stringify(name)}` : "";
    const { done, member } = this.#call;
    this.#events.add(done, `${this.#address}${named},"${member}":${JSON.stringify(this.#callText)}`);
  }

  #complete(kind: PartKind, index: number, whole: string): void {
    const part = this.#part(kind, index);
    const delta = part ? rest(part.text, whole) : "";
    if (delta === "") return;
    if (part) this.#grow(part, delta, kind === "output_text" ? ',"logprobs":[]' : "");
  }

  /** Writes a complete part, of a kind that has no events of its own. */
  #whole(index: number, json: string): void {
    if (index < this.#siblings("output_text")) return;
    this.#close();
    const part = new Part("output_text", index, this.#address);
    this.#parts.push(part);
    this.#events.add("response.content_part.added", `${part.position},"part":${json}`);
    this.#events.add("response.content_part.done", `${part.position},"part":${json}`);
  }

  #siblings(kind: PartKind): number {
    return this.#parts.filter((part) => (part.kind === "summary_text") === (kind === "summary_text")).length;
  }

  /** The part for a delta, opened if necessary; any other open part is closed first. Undefined for a part already closed. */
  #part(kind: PartKind, index: number): Part | undefined {
    const open = this.#open;
    if (open && open.kind === kind && open.index === index) return open;
    const siblings = this.#siblings(kind);
    if (index < siblings) return undefined;
    // Clients append a part at "added" and later find it by its number, so a part that the provider left out as empty must be added, too.
    for (let number = siblings; number <= index; number++) {
      this.#close();
      const part = new Part(kind, number, this.#address);
      this.#parts.push(part);
      this.#open = part;
      this.#events.add(`${partEventStem(kind)}.added`, `${part.position},"part":${JSON.stringify(partValue(part))}`);
    }
    return this.#open;
  }

  #close(): void {
    const part = this.#open;
    if (!part) return;
    this.#open = undefined;
    this.#events.add(`${textEventStems[part.kind]}.done`, textDonePayload(part));
    this.#events.add(`${partEventStem(part.kind)}.done`, `${part.position},"part":${JSON.stringify(partValue(part))}`);
  }
}

/** The part of a complete text that has not been streamed; empty if the text begins differently. */
const rest = (shown: string, whole: string): string => (whole.startsWith(shown) ? whole.slice(shown.length) : "");
