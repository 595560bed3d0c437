/** Writes the items of an answer as turn events. What an item says in the end is by construction what its deltas said. */
import type { OutputItem, TurnEvent } from "../turn/turn.ts";
import { newId } from "@sluice/proto/runtime/id.js";
import { CallWriter, OtherWriter, heardBefore } from "./item-writer.ts";
import type { JsonObject } from "./json.ts";
import { PartSequence } from "./part-sequence.ts";
import { inSequence } from "./sequence.ts";
import { inWholeCharacters } from "./whole-characters.ts";

export type Emit = (event: TurnEvent) => void;
export type ItemStatus = "completed" | "incomplete";

type TextPart = {
  readonly type: "output_text";
  text: string;
  readonly annotations: unknown[];
  readonly logprobs: unknown[];
};
type RefusalPart = { readonly type: "refusal"; refusal: string };
type Part = TextPart | RefusalPart | { readonly type: "other"; readonly part: JsonObject };

/** Numbers the items in the order in which they begin. */
export class Output {
  readonly #emit: Emit;
  /** Given to calls so far. */
  readonly #callIds = new Set<string>();
  #count = 0;

  constructor(emit: Emit) {
    this.#emit = inSequence(inWholeCharacters(emit));
  }

  /** @param extra fields of the provider's item that nobody here reads */
  message(id?: string, extra: JsonObject = {}): MessageWriter {
    return new MessageWriter(this.#emit, this.#count++, id ?? newId("msg_"), extra);
  }

  reasoning(id?: string): ReasoningWriter {
    return new ReasoningWriter(this.#emit, this.#count++, id ?? newId("rs_"));
  }

  /** Items begun so far; the index of the next one. */
  get count(): number {
    return this.#count;
  }

  /** @param namespace of the tool, where it has one */
  call(name: string, callId?: string, namespace?: string): CallWriter {
    return this.carrier({
      type: "function_call",
      id: newId("fc_"),
      call_id: this.#callId(callId),
      name,
      ...(namespace !== undefined && { namespace }),
    });
  }

  /** A call of a tool whose input is text. */
  customCall(name: string, callId?: string, namespace?: string): CallWriter {
    return this.carrier({
      type: "custom_tool_call",
      id: newId("ctc_"),
      call_id: this.#callId(callId),
      name,
      ...(namespace !== undefined && { namespace }),
    });
  }

  /** A client answers a call by its id: of two that a provider calls the same, the second is called otherwise. */
  #callId(given: string | undefined): string {
    const id = given === undefined || this.#callIds.has(given) ? newId("call_") : given;
    this.#callIds.add(id);
    return id;
  }

  /** A call of any kind that carries text; what the item says of that text is left to deltas and to its end. */
  carrier(item: OutputItem): CallWriter {
    return new CallWriter(this.#emit, this.#count++, item);
  }

  /** An item that passes whole. */
  other(item: OutputItem): OtherWriter {
    return new OtherWriter(this.#emit, this.#count++, item);
  }

  /**
   * An event of the provider that passes as it is.
   * @param index of the open item that it belongs to
   */
  native(name: string, payload: JsonObject, index?: number): void {
    const payloadJson = JSON.stringify(payload);
    this.#emit({ type: "native", name, payloadJson, ...(index !== undefined && { index }) });
  }
}

export class MessageWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #head: OutputItem;
  readonly parts: Part[] = [];
  readonly #sequence: PartSequence<number>;

  constructor(emit: Emit, index: number, id: string, extra: JsonObject) {
    this.#emit = emit;
    this.#index = index;
    this.#head = { ...extra, type: "message", id, role: "assistant" };
    this.#sequence = new PartSequence(emit);
    emit({ type: "item.start", index, item: { ...this.#head, status: "in_progress", content: [] } });
  }

  /** The last part if it is of this kind, else a new one behind it. */
  part(type: "output_text" | "refusal"): number {
    const last = this.parts.length - 1;
    if (this.parts[last]?.type === type) return last;
    this.close(last);
    return this.newPart(type);
  }

  /** Those before it may still go on: it is shown when they are closed. */
  newPart(type: "output_text" | "refusal"): number {
    const text = { type: "output_text" as const, text: "", annotations: [], logprobs: [] };
    return this.parts.push(type === "refusal" ? { type, refusal: "" } : text) - 1;
  }

  /** A part of a kind that has no events here: the item holds it in the end. */
  otherPart(part: JsonObject): number {
    return this.parts.push({ type: "other", part }) - 1;
  }

  text(part: number, delta: string, logprobs: readonly unknown[] = []): void {
    const target = this.parts[part];
    if (target?.type !== "output_text" || delta === "") return;
    if (!this.#sequence.takes(part)) return heardBefore(target.text, delta);
    target.text += delta;
    const event = { type: "text.delta" as const, index: this.#index, part, delta };
    if (logprobs.length === 0) return this.#sequence.take(part, event);
    target.logprobs.push(...logprobs);
    this.#sequence.take(part, { ...event, logprobsJson: JSON.stringify(logprobs) });
  }

  refusal(part: number, delta: string): void {
    const target = this.parts[part];
    if (target?.type !== "refusal" || delta === "") return;
    if (!this.#sequence.takes(part)) return heardBefore(target.refusal, delta);
    target.refusal += delta;
    this.#sequence.take(part, { type: "refusal.delta", index: this.#index, part, delta });
  }

  annotation(part: number, annotation: unknown): void {
    const target = this.parts[part];
    if (target?.type !== "output_text") return;
    target.annotations.push(annotation);
    this.#sequence.take(part, { type: "annotation", index: this.#index, part, annotation });
  }

  /** The part is whole. */
  close(part: number): void {
    this.#sequence.close(part);
  }

  end(status: ItemStatus, extra: JsonObject = {}): void {
    this.#sequence.end();
    const content = this.parts.map((part) => (part.type === "other" ? part.part : part));
    const item = { ...extra, ...this.#head, status, content };
    this.#emit({ type: "item.end", index: this.#index, item });
  }
}

export class ReasoningWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #id: string;
  readonly texts: string[] = [];
  readonly summaries: string[] = [];
  readonly #sequence: PartSequence<string>;

  constructor(emit: Emit, index: number, id: string) {
    this.#emit = emit;
    this.#index = index;
    this.#id = id;
    this.#sequence = new PartSequence(emit);
    emit({
      type: "item.start",
      index,
      item: { type: "reasoning", id, status: "in_progress", summary: [], content: [] },
    });
  }

  text(part: number, delta: string): void {
    this.#add("reasoning.delta", this.texts, part, delta);
  }

  summary(part: number, delta: string): void {
    this.#add("summary.delta", this.summaries, part, delta);
  }

  #add(type: "reasoning.delta" | "summary.delta", parts: string[], part: number, delta: string): void {
    const key = `${type} ${part}`;
    if (!this.#sequence.takes(key)) return heardBefore(parts[part] ?? "", delta);
    parts[part] = (parts[part] ?? "") + delta;
    if (delta !== "") this.#sequence.take(key, { type, index: this.#index, part, delta });
  }

  /** The part is whole. */
  close(type: "reasoning.delta" | "summary.delta", part: number): void {
    this.#sequence.close(`${type} ${part}`);
  }

  /** @param extra encrypted_content, format, signature and what else the provider says of it */
  end(status: ItemStatus, extra: JsonObject = {}): void {
    this.#sequence.end();
    const item: OutputItem = {
      type: "reasoning",
      id: this.#id,
      status,
      summary: this.summaries.map((text) => ({ type: "summary_text", text })),
      content: this.texts.map((text) => ({ type: "reasoning_text", text })),
      format: "unknown",
      signature: null,
      ...extra,
    };
    this.#emit({ type: "item.end", index: this.#index, item });
  }
}
