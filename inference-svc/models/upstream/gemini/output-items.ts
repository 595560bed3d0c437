/** Converts the parts of a Gemini answer to output items. */
import type { TurnRequest } from "../../../turn/request.ts";
import { writeImage } from "../events/generated-image.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import type { Emit, ItemStatus } from "../events/item-writer.ts";
import { type MessageWriter, Output, type ReasoningWriter } from "../events/output.ts";
import { geminiForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { sealReasoning, signedFields } from "../translate/reasoning-seal.ts";
import { WrappedInput } from "../translate/wrapped-input.ts";
import type { Grounding } from "./citations.ts";
import { geminiReasoningFormat } from "./reasoning.ts";

export class GeminiOutputItems {
  readonly #output: Output;
  readonly #tools: SentTools;
  readonly #grounding: Grounding;
  /** Whether the client requested encrypted reasoning. */
  readonly #sealed: boolean;
  readonly #sources: boolean;
  /** The open message; a message and reasoning are never open at the same time. */
  #message: MessageWriter | undefined;
  #reasoning: ReasoningWriter | undefined;
  /** Signature of the open text; empty when it has none. */
  #signature = "";
  /** Whether the answer has anything other than reasoning: a text, a call or a picture. */
  says = false;

  constructor(request: TurnRequest, grounding: Grounding, emit: Emit) {
    this.#output = new Output(emit);
    this.#tools = SentTools.of(request, geminiForm);
    this.#grounding = grounding;
    this.#sealed = request.include.includes("reasoning.encrypted_content");
    this.#sources = request.include.includes("web_search_call.action.sources");
  }

  /** Number of items begun so far. */
  get count(): number {
    return this.#output.count;
  }

  /**
   * Reads a part. @param argumentsJson arguments, if the part is a call
   * @param logprobs log probabilities, if the part is a text
   */
  read(part: JsonObject, argumentsJson: string, logprobs: readonly JsonObject[]): void {
    const signature = text(part.thoughtSignature);
    if (part.thought === true) this.#think(text(part.text), signature);
    else if (isObject(part.functionCall)) {
      // A call without a name is a piece of streamed arguments, which Sluice never requests.
      if (text(part.functionCall.name) !== "") this.#call(part.functionCall, argumentsJson, signature);
    } else if (isObject(part.inlineData)) this.#draw(part.inlineData);
    else if (typeof part.text === "string") this.#addText(part.text, logprobs, signature);
  }

  end(status: ItemStatus): void {
    this.#closeReasoning(status, "");
    this.#cite();
    this.#closeMessage(status);
    this.#grounding.write(this.#output, this.#sources);
  }

  #think(words: string, signature: string): void {
    if (words === "" && signature === "") return;
    this.#closeMessage("completed");
    this.#reasoning ??= this.#output.reasoning(undefined, geminiReasoningFormat);
    if (words !== "") this.#reasoning.summary(0, words);
    if (signature !== "") this.#closeReasoning("completed", signature);
  }

  #addText(words: string, logprobs: readonly JsonObject[], signature: string): void {
    if (words === "" && signature === "") return;
    // Gemini puts the signature of reasoning on the part that follows it.
    if (this.#reasoning) this.#closeReasoning("completed", signature);
    else if (signature !== "") this.#signature = signature;
    if (words === "") return;
    this.says = true;
    this.#message ??= this.#output.message();
    this.#message.text(this.#message.part("output_text"), words, logprobs);
  }

  /** Writes a call. Its item has the client's name of the tool; for a tool that was never offered, the model's name. */
  #call(call: JsonObject, argumentsJson: string, signature: string): void {
    this.says = true;
    this.#closeMessage("completed");
    // The signature must be sent back with the call, so a reasoning item is needed to carry it.
    if (signature !== "") this.#reasoning ??= this.#output.reasoning(undefined, geminiReasoningFormat);
    this.#closeReasoning("completed", signature);
    const called = this.#tools.findBySentName(text(call.name));
    const name = called?.tool.name ?? text(call.name);
    const id = text(call.id) || undefined;
    const namespace = called?.namespace?.name;
    const custom = called?.wrapped === true;
    const writer = custom ? this.#output.customCall(name, id, namespace) : this.#output.call(name, id, namespace);
    writer.arguments(custom ? unwrapped(argumentsJson) : argumentsJson);
    writer.end("completed");
  }

  #draw({ mimeType, data }: JsonObject): void {
    if (!text(mimeType).startsWith("image/")) return;
    this.says = true;
    this.#closeReasoning("completed", "");
    this.#closeMessage("completed");
    writeImage(this.#output, text(data));
  }

  /** Adds the citations. Sources are complete only at the end, so only a message that is still open then gets citations. */
  #cite(): void {
    const part = this.#message?.parts[0];
    if (part?.type !== "output_text") return;
    for (const annotation of this.#grounding.annotations(part.text)) this.#message?.annotation(0, annotation);
  }

  #closeReasoning(status: ItemStatus, signature: string): void {
    this.#reasoning?.end(status, signedFields(geminiReasoningFormat, signature, this.#sealed));
    this.#reasoning = undefined;
  }

  #closeMessage(status: ItemStatus): void {
    this.#message?.end(status);
    this.#message = undefined;
    if (this.#signature !== "" && this.#sealed) {
      const encrypted_content = sealReasoning(geminiReasoningFormat, { signature: this.#signature });
      this.#output
        .reasoning(undefined, geminiReasoningFormat)
        .end("completed", { encrypted_content, format: geminiReasoningFormat });
    }
    this.#signature = "";
  }
}

function unwrapped(json: string): string {
  const wrapped = new WrappedInput();
  return wrapped.read(json) + wrapped.finish();
}
