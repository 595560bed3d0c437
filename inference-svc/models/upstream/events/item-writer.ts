/** Writers of output items other than messages and reasoning: calls whose text streams, and items that come whole. */
import { append } from "@sluice/proto/lib/text/append.js";
import type { OutputItem, TurnEvent } from "../../../turn/turn.ts";
import { type CallText, findCallText, hasCallText } from "../translate/call-text.ts";
import { LoneEscapes, repairEscapes } from "../translate/lone-escapes.ts";
import { providerFailed } from "../failure.ts";
import { type JsonObject, text } from "../json.ts";
import { isCutObject } from "../translate/cut-json.ts";
import { JoinedObjects } from "./joined-objects.ts";

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

/** The answer of a call, as far as its calls concern it. */
interface Calls {
  call(name: string, callId: string | undefined, namespace: string | undefined): CallWriter;
  /** Notes that the arguments of a call break off. */
  noteCut(): void;
}

/** An empty object in front of the arguments. */
const emptyBefore = /^\s*\{\s*\}\s*(?=\{)/;

export class CallWriter {
  readonly #emit: Emit;
  readonly #calls: Calls;
  readonly #index: number;
  readonly #start: OutputItem;
  readonly #place: CallText;
  /** The streamed text of the call so far: JSON arguments, input, a diff, or code. */
  written = "";
  /** The whole text; undefined until the item has ended. */
  #whole: string | undefined;
  /** Repairs escapes of lone surrogates, and separates joined objects; both are absent for texts other than JSON. */
  readonly #escapes: LoneEscapes | undefined;
  #objects: JoinedObjects | undefined;

  constructor(emit: Emit, calls: Calls, index: number, item: OutputItem) {
    this.#emit = emit;
    this.#calls = calls;
    this.#index = index;
    const isJson = item.type === "function_call";
    this.#escapes = isJson ? new LoneEscapes() : undefined;
    this.#objects = isJson ? new JoinedObjects() : undefined;
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

  #add(given: string): void {
    const delta = this.#objects && this.written === "" ? given.replace(emptyBefore, "") : given;
    if (delta === "") return;
    if (this.#whole !== undefined) return requireAlreadySent(this.#whole, delta);
    this.written = append(this.written, delta);
    const own = this.#objects?.read(delta) ?? delta.length;
    if (own === 0) return;
    this.#emit({
      type: "arguments.delta",
      index: this.#index,
      delta: own === delta.length ? delta : delta.slice(0, own),
    });
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

  /**
   * @param final the provider's final item, if there is one
   * @param breaksOff whether a text other than JSON breaks off; JSON shows it by itself
   */
  end(status: ItemStatus, final: JsonObject = {}, breaksOff = false): void {
    const item = { ...this.#start, ...final };
    this.completeAs(item);
    if (this.#escapes) this.#add(this.#escapes.end());
    const whole = this.written === "" && !this.#place.completed;
    const given = whole ? text(this.#place.read(item)) : this.written;
    this.#whole = (this.#escapes ? repairEscapes(given) : given).toWellFormed();
    const [own = "", ...others] = this.#objects?.split(this.#whole) ?? [this.#whole];
    const isCut = breaksOff || (this.#objects?.isOpen === true && isCutObject(this.#whole));
    this.#emit({
      type: "item.end",
      index: this.#index,
      item: {
        ...item,
        ...((!whole || own !== given) && this.#place.write(item, own)),
        status: isCut
          ? "incomplete"
          : ended(this.#start, final, this.#objects?.isWhole === true ? "completed" : status),
        ...identity(this.#start),
      },
    });
    if (isCut) this.#calls.noteCut();
    if (others.length > 0) this.#callAgain(others);
  }

  /** Writes the further calls whose arguments the provider joined to those of this one. */
  #callAgain(others: readonly string[]): void {
    const { name, namespace } = this.#start;
    for (const json of others) this.#calls.call(text(name), undefined, text(namespace) || undefined).#writeWhole(json);
  }

  /** Writes a call of these arguments. They are not separated once more. */
  #writeWhole(json: string): void {
    this.#objects = undefined;
    this.arguments(json);
    this.end("completed", {}, isCutObject(json));
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
