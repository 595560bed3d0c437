/** Writes the items of an answer as turn events. A finished item contains exactly the text of its deltas. */
import type { OutputItem } from "../../../turn/turn.ts";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { append } from "@sluice/proto/lib/text/append.js";
import { CallWriter, type Emit, type ItemStatus, WholeItemWriter, requireAlreadySent } from "./item-writer.ts";
import type { JsonObject } from "../json.ts";
import { PartSequence } from "./part-sequence.ts";
import { plainIds, withPlainIds } from "./plain-ids.ts";
import { orderItems } from "./sequence.ts";
import { joinSurrogates } from "./whole-characters.ts";

type TextPart = {
  readonly type: "output_text";
  text: string;
  readonly annotations: unknown[];
  readonly logprobs: unknown[];
};
type RefusalPart = { readonly type: "refusal"; refusal: string };
type Part = TextPart | RefusalPart | { readonly type: "other"; readonly part: JsonObject };

/** The format of reasoning that no provider has encrypted. */
const unknownFormat = "unknown";

/** Creates the writers of items, and numbers the items in the order in which they start. */
export class Output {
  readonly #emit: Emit;
  /** Call ids already used; undefined before the first one. */
  #callIds: Set<string> | undefined;
  #count = 0;
  #hasCutCall = false;

  constructor(emit: Emit) {
    this.#emit = orderItems(joinSurrogates(withPlainIds(emit)));
  }

