/** The parts of an answer, one after the other, as the items that they are in a response. */
import type { TurnRequest } from "../../turn/request.ts";
import { writeImage } from "../generated-image.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { type Emit, type ItemStatus, type MessageWriter, Output, type ReasoningWriter } from "../output.ts";
import { SentTools } from "../tool-names.ts";
import { WrappedInput } from "../wrapped-input.ts";
import type { Grounding } from "./grounding.ts";
import { thoughtFormat } from "./thoughts.ts";

export class AnswerParts {
  readonly #output: Output;
  readonly #tools: SentTools;
  readonly #grounding: Grounding;
  /** Sealed reasoning is an output only on request. */
  readonly #sealed: boolean;
  readonly #sources: boolean;
  /** At most one of the two is open. */
  #message: MessageWriter | undefined;
  #reasoning: ReasoningWriter | undefined;
  /** Of the text that is open. */
  #signature = "";

  constructor(request: TurnRequest, grounding: Grounding, emit: Emit) {
    this.#output = new Output(emit);
    this.#tools = SentTools.of(request, true);
    this.#grounding = grounding;
    this.#sealed = request.include.includes("reasoning.encrypted_content");
    this.#sources = request.include.includes("web_search_call.action.sources");
  }

  /**
   * @param argumentsJson of a call
   * @param logprobs of a text
   */
  read(part: JsonObject, argumentsJson: string, logprobs: readonly JsonObject[]): void {
    const signature = text(part.thoughtSignature);
    if (part.thought === true) this.#think(text(part.text), signature);
    else if (isObject(part.functionCall)) this.#call(part.functionCall, argumentsJson, signature);
    else if (isObject(part.inlineData)) this.#draw(part.inlineData);
    else if (typeof part.text === "string") this.#say(part.text, logprobs, signature);
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
    this.#reasoning ??= this.#output.reasoning();
    if (words !== "") this.#reasoning.summary(0, words);
    if (signature !== "") this.#closeReasoning("completed", signature);
  }

  #say(words: string, logprobs: readonly JsonObject[], signature: string): void {
    if (words === "" && signature === "") return;
    // The signature of thoughts stands on what comes after them.
    if (this.#reasoning) this.#closeReasoning("completed", signature);
    else if (signature !== "") this.#signature = signature;
    if (words === "") return;
    this.#message ??= this.#output.message();
    this.#message.text(this.#message.part("output_text"), words, logprobs);
  }

  /** Under the name that the client gave the tool; what nobody offered keeps the name by which the model calls it. */
  #call(call: JsonObject, argumentsJson: string, signature: string): void {
    this.#closeMessage("completed");
    // Without it the provider would not take the call back.
    if (signature !== "") this.#reasoning ??= this.#output.reasoning();
    this.#closeReasoning("completed", signature);
    const called = this.#tools.called(text(call.name));
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
    this.#closeReasoning("completed", "");
    this.#closeMessage("completed");
    writeImage(this.#output, text(data));
  }

  /** What was found is known in the end only: a message that is over by then cites nothing. */
  #cite(): void {
    const part = this.#message?.parts[0];
    if (part?.type !== "output_text") return;
    for (const annotation of this.#grounding.annotations(part.text)) this.#message?.annotation(0, annotation);
  }

  #closeReasoning(status: ItemStatus, signature: string): void {
    this.#reasoning?.end(status, { format: thoughtFormat, signature: signature || null });
    this.#reasoning = undefined;
  }

  #closeMessage(status: ItemStatus): void {
    this.#message?.end(status);
    this.#message = undefined;
    if (this.#signature !== "" && this.#sealed) {
      this.#output.reasoning().end("completed", { encrypted_content: this.#signature, format: thoughtFormat });
    }
    this.#signature = "";
  }
}

function unwrapped(json: string): string {
  const wrapped = new WrappedInput();
  return wrapped.read(json === "{}" ? '{"input":""}' : json) + wrapped.finish();
}
