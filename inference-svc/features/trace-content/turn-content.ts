/**
 * Collects the content of one turn, and sets it on the span at the turn's end. Its memory counts towards a limit of the
 * process and of the key.
 */
import type { ContentAttribute, Span } from "@sluice/proto/lib/tracing/span.js";
import type { TurnRequest } from "../../turn/request.ts";
import { StateKey } from "../../turn/turn-state.ts";
import type { OutputItem } from "../../turn/turn.ts";
import { ContentBudget } from "./content-budget.ts";
import { type TracedMessage, type TracedPart, TracedParts } from "./messages.ts";

const mebibyte = 1024 * 1024;
/** Maximum bytes of the content of all running turns, and of the running turns of one key. */
const maxHeldBytes = 64 * mebibyte;
const maxHeldOfKey = 16 * mebibyte;

/** Bytes of content of running turns, by the hash of the key. */
const heldOfKeys = new Map<string, number>();
let heldBytes = 0;

export interface TurnContentOptions {
  readonly span: Span;
  readonly keyHash: string;
  /** Maximum bytes of the instructions, of the input messages and of the answer, each. */
  readonly maxBytes: number;
}

export class TurnContent {
  readonly #options: TurnContentOptions;
  readonly #texts = new Map<ContentAttribute, string>();
  readonly #answer: ContentBudget;
  readonly #parts: TracedPart[] = [];
  #isCut = false;
  #bytes = 0;
  #isOver = false;

  constructor(options: TurnContentOptions) {
    this.#options = options;
    this.#answer = new ContentBudget(options.maxBytes);
    this.#answer.takeMessage();
  }

  /** Notes the request. The last messages are kept first if not all of them fit. */
  takeRequest({ instructions, input }: TurnRequest): void {
    const budget = new ContentBudget(this.#options.maxBytes);
    const parts = new TracedParts(budget);
    const messages: TracedMessage[] = [];
    for (let at = input.length - 1; at >= 0; at--) {
      const message = parts.message(input[at] as TurnRequest["input"][number]);
      if (message === undefined) break;
      messages.unshift(message);
    }
    this.#keep("gen_ai.input.messages", messages, budget);
    if (instructions === undefined) return;
    const room = new ContentBudget(this.#options.maxBytes);
    this.#keep("gen_ai.system_instructions", new TracedParts(room).text(instructions), room);
  }

  takeItem(item: OutputItem): void {
    if (this.#isOver) return;
    const before = this.#answer.taken;
    this.#parts.push(...new TracedParts(this.#answer).ofAnswer(item));
    this.#hold(this.#answer.taken - before);
  }

  /** Whether the answer calls a tool. */
  get callsTool(): boolean {
    return this.#parts.some(({ type }) => type === "tool_call");
  }

  /** Sets the content on the span. Only the first call has an effect. @param isRefused leaves out the request */
  end(reason: string, isRefused: boolean): void {
    if (this.#isOver) return;
    const { span } = this.#options;
    const message: TracedMessage = { role: "assistant", parts: this.#parts, finish_reason: reason };
    if (!isRefused) for (const [name, json] of this.#texts) span.setContent(name, json);
    span.setContent("gen_ai.output.messages", JSON.stringify([message]));
    if (this.#isCut || this.#answer.isCut) span.set({ "sluice.content_is_cut": true });
    this.#release();
  }

  #keep(name: ContentAttribute, value: object, { isCut }: ContentBudget): void {
    if (this.#isOver) return;
    const json = JSON.stringify(value);
    this.#texts.set(name, json);
    this.#isCut ||= isCut;
    this.#hold(Buffer.byteLength(json));
  }

  /** Counts the bytes, or drops the content of the turn when the limit is reached. */
  #hold(bytes: number): void {
    const { keyHash, span } = this.#options;
    const ofKey = heldOfKeys.get(keyHash) ?? 0;
    if (heldBytes + bytes > maxHeldBytes || ofKey + bytes > maxHeldOfKey) {
      span.dropContent();
      this.#release();
      return;
    }
    heldBytes += bytes;
    this.#bytes += bytes;
    heldOfKeys.set(keyHash, ofKey + bytes);
  }

  #release(): void {
    const { keyHash } = this.#options;
    this.#isOver = true;
    this.#texts.clear();
    this.#parts.length = 0;
    heldBytes -= this.#bytes;
    const left = (heldOfKeys.get(keyHash) ?? 0) - this.#bytes;
    if (left > 0) heldOfKeys.set(keyHash, left);
    else heldOfKeys.delete(keyHash);
    this.#bytes = 0;
  }
}

/** The content of a turn, passed from the outer layer to the inner one; empty for a turn without content. */
export const turnContent = new StateKey((): { content?: TurnContent } => ({}));
