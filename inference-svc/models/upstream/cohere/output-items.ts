/** Converts the content, the plan and the calls of a Cohere answer to output items. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Emit, ItemStatus } from "../events/item-writer.ts";
import { type MessageWriter, Output, type ReasoningWriter } from "../events/output.ts";
import { providerFailed } from "../failure.ts";
import { type JsonObject, text } from "../json.ts";
import { cohereForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { CohereCitations } from "./citations.ts";
import { CohereToolCall } from "./tool-calls.ts";

export class CohereOutputItems {
  readonly #output: Output;
  readonly #tools: SentTools;
  readonly #citations = new CohereCitations();
  /** The open message; of message, reasoning and call, only one is open at a time. */
  #message: MessageWriter | undefined;
  #reasoning: ReasoningWriter | undefined;
  #call: CohereToolCall | undefined;
  /** Index of the content block with the open reasoning. */
  #thoughtIndex: unknown;

  constructor(request: TurnRequest, emit: Emit) {
    this.#output = new Output(emit);
    this.#tools = SentTools.of(request, cohereForm);
  }

  /**
   * Reads a content block, or a delta of one. Each has either reasoning or text; empty blocks give no items.
   * @param index index of the block
   */
  content({ thinking, text: content }: JsonObject, index: unknown): void {
    if (text(thinking) !== "") this.#think(text(thinking), index);
    this.addText(text(content), index);
  }

  /**
   * Adds text. Consecutive texts are one message. A plan counts as text: it explains the purpose of the calls to users.
   * @param block index of the content block; undefined for the plan
   */
  addText(words: string, block?: unknown): void {
    if (words === "") return;
    if (!this.#message) this.#close("completed");
    this.#message ??= this.#output.message();
    const part = this.#message.part("output_text");
    if (block !== undefined) this.#citations.begin(block);
    this.#message.text(part, words);
    this.#citations.add(words);
  }

  /** Adds a citation, which comes after the text to which it refers. */
  cite(citation: unknown): void {
    if (this.#message) this.#citations.read(citation);
  }

  beginCall(call: JsonObject, index: unknown): void {
    this.#close("completed");
    this.#call = new CohereToolCall(call, index, this.#output, this.#tools);
  }

  /** Adds a piece of a call's arguments. @throws Fault when another item has followed the call, or when the call never began */
  callDelta(piece: JsonObject, index: unknown): void {
    if (!this.#call || this.#call.index !== index) throw providerFailed("a delta of a call that is not open");
    this.#call.read(piece);
  }

  endCall(index: unknown): void {
    if (this.#call?.index === index) this.#call?.finish();
  }

  /** @returns the status of the answer */
  end(status: ItemStatus): ItemStatus {
    this.#close(status);
    return this.#output.finalStatus(status);
  }

  #think(words: string, index: unknown): void {
    if (!this.#reasoning || index !== this.#thoughtIndex) this.#close("completed");
    this.#reasoning ??= this.#output.reasoning();
    this.#thoughtIndex = index;
    this.#reasoning.text(0, words);
  }

  #close(status: ItemStatus): void {
    this.#reasoning?.end(status);
    this.#call?.end(status);
    if (this.#message) this.#closeMessage(this.#message, status);
    this.#reasoning = undefined;
    this.#call = undefined;
    this.#message = undefined;
  }

  /** Closes a message, and then emits the annotations: Cohere may cite a text after its end. */
  #closeMessage(message: MessageWriter, status: ItemStatus): void {
    for (const annotation of this.#citations.take(textOf(message))) message.annotation(0, annotation);
    message.end(status);
  }
}

function textOf({ parts: [part] }: MessageWriter): string {
  return part?.type === "output_text" ? part.text : "";
}
