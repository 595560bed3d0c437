/**
 * One output item while it streams: its parts open, grow and close, and what was delivered is kept for the case of a failure.
 *
 * What comes too late, for a part or a text that is closed, is not shown: the item says it in the end.
 */
import type { Annotation, TextDelta } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { type CallText, type ItemJson, callTexts, unfinishedStatus } from "./call-text.ts";
import {
  type Part,
  type PartKind,
  isPartKind,
  openPart,
  partStem,
  partValue,
  partsIn,
  textDone,
  textIn,
  textStem,
} from "./part.ts";

/** Writes one event: its type, and the payload members without braces. */
export type Emit = (type: string, payload: string) => void;

export class OpenItem {
  readonly #index: number;
  readonly #startJson: string;
  readonly #item: ItemJson;
  readonly #emit: Emit;
  /** `"item_id":...,"output_index":...`, the beginning of most payloads. */
  readonly #address: string;
  readonly #parts: Part[] = [];
  #open: Part | undefined;
  /** The text that a call of this type carries. */
  readonly #call: CallText | undefined;
  #callText = "";
  #callDone = false;

  constructor(index: number, itemJson: Uint8Array, emit: Emit) {
    this.#index = index;
    this.#startJson = Buffer.from(itemJson).toString();
    this.#item = JSON.parse(this.#startJson) as ItemJson;
    this.#emit = emit;
    this.#address = `"item_id":${JSON.stringify(this.#item.id)},"output_index":${index}`;
    this.#call = callTexts.get(this.#item.type);
  }

  added(): void {
    this.#emit("response.output_item.added", `"output_index":${this.#index},"item":${this.#startJson}`);
  }

  /** A delta of an output_text part. */
  text({ part: index, delta, logprobsJson }: TextDelta): void {
    const part = this.#part("output_text", index);
    if (!part) return;
    part.text += delta;
    let logprobs = "[]";
    if (logprobsJson.length > 0) {
      logprobs = Buffer.from(logprobsJson).toString();
      part.logprobs.push(...(JSON.parse(logprobs) as unknown[]));
    }
    this.#emit(
      "response.output_text.delta",
      `${part.position},"delta":${JSON.stringify(delta)},"logprobs":${logprobs}`,
    );
  }

  /** A delta of any other kind of part. */
  delta(kind: PartKind, index: number, delta: string): void {
    const part = this.#part(kind, index);
    if (!part) return;
    part.text += delta;
    this.#emit(`${textStem[kind]}.delta`, `${part.position},"delta":${JSON.stringify(delta)}`);
  }

  /** A delta of the text that a call carries. */
  callDelta(delta: string): void {
    if (!this.#call || this.#callDone || delta === "") return;
    this.#callText += delta;
    this.#emit(this.#call.delta, `${this.#address},"delta":${JSON.stringify(delta)}`);
  }

  annotation({ part: index, annotationJson }: Annotation): void {
    const part = this.#part("output_text", index);
    if (!part) return;
    const json = Buffer.from(annotationJson).toString();
    const position = part.annotations.push(JSON.parse(json)) - 1;
    this.#emit(
      "response.output_text.annotation.added",
      `${part.position},"annotation_index":${position},"annotation":${json}`,
    );
  }

  /** @param members of the payload beyond the address, without braces */
  native(type: string, members: string): void {
    // A call that is being run has said all that it carries.
    if (this.#callText !== "" && !type.endsWith(".in_progress")) this.#closeCall();
    this.#emit(type, members === "" ? this.#address : `${this.#address},${members}`);
  }

  /** The item is whole: whatever of it has not been shown yet is shown now. */
  done(itemJson: Uint8Array): void {
    const json = Buffer.from(itemJson).toString();
    const item = JSON.parse(json) as ItemJson;
    for (const [index, part] of partsIn(item, "summary").entries()) this.#complete("summary_text", index, textIn(part));
    for (const [index, part] of partsIn(item, "content").entries()) {
      if (isPartKind(part["type"])) this.#complete(part["type"], index, textIn(part));
      else this.#whole(index, JSON.stringify(part));
    }
    this.#close();
    if (this.#call) this.#completeCall(this.#call, item);
    this.#emit("response.output_item.done", `"output_index":${this.#index},"item":${json}`);
  }

  /** What was delivered of an item that will never be whole. */
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
    this.#emit(done, `${this.#address}${named},"${member}":${JSON.stringify(this.#callText)}`);
  }

  #complete(kind: PartKind, index: number, whole: string): void {
    const part = this.#part(kind, index);
    const delta = part ? rest(part.text, whole) : "";
    if (delta === "") return;
    if (kind !== "output_text") return this.delta(kind, index, delta);
    const $typeName = "sluice.inference.v1.TextDelta";
    this.text({ $typeName, index: this.#index, part: index, delta, logprobsJson: new Uint8Array() });
  }

  /** A part of a kind that has no events of its own. */
  #whole(index: number, json: string): void {
    if (index < this.#siblings("output_text")) return;
    this.#close();
    const part = openPart("output_text", index, this.#address);
    this.#parts.push(part);
    this.#emit("response.content_part.added", `${part.position},"part":${json}`);
    this.#emit("response.content_part.done", `${part.position},"part":${json}`);
  }

  #siblings(kind: PartKind): number {
    return this.#parts.filter((part) => (part.kind === "summary_text") === (kind === "summary_text")).length;
  }

  /** The part that takes the delta; another one that was open is closed first. Undefined when it is closed itself. */
  #part(kind: PartKind, index: number): Part | undefined {
    const open = this.#open;
    if (open && open.kind === kind && open.index === index) return open;
    const siblings = this.#siblings(kind);
    if (index < siblings) return undefined;
    // Clients append a part at "added" and find it by its number afterwards: an empty one that was left out has to be there.
    for (let number = siblings; number <= index; number++) this.#begin(openPart(kind, number, this.#address));
    return this.#open;
  }

  #begin(part: Part): void {
    this.#close();
    this.#parts.push(part);
    this.#open = part;
    this.#emit(`${partStem(part.kind)}.added`, `${part.position},"part":${JSON.stringify(partValue(part))}`);
  }

  #close(): void {
    const part = this.#open;
    if (!part) return;
    this.#open = undefined;
    this.#emit(`${textStem[part.kind]}.done`, textDone(part));
    this.#emit(`${partStem(part.kind)}.done`, `${part.position},"part":${JSON.stringify(partValue(part))}`);
  }
}

/** What the whole says beyond what was shown; nothing when it says something else. */
const rest = (shown: string, whole: string): string => (whole.startsWith(shown) ? whole.slice(shown.length) : "");
