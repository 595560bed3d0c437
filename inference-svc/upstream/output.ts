/** Writes the items of an answer as turn events. What an item says in the end is by construction what its deltas said. */
import type { OutputItem, TurnEvent } from "../turn/turn.ts";
import { newId } from "@sluice/proto/runtime/id.js";
import type { JsonObject } from "./json.ts";

export type Emit = (event: TurnEvent) => void;
export type ItemStatus = "completed" | "incomplete";

type Part =
  | { readonly type: "output_text"; text: string; readonly annotations: unknown[]; readonly logprobs: unknown[] }
  | { readonly type: "refusal"; refusal: string };

/** Numbers the items in the order in which they begin. */
export class Output {
  readonly #emit: Emit;
  #count = 0;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  /** @param extra fields of the provider's item that nobody here reads */
  message(id?: string, extra: JsonObject = {}): MessageWriter {
    return new MessageWriter(this.#emit, this.#count++, id ?? newId("msg_"), extra);
  }

  reasoning(id?: string): ReasoningWriter {
    return new ReasoningWriter(this.#emit, this.#count++, id ?? newId("rs_"));
  }

  call(name: string, callId?: string, id?: string, extra: JsonObject = {}): CallWriter {
    return new CallWriter(this.#emit, this.#count++, {
      ...extra,
      type: "function_call",
      id: id ?? newId("fc_"),
      call_id: callId ?? newId("call_"),
      name,
    });
  }

  /** A call of a tool whose input is text. */
  customCall(name: string, callId?: string, id?: string, extra: JsonObject = {}): CallWriter {
    const head: OutputItem = {
      ...extra,
      type: "custom_tool_call",
      id: id ?? newId("ctc_"),
      call_id: callId ?? newId("call_"),
      name,
    };
    return new CallWriter(this.#emit, this.#count++, head, "input");
  }

  /** An item that passes whole. */
  other(item: OutputItem): OtherWriter {
    return new OtherWriter(this.#emit, this.#count++, item);
  }
}

export class MessageWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #head: OutputItem;
  readonly parts: Part[] = [];

  constructor(emit: Emit, index: number, id: string, extra: JsonObject) {
    this.#emit = emit;
    this.#index = index;
    this.#head = { ...extra, type: "message", id, role: "assistant" };
    emit({ type: "item.start", index, item: { ...this.#head, status: "in_progress", content: [] } });
  }

  /** The last part if it is of this kind, else a new one. */
  part(type: Part["type"]): number {
    return this.parts.at(-1)?.type === type ? this.parts.length - 1 : this.newPart(type);
  }

  newPart(type: Part["type"]): number {
    const text = { type: "output_text" as const, text: "", annotations: [], logprobs: [] };
    return this.parts.push(type === "refusal" ? { type, refusal: "" } : text) - 1;
  }

  text(part: number, delta: string, logprobs: readonly unknown[] = []): void {
    const target = this.parts[part];
    if (target?.type !== "output_text" || delta === "") return;
    target.text += delta;
    const event = { type: "text.delta" as const, index: this.#index, part, delta };
    if (logprobs.length === 0) return this.#emit(event);
    target.logprobs.push(...logprobs);
    this.#emit({ ...event, logprobsJson: JSON.stringify(logprobs) });
  }

  refusal(part: number, delta: string): void {
    const target = this.parts[part];
    if (target?.type !== "refusal" || delta === "") return;
    target.refusal += delta;
    this.#emit({ type: "refusal.delta", index: this.#index, part, delta });
  }

  annotation(part: number, annotation: unknown): void {
    const target = this.parts[part];
    if (target?.type !== "output_text") return;
    target.annotations.push(annotation);
    this.#emit({ type: "annotation", index: this.#index, part, annotation });
  }

  end(status: ItemStatus, extra: JsonObject = {}): void {
    const item = { ...extra, ...this.#head, status, content: this.parts };
    this.#emit({ type: "item.end", index: this.#index, item });
  }
}

export class ReasoningWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #id: string;
  readonly texts: string[] = [];
  readonly summaries: string[] = [];

  constructor(emit: Emit, index: number, id: string) {
    this.#emit = emit;
    this.#index = index;
    this.#id = id;
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
    parts[part] = (parts[part] ?? "") + delta;
    if (delta !== "") this.#emit({ type, index: this.#index, part, delta });
  }

  /** @param extra encrypted_content, format, signature and what else the provider says of it */
  end(status: ItemStatus, extra: JsonObject = {}): void {
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

export class CallWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #head: OutputItem;
  readonly #field: string;
  /** What the call carries so far: JSON arguments, or the input of a custom tool. */
  carried = "";

  /** @param field of the item that holds what the call carries */
  constructor(emit: Emit, index: number, head: OutputItem, field = "arguments") {
    this.#emit = emit;
    this.#index = index;
    this.#head = head;
    this.#field = field;
    emit({ type: "item.start", index, item: { ...head, [field]: "", status: "in_progress" } });
  }

  arguments(delta: string): void {
    if (delta === "") return;
    this.carried += delta;
    this.#emit({ type: "arguments.delta", index: this.#index, delta });
  }

  end(status: ItemStatus, extra: JsonObject = {}): void {
    const item = { ...extra, ...this.#head, [this.#field]: this.carried, status };
    this.#emit({ type: "item.end", index: this.#index, item });
  }
}

export class OtherWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #start: OutputItem;

  constructor(emit: Emit, index: number, item: OutputItem) {
    this.#emit = emit;
    this.#index = index;
    this.#start = item;
    emit({ type: "item.start", index, item });
  }

  /** Type and id stay those that were announced. */
  end(status: ItemStatus, item: JsonObject = this.#start): void {
    const whole = { status, ...item, type: this.#start.type, id: this.#start.id };
    this.#emit({ type: "item.end", index: this.#index, item: whole });
  }
}
