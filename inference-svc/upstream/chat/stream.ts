/** Reads a chat completion, in chunks or whole, as turn events: a whole message is a delta that says everything. */
import type { Outcome, TurnEvent } from "../../turn/turn.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Target, Translator } from "../dialect.ts";
import { connectionLost, providerFailed, providerFault } from "../failure.ts";
import { writeImage } from "../generated-image.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import { type Emit, type ItemStatus, type MessageWriter, Output, type ReasoningWriter } from "../output.ts";
import { servedTier, wantsLogprobs } from "../served.ts";
import { chatCalls } from "./calls.ts";
import { chatError } from "./error.ts";
import { drawn } from "./images.ts";
import { thoughtDelta } from "./thoughts.ts";
import { SentTools } from "../tool-names.ts";
import { chatUsage } from "./usage.ts";

const limitReasons: ReadonlySet<string> = new Set(["length", "max_tokens", "max_output_tokens"]);

export class ChatTranslator implements Translator {
  readonly #emit: Emit;
  readonly #target: Target;
  readonly #logprobs: boolean;
  /** Sealed reasoning is an output only on request. */
  readonly #sealed: boolean;
  readonly #output: Output;
  readonly #calls: ReturnType<typeof chatCalls>;
  /** At most one of the two is open. */
  #message: MessageWriter | undefined;
  #reasoning: ReasoningWriter | undefined;
  /** Format, signature and sealed text of the reasoning that is open. */
  #seal: JsonObject = {};
  #finishReason: string | undefined;
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
    return this.#finishReason !== undefined;
  }

  event(_name: string | undefined, data: string): void {
    const chunk = parseObject(data);
    const choice = objects(chunk.choices).find((entry) => (entry.index ?? 0) === 0);
    const error = chunk.error ?? choice?.error;
    // "error": null is what some servers write into every chunk.
    if (error !== undefined && error !== null) throw providerFault(chatError(undefined, { error }));
    this.#usage = chatUsage(chunk.usage) ?? this.#usage;
    this.#tier = chunk.service_tier ?? this.#tier;
    if (choice === undefined) return;
    const delta = isObject(choice.delta) ? choice.delta : choice.message;
    if (isObject(delta)) this.#delta(delta, choice);
    // Not acted on at once: some vendors repeat it in every chunk, and content may still follow.
    if (typeof choice.finish_reason === "string" && choice.finish_reason !== "") this.#finish(choice.finish_reason);
  }

  #finish(reason: string): void {
    if (reason === "error") throw providerFailed("finish_reason error");
    this.#finishReason = reason;
  }

  #delta(delta: JsonObject, choice: JsonObject): void {
    const reasoning = text(delta.reasoning_content) || text(delta.reasoning);
    if (Array.isArray(delta.reasoning_details)) this.#think(objects(delta.reasoning_details), reasoning);
    else if (reasoning !== "") this.#openReasoning().text(0, reasoning);
    // What was spoken is given as it was written down: the contract has no sound.
    const content = contentText(delta.content) || (isObject(delta.audio) ? text(delta.audio.transcript) : "");
    if (content !== "") {
      const message = this.#openMessage();
      const logprobs = this.#logprobs && isObject(choice.logprobs) ? objects(choice.logprobs.content) : [];
      message.text(message.part("output_text"), content, logprobs);
    }
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

  close(): void {
    if (this.done) return;
    if (this.#finishReason === undefined) throw connectionLost();
    const filtered = this.#finishReason === "content_filter";
    const status: ItemStatus = filtered || limitReasons.has(this.#finishReason) ? "incomplete" : "completed";
    this.#closeReasoning(status);
    this.#closeMessage(status);
    this.#calls.end(status);
    this.done = true;
    const outcome: Outcome = {
      status,
      ...(status === "incomplete" && { reason: filtered ? "content_filter" : "max_output_tokens" }),
      ...(this.#usage && { usage: this.#usage }),
      serviceTier: servedTier(this.#tier, this.#target),
    };
    this.#emit({ type: "end", outcome });
  }
}

/** A string, or with a few vendors an array of text parts. */
function contentText(content: unknown): string {
  if (!Array.isArray(content)) return text(content);
  return objects(content)
    .map((part) => text(part.text))
    .join("");
}
