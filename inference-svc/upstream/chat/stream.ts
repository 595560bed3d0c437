/** Reads a chat completion, in chunks or whole, as turn events: a whole message is a delta that says everything. */
import type { Outcome, TurnEvent } from "../../turn/turn.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Target, Translator } from "../dialect.ts";
import { connectionLost, providerFault } from "../failure.ts";
import { writeImage } from "../generated-image.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import { type Emit, type ItemStatus, type MessageWriter, Output, type ReasoningWriter } from "../output.ts";
import { servedTier, wantsLogprobs } from "../served.ts";
import { AlikeChunks } from "./alike.ts";
import { chatCalls } from "./calls.ts";
import { chatError } from "./error.ts";
import { incompleteReason } from "./finish.ts";
import { drawn } from "./images.ts";
import { Sources } from "./sources.ts";
import { thoughtDelta, thoughtPart } from "./thoughts.ts";
import { SentTools } from "../tool-names.ts";
import { chatUsage } from "./usage.ts";

export class ChatTranslator implements Translator {
  readonly #emit: Emit;
  readonly #target: Target;
  readonly #logprobs: boolean;
  /** Sealed reasoning is an output only on request. */
  readonly #sealed: boolean;
  readonly #output: Output;
  readonly #calls: ReturnType<typeof chatCalls>;
  readonly #alike = new AlikeChunks();
  readonly #sources = new Sources();
  /** At most one of the two is open. */
  #message: MessageWriter | undefined;
  #reasoning: ReasoningWriter | undefined;
  /** Format, signature and sealed text of the reasoning that is open. */
  #seal: JsonObject = {};
  #finished = false;
  /** Why the answer is not whole. */
  #reason: Outcome["reason"];
  #usage: Outcome["usage"];
  #tier: unknown;
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#emit = emit;
    this.#target = target;
    this.#logprobs = wantsLogprobs(request);
    this.#sealed = request.include.includes("reasoning.encrypted_content");
    this.#output = new Output(emit);
    this.#calls = chatCalls(this.#output, SentTools.of(request, !target.original));
  }

  get usage(): Outcome["usage"] {
    return this.#usage;
  }

  get finished(): boolean {
    return this.#finished;
  }

  event(name: string | undefined, data: string): void {
    const words = this.#alike.words(data);
    if (words !== undefined) return this.#say(words);
    const chunk = parseObject(data);
    const choice = objects(chunk.choices).find((entry) => (entry.index ?? 0) === 0);
    // "error": null is what some servers write into every chunk; others name the event or the object, and are flat.
    const error = chunk.error ?? choice?.error ?? (name === "error" || chunk.object === "error" ? chunk : undefined);
    if (error !== undefined && error !== null) throw providerFault(chatError(undefined, { error }));
    // Moonshot's stand in the choice.
    this.#usage = chatUsage(chunk.usage) ?? chatUsage(choice?.usage) ?? this.#usage;
    this.#tier = chunk.service_tier ?? this.#tier;
    this.#sources.read(chunk);
    if (choice === undefined) return;
    const delta = isObject(choice.delta) ? choice.delta : choice.message;
    if (isObject(delta)) this.#delta(delta, choice);
    // Not acted on at once: some vendors repeat it in every chunk, and content may still follow.
    if (text(choice.finish_reason) !== "") {
      this.#reason = incompleteReason(text(choice.finish_reason));
      this.#finished = true;
    }
    this.#alike.note(data, chunk);
  }

  #delta(delta: JsonObject, choice: JsonObject): void {
    const reasoning = text(delta.reasoning_content) || text(delta.reasoning);
    if (Array.isArray(delta.reasoning_details)) this.#think(objects(delta.reasoning_details), reasoning);
    else if (reasoning !== "") this.#openReasoning().text(0, reasoning);
    const logprobs = this.#logprobs && isObject(choice.logprobs) ? objects(choice.logprobs.content) : [];
    // A few vendors write parts, and think in one of them.
    for (const [index, part] of objects(delta.content).entries()) {
      const thought = thoughtPart(part);
      if (thought !== "") this.#openReasoning().text(0, thought);
      this.#say(text(part.text), index === 0 ? logprobs : []);
    }
    // What was spoken is given as it was written down: the contract has no sound.
    this.#say(text(delta.content) || (isObject(delta.audio) ? text(delta.audio.transcript) : ""), logprobs);
    const refusal = text(delta.refusal);
    if (refusal !== "") {
      const message = this.#openMessage();
      message.refusal(message.part("refusal"), refusal);
    }
    for (const annotation of objects(delta.annotations)) this.#annotate(annotation);
    for (const image of objects(delta.images)) {
      this.#closeMessage("completed");
      this.#closeReasoning("completed");
      this.#calls.endWhole();
      const result = drawn(image);
      if (result !== "") writeImage(this.#output, result);
    }
    // The form before tool_calls; a few servers still speak it.
    const calls = isObject(delta.function_call) ? [{ index: 0, function: delta.function_call }] : delta.tool_calls;
    for (const call of objects(calls)) {
      this.#closeMessage("completed");
      this.#closeReasoning("completed");
      this.#calls.delta(call);
    }
  }

  #say(content: string, logprobs: readonly JsonObject[] = []): void {
    if (content === "") return;
    const message = this.#openMessage();
    message.text(message.part("output_text"), content, logprobs);
  }

  #think(details: readonly JsonObject[], plain: string): void {
    const { text: said, summary, seal } = thoughtDelta(details, plain, this.#sealed);
    // A seal that comes late has no thought to stand on; sealed text is one by itself.
    if (said === "" && summary === "" && !("encrypted_content" in seal) && !this.#reasoning) return;
    const reasoning = this.#openReasoning();
    if (summary !== "") reasoning.summary(0, summary);
    if (said !== "") reasoning.text(0, said);
    this.#seal = { ...this.#seal, ...seal };
  }

  #annotate(annotation: JsonObject): void {
    if (annotation.type !== "url_citation" || !isObject(annotation.url_citation)) return;
    const message = this.#openMessage();
    message.annotation(message.part("output_text"), { type: "url_citation", title: "", ...annotation.url_citation });
  }

  /** What was found is known in the end only: a message that is over by then cites nothing. */
  #cite(): void {
    const part = this.#message?.parts.at(-1);
    if (!this.#message || part?.type !== "output_text" || part.annotations.length > 0) return;
    const at = this.#message.parts.length - 1;
    for (const annotation of this.#sources.annotations(part.text)) this.#message.annotation(at, annotation);
  }

  #openReasoning(): ReasoningWriter {
    this.#closeMessage("completed");
    this.#calls.endWhole();
    this.#reasoning ??= this.#output.reasoning();
    return this.#reasoning;
  }

  #openMessage(): MessageWriter {
    this.#closeReasoning("completed");
    this.#calls.endWhole();
    this.#message ??= this.#output.message();
    return this.#message;
  }

  #closeMessage(status: ItemStatus): void {
    this.#message?.end(status);
    this.#message = undefined;
  }

  #closeReasoning(status: ItemStatus): void {
    this.#reasoning?.end(status, this.#seal);
    this.#reasoning = undefined;
    this.#seal = {};
  }

  cut(): void {
    this.#finished = true;
    this.#reason = "max_output_tokens";
    this.close();
  }

  close(): void {
    if (this.done) return;
    if (!this.#finished) throw connectionLost();
    const status: ItemStatus = this.#reason === undefined ? "completed" : "incomplete";
    this.#cite();
    this.#closeReasoning(status);
    this.#closeMessage(status);
    this.#calls.end(status);
    this.done = true;
    const outcome: Outcome = {
      status,
      ...(this.#reason && { reason: this.#reason }),
      ...(this.#usage && { usage: this.#usage }),
      serviceTier: servedTier(this.#tier, this.#target),
    };
    this.#emit({ type: "end", outcome });
  }
}
