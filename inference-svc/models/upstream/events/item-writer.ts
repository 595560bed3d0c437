/** Writers of output items other than messages and reasoning: calls whose text streams, and items that come whole. */
import { append } from "@sluice/proto/lib/text/append.js";
import type { OutputItem, TurnEvent } from "../../../turn/turn.ts";
import { type CallText, findCallText, hasCallText } from "../translate/call-text.ts";
import { LoneEscapes, repairEscapes } from "../translate/lone-escapes.ts";
import { providerFailed } from "../failure.ts";
import { type JsonObject, text } from "../json.ts";

export type Emit = (event: TurnEvent) => void;
export type ItemStatus = "completed" | "incomplete";

/** Final status of an item. @param status status to use when the provider gave none */
function ended(start: OutputItem, final: JsonObject, status: ItemStatus): string {
  // Servers forget to update the status of calls; a tool that is still running keeps its status.
  const forgotten = final.status === "in_progress" && hasCallText(start.type);
  if (typeof final.status === "string" && !forgotten) return final.status;
  // `apply_patch_call` has no status "incomplete".
  return start.type === "apply_patch_call" && status === "incomplete" ? "in_progress" : status;
}

/** The fields that identify an item to clients, which stay as they were announced. */
const identity = ({ type, id, call_id, name }: OutputItem): JsonObject => ({
  type,
  id,
  ...(call_id !== undefined && { call_id }),
  ...(name !== undefined && { name }),
});

/** The part of the whole text that is not streamed yet; empty when the whole text contradicts the deltas. */
export const remainingText = (written: string, whole: unknown): string =>
  typeof whole === "string" && whole.startsWith(written) ? whole.slice(written.length) : "";

/**
 * Checks a late delta of a text that is already complete for clients and guardrails. A repetition is harmless.
 * @throws Fault for new text, which can no longer be delivered
 */
export function requireAlreadySent(written: string, late: string): void {
  if (!written.includes(late)) throw providerFailed("a text that goes on behind its end");
}

export class CallWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #start: OutputItem;
  readonly #place: CallText;
  /** The streamed text of the call so far: JSON arguments, input, a diff, or code. */
  written = "";
  /** The whole text; undefined until the item has ended. */
  #whole: string | undefined;
  /** Repairs escapes of lone surrogates in JSON; absent for other texts. */
  readonly #escapes: LoneEscapes | undefined;

  constructor(emit: Emit, index: number, item: OutputItem) {
    this.#emit = emit;
    this.#index = index;
    this.#escapes = item.type === "function_call" ? new LoneEscapes() : undefined;
    this.#place = findCallText(item);
    // Some providers announce an item as completed, but for clients it only begins.
    this.#start = { ...item, status: "in_progress" };
    emit({ type: "item.start", index, item: { ...this.#start, ...this.#place.write(item, "") } });
  }

  /** The text so far, with the beginning of an escape held back. */
  get received(): string {
    return this.written + (this.#escapes?.held ?? "");
  }

  /** Adds a delta of the call's text. */
  arguments(delta: string): void {
    this.#add(this.#escapes ? this.#escapes.read(delta) : delta);
  }

  #add(delta: string): void {
    if (delta === "") return;
    if (this.#whole !== undefined) return requireAlreadySent(this.#whole, delta);
    this.written = append(this.written, delta);
    this.#emit({ type: "arguments.delta", index: this.#index, delta });
  }

  /** Adds what is missing of the whole text, as a delta. */
  complete(whole: unknown): void {
    if (this.received === "" && !this.#place.completed) return;
    // A repaired escape is as long as the given one.
    const isBegun = this.#escapes && typeof whole === "string" && repairEscapes(whole).startsWith(this.written);
    const given = isBegun ? this.written + whole.slice(this.written.length) : whole;
    this.arguments(remainingText(this.received, given));
  }

  /** Adds what is missing of the text in the final item. */
  completeAs(item: JsonObject): void {
    this.complete(this.#place.read(item));
  }

  /** @param final the provider's final item, if there is one */
  end(status: ItemStatus, final: JsonObject = {}): void {
    const item = { ...this.#start, ...final };
    this.completeAs(item);
    if (this.#escapes) this.#add(this.#escapes.end());
    const whole = this.written === "" && !this.#place.completed;
    const given = whole ? text(this.#place.read(item)) : this.written;
    this.#whole = (this.#escapes ? repairEscapes(given) : given).toWellFormed();
    this.#emit({
      type: "item.end",
      index: this.#index,
      item: {
        ...item,
        ...((!whole || this.#whole !== given) && this.#place.write(item, this.#whole)),
        status: ended(this.#start, final, status),
        ...identity(this.#start),
      },
    });
  }
}

export class WholeItemWriter {
  readonly #emit: Emit;
  readonly #index: number;
  readonly #start: OutputItem;

  constructor(emit: Emit, index: number, item: OutputItem) {
    this.#emit = emit;
    this.#index = index;
    // Some providers announce an item as completed, but for clients it only begins.
    this.#start = { ...item, status: "in_progress" };
    emit({ type: "item.start", index, item: this.#start });
  }

  /** @param final the provider's final item, if there is one */
  end(status: ItemStatus, final: JsonObject = {}): void {
    const item = {
      ...this.#start,
      ...final,
      status: ended(this.#start, final, status),
      ...identity(this.#start),
    } as OutputItem;
    this.#emit({ type: "item.end", index: this.#index, item });
  }
}