  /** @param extra fields of the provider's item that are passed on */
  message(id?: string, extra?: JsonObject): MessageWriter {
    return new MessageWriter(this.#emit, this.#count++, id ?? newId("msg_"), extra);
  }

  /** @param format format of the encrypted reasoning, as far as it is known */
  reasoning(id?: string, format = unknownFormat): ReasoningWriter {
    return new ReasoningWriter(this.#emit, this.#count++, id ?? newId("rs_"), format);
  }

  /** Number of items begun so far, which is the index of the next one. */
  get count(): number {
    return this.#count;
  }

  /** @param namespace namespace of the tool, if it has one */
  call(name: string, callId?: string, namespace?: string): CallWriter {
    return this.textCall({
      type: "function_call",
      id: newId("fc_"),
      call_id: this.#callId(callId),
      name,
      ...(namespace !== undefined && { namespace }),
    });
  }

  /** Begins a call of a custom tool, with text as input. */
  customCall(name: string, callId?: string, namespace?: string): CallWriter {
    return this.textCall({
      type: "custom_tool_call",
      id: newId("ctc_"),
      call_id: this.#callId(callId),
      name,
      ...(namespace !== undefined && { namespace }),
    });
  }

  /** The id for a call. Clients answer a call by its id, so an id used already is replaced by a new one. */
  #callId(given: string | undefined): string {
    const ids = (this.#callIds ??= new Set());
    const id = given === undefined || ids.has(given) ? newId("call_") : given;
    ids.add(id);
    return id;
  }

  /** Begins a call of any kind whose text streams as deltas. */
  textCall(item: OutputItem): CallWriter {
    return new CallWriter(this.#emit, this, this.#count++, item);
  }

  noteCut(): void {
    this.#hasCutCall = true;
  }

  /**
   * The status of the answer, once all items have ended: one with a call that breaks off is incomplete, although vLLM and servers built on it
   * report `tool_calls` after a token limit (vllm-project/vllm issues 53269, 58228) and others `stop`. A client would run the broken call.
   */
  finalStatus(reported: ItemStatus): ItemStatus {
    return this.#hasCutCall ? "incomplete" : reported;
  }

  /** Begins an item without deltas. */
  other(item: OutputItem): WholeItemWriter {
    return new WholeItemWriter(this.#emit, this.#count++, item);
  }

  /**
   * Passes on an event that only this provider has.
   * @param index index of the open item to which the event belongs
   */
  native(name: string, payload: JsonObject, index?: number): void {
    const payloadJson = JSON.stringify(plainIds(payload));
    this.#emit({ type: "native", name, payloadJson, ...(index !== undefined && { index }) });
  }
}

export class MessageWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #id: string;
  readonly #extra: JsonObject | undefined;
  readonly parts: Part[] = [];
  readonly #sequence: PartSequence<number>;

  constructor(emit: Emit, index: number, id: string, extra: JsonObject | undefined) {
    this.#emit = emit;
    this.#index = index;
    this.#id = id;
    this.#extra = extra;
    this.#sequence = new PartSequence(emit);
    const item = { type: "message", id, role: "assistant", status: "in_progress", content: [] };
    emit({ type: "item.start", index, item: extra ? { ...extra, ...item } : item });
  }

  /** Index of the last part if it has this type, else of a new one. */
  part(type: "output_text" | "refusal"): number {
    const last = this.parts.length - 1;
    if (this.parts[last]?.type === type) return last;
    if (last >= 0) this.close(last);
    return this.newPart(type);
  }

  /** Begins a part. Earlier parts may still grow; clients get the new one once they are closed. */
  newPart(type: "output_text" | "refusal"): number {
    const text = { type: "output_text" as const, text: "", annotations: [], logprobs: [] };
    return this.parts.push(type === "refusal" ? { type, refusal: "" } : text) - 1;
  }

  /** Adds a part of a type without turn events; it appears in the finished item. */
  otherPart(part: JsonObject): number {
    return this.parts.push({ type: "other", part }) - 1;
  }

  text(part: number, delta: string, logprobs?: readonly unknown[]): void {
    const target = this.parts[part];
    if (target?.type !== "output_text" || delta === "") return;
    if (!this.#sequence.takes(part)) return requireAlreadySent(target.text, delta);
    target.text = append(target.text, delta);
    if (logprobs === undefined || logprobs.length === 0) {
      return this.#sequence.take(part, { type: "text.delta", index: this.#index, part, delta });
    }
    target.logprobs.push(...logprobs);
    const logprobsJson = JSON.stringify(logprobs);
    this.#sequence.take(part, { type: "text.delta", index: this.#index, part, delta, logprobsJson });
  }

  refusal(part: number, delta: string): void {
    const target = this.parts[part];
    if (target?.type !== "refusal" || delta === "") return;
    if (!this.#sequence.takes(part)) return requireAlreadySent(target.refusal, delta);
    target.refusal = append(target.refusal, delta);
    this.#sequence.take(part, { type: "refusal.delta", index: this.#index, part, delta });
  }

  annotation(part: number, annotation: unknown): void {
    const target = this.parts[part];
    if (target?.type !== "output_text") return;
    target.annotations.push(annotation);
    this.#sequence.take(part, { type: "annotation", index: this.#index, part, annotation });
  }

  /** Closes a part, which is complete. */
  close(part: number): void {
    this.#sequence.close(part);
  }

  end(status: ItemStatus, extra?: JsonObject): void {
    this.#sequence.end();
    const content = this.parts.map((part) => (part.type === "other" ? part.part : wellFormed(part)));
    const item = { type: "message", id: this.#id, role: "assistant", status, content };
    const passed = extra ?? this.#extra;
    this.#emit({ type: "item.end", index: this.#index, item: passed ? { ...extra, ...this.#extra, ...item } : item });
  }
}

/** The part without lone surrogates: a request in which a client sends one back would be refused. */
function wellFormed(part: TextPart | RefusalPart): TextPart | RefusalPart {
  if (part.type === "refusal") return { ...part, refusal: part.refusal.toWellFormed() };
  return part.text.isWellFormed() ? part : { ...part, text: part.text.toWellFormed() };
}

export class ReasoningWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #id: string;
  readonly #format: string;
  readonly texts: string[] = [];
  readonly summaries: string[] = [];
  readonly #sequence: PartSequence<string>;

  constructor(emit: Emit, index: number, id: string, format: string) {
    this.#format = format;
    this.#emit = emit;
    this.#index = index;
    this.#id = id;
    this.#sequence = new PartSequence(emit);
    emit({
      type: "item.start",
      index,
      item: {
        type: "reasoning",
        id,
        status: "in_progress",
        summary: [],
        content: [],
        ...(format !== unknownFormat && { format }),
      },
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
    if (!this.#sequence.takes(key)) return requireAlreadySent(parts[part] ?? "", delta);
    parts[part] = append(parts[part] ?? "", delta);
    if (delta !== "") this.#sequence.take(key, { type, index: this.#index, part, delta });
  }

  /** Closes a part, which is complete. */
  close(type: "reasoning.delta" | "summary.delta", part: number): void {
    this.#sequence.close(`${type} ${part}`);
  }

  /** @param extra encrypted_content, format, signature and other fields of the provider's item */
  end(status: ItemStatus, extra: JsonObject = {}): void {
    this.#sequence.end();
    const item: OutputItem = {
      type: "reasoning",
      id: this.#id,
      status,
      summary: this.summaries.map((text) => ({ type: "summary_text", text: text.toWellFormed() })),
      content: this.texts.map((text) => ({ type: "reasoning_text", text: text.toWellFormed() })),
      format: this.#format,
      signature: null,
      ...extra,
    };
    this.#emit({ type: "item.end", index: this.#index, item });
  }
}
