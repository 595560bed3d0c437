/** Converts a chat completion, in chunks or whole, to turn events. A whole message is read like a single delta. */
import type { TurnRequest } from "../../../turn/request.ts";
import { readDataUrl } from "../../../content/files/data-url.ts";
import type { Outcome, TurnEvent } from "../../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { writeImage } from "../events/generated-image.ts";
import { type Emit, type ItemStatus, remainingText } from "../events/item-writer.ts";
import { type MessageWriter, Output, type ReasoningWriter } from "../events/output.ts";
import { answerEnd } from "../events/answer-end.ts";
import { mergeFigures } from "../events/usage-figures.ts";
import { servedTier, wantsLogprobs } from "../events/service-tier.ts";
import { connectionLost, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import { matchingStop } from "../translate/extensions.ts";
import { openAiForm, plainForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { ChunkTemplate } from "./chunk-template.ts";
import { Citations } from "./citations.ts";
import { chatError, minimaxError } from "./error.ts";
import { readFinishReason } from "./finish-reason.ts";
import { readReasoningDetails, readThinkingPart } from "./reasoning.ts";
import { ChatToolCalls } from "./tool-calls.ts";
import { chatUsage } from "./usage.ts";

export class ChatTranslator implements Translator {
  readonly #stop: TurnRequest["stop"];
  readonly #emit: Emit;
  readonly #target: Target;
  readonly #logprobs: boolean;
  /** Whether encrypted reasoning is returned: always to clients of chat completions, to others on request. */
  readonly #sealed: boolean;
  readonly #output: Output;
  readonly #tools: SentTools;
  /** The tool calls; absent before the first one. */
  #calls: ChatToolCalls | undefined;
  /** Recognizes chunks that differ only in text; absent for a whole answer, which has only one chunk. */
  readonly #alike: ChunkTemplate | undefined;
  /** The citations; absent before the first chunk with sources. */
  #sources: Citations | undefined;
  /** The open message; a message and reasoning are never open at the same time. */
  #message: MessageWriter | undefined;
  #reasoning: ReasoningWriter | undefined;
  /** Format, signature and encrypted text of the open reasoning. */
  #seal: JsonObject | undefined;
  /** Whether the answer has deltas with more than a role, so a whole message only repeats them. */
  #hasDeltas = false;
  /** Whether the answer has had reasoning, and how many annotations and images. */
  #hasThought = false;
  #annotations = 0;
  #images = 0;
  /** The text of all messages before the open one. */
  #textBefore = "";
  #finished = false;
  #stopSequence: string | undefined;
  /** Why the answer is incomplete; undefined for a complete one. */
  #reason: Outcome["reason"];
  #detail: Outcome["detail"];
  #figures: JsonObject | undefined;
  #tier: unknown;
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#stop = request.stop;
    this.#emit = emit;
    this.#target = target;
    this.#logprobs = wantsLogprobs(request);
    this.#sealed = request.door === "chat" || request.include.includes("reasoning.encrypted_content");
    this.#output = new Output(emit);
    this.#tools = SentTools.of(request, target.original ? openAiForm : plainForm);
    this.#alike = request.stream ? new ChunkTemplate() : undefined;
  }

  get usage(): Outcome["usage"] {
    return this.#figures && chatUsage(this.#figures);
  }

  get finished(): boolean {
    return this.#finished;
  }

  event(name: string | undefined, data: string): void {
    const content = this.#alike?.readContent(data);
    if (content !== undefined) {
      this.#hasDeltas ||= content !== "";
      return this.#addText(content);
    }
    const chunk = parseObject(data);
    const choice = firstChoice(chunk.choices);
    // Some servers write "error": null into every chunk; others send a flat error, which only its event or object
    // reveals.
    const error =
      chunk.error ??
      choice?.error ??
      (name === "error" || chunk.object === "error" ? chunk : undefined) ??
      minimaxError(chunk);
    if (error !== undefined && error !== null) throw providerFault(chatError(undefined, { error }));
    // Moonshot reports the usage inside the choice.
    const figures = isObject(chunk.usage) ? chunk.usage : choice?.usage;
    if (isObject(figures)) this.#figures = mergeFigures(this.#figures, figures);
    this.#tier = chunk.service_tier ?? this.#tier;
    if (chunk.citations !== undefined || chunk.search_results !== undefined)
      (this.#sources ??= new Citations()).read(chunk);
    if (choice === undefined) return;
    const delta = this.#saidIn(choice);
    if (delta) this.#delta(delta, choice);
    // The answer is not ended here: some vendors repeat the reason in every chunk, and content may still follow.
    const finish = finishOf(choice);
    if (finish !== "") {
      // vLLM and SGLang name the stop sequence here.
      this.#stopSequence = matchingStop(this.#stop, choice.stop_reason ?? choice.matched_stop);
      const { reason, detail } = readFinishReason(finish);
      this.#reason = reason;
      this.#detail = detail;
      this.#finished = true;
    }
    this.#alike?.note(data, chunk);
  }

  /**
   * The delta or message to read. Perplexity sends an empty delta next to a whole message, and the whole text so far as
   * a message next to each delta. Other servers end their deltas with the whole message, which repeats them, and some
   * send every piece as a message.
   */
  #saidIn({ delta, message }: JsonObject): JsonObject | undefined {
    if (!isObject(delta)) {
      if (!isObject(message)) return undefined;
      return this.#hasDeltas ? this.#restOf(message) : message;
    }
    this.#hasDeltas ||= !isBlank(delta);
    return isObject(message) && this.#output.count === 0 && isBlank(delta) ? message : delta;
  }

  /** The part of a whole message the deltas before it did not contain. */
  #restOf(message: JsonObject): JsonObject {
    if (this.#output.count === 0) return message;
    const said = this.#textBefore + textOf(this.#message);
    const whole =
      text(message.content) ||
      objects(message.content)
        .map((part) => text(part.text))
        .join("");
    const isRepeated = whole === textOf(this.#message);
    const content = isRepeated ? "" : whole.startsWith(said) ? whole.slice(said.length) : whole;
    const { reasoning_content, reasoning, reasoning_details } = message;
    const calls = callsIn(message);
    return {
      ...(!this.#hasThought && { reasoning_content, reasoning, reasoning_details }),
      content,
      // Sources of a text that has ended have no place any more.
      annotations: this.#message || content !== "" ? objects(message.annotations).slice(this.#annotations) : [],
      refusal: remainingText(refusalOf(this.#message), message.refusal),
      images: objects(message.images).slice(this.#images),
      tool_calls: this.#calls ? this.#calls.complete(calls) : calls,
    };
  }

  #delta(delta: JsonObject, choice: JsonObject): void {
    const reasoning = text(delta.reasoning_content) || text(delta.reasoning);
    if (Array.isArray(delta.reasoning_details)) this.#think(objects(delta.reasoning_details), reasoning);
    else if (reasoning !== "") this.#openReasoning().text(0, reasoning);
    const logprobs = this.#logprobs && isObject(choice.logprobs) ? objects(choice.logprobs.content) : undefined;
    if (Array.isArray(delta.content)) this.#sayParts(objects(delta.content), logprobs);
    // A spoken answer is given as its transcript, because turn events have no sound.
    this.#addText(text(delta.content) || (isObject(delta.audio) ? text(delta.audio.transcript) : ""), logprobs);
    // Sources belong to the text of a whole answer, so they are added before its refusal.
    for (const annotation of objects(delta.annotations)) this.#annotate(annotation);
    const refusal = text(delta.refusal);
    if (refusal !== "") {
      const message = this.#openMessage();
      message.refusal(message.part("refusal"), refusal);
    }
    for (const image of objects(delta.images)) this.#draw(image);
    for (const call of callsIn(delta)) this.#call(call);
  }

  #draw(image: JsonObject): void {
    this.#images++;
    this.#closeMessage("completed");
    this.#closeReasoning("completed");
    this.#calls?.endWhole();
    const result = readImage(image);
    if (result !== "") writeImage(this.#output, result);
  }

  #call(call: JsonObject): void {
    this.#closeMessage("completed");
    this.#closeReasoning("completed");
    this.#calls ??= new ChatToolCalls(this.#output, this.#tools);
    this.#calls.delta(call);
  }

  /** Adds content parts, which only a few vendors send, including reasoning. */
  #sayParts(parts: readonly JsonObject[], logprobs: readonly JsonObject[] | undefined): void {
    for (const part of parts) {
      const thought = readThinkingPart(part);
      if (thought !== "") this.#openReasoning().text(0, thought);
      this.#addText(text(part.text), part === parts[0] ? logprobs : undefined);
    }
  }

  #addText(content: string, logprobs?: readonly JsonObject[]): void {
    if (content === "") return;
    const message = this.#openMessage();
    message.text(message.part("output_text"), content, logprobs);
  }

  #think(details: readonly JsonObject[], plain: string): void {
    const { text: content, summary, seal } = readReasoningDetails(details, plain, this.#sealed);
    // A signature that comes late has no reasoning to which it belongs; encrypted text is reasoning by itself.
    if (content === "" && summary === "" && !("encrypted_content" in seal) && !this.#reasoning) return;
    const reasoning = this.#openReasoning(text(seal.format) || undefined);
    if (summary !== "") reasoning.summary(0, summary);
    if (content !== "") reasoning.text(0, content);
    this.#seal = this.#seal ? { ...this.#seal, ...seal } : seal;
  }

  #annotate(annotation: JsonObject): void {
    this.#annotations++;
    if (annotation.type !== "url_citation" || !isObject(annotation.url_citation)) return;
    const message = this.#openMessage();
    message.annotation(message.part("output_text"), { type: "url_citation", title: "", ...annotation.url_citation });
  }

  /** Adds the citations. Sources are complete only at the end, so only a message that is still open gets citations. */
  #cite(sources: Citations): void {
    const part = this.#message?.parts.at(-1);
    if (!this.#message || part?.type !== "output_text" || part.annotations.length > 0) return;
    const at = this.#message.parts.length - 1;
    for (const annotation of sources.annotations(part.text)) this.#message.annotation(at, annotation);
  }

  /** @param format format of the reasoning, as far as it is known */
  #openReasoning(format?: string): ReasoningWriter {
    this.#closeMessage("completed");
    this.#calls?.endWhole();
    this.#hasThought = true;
    this.#reasoning ??= this.#output.reasoning(undefined, format);
    return this.#reasoning;
  }

  #openMessage(): MessageWriter {
    this.#closeReasoning("completed");
    this.#calls?.endWhole();
    this.#message ??= this.#output.message();
    return this.#message;
  }

  #closeMessage(status: ItemStatus): void {
    if (this.#message) this.#textBefore += textOf(this.#message);
    this.#message?.end(status);
    this.#message = undefined;
  }

  #closeReasoning(status: ItemStatus): void {
    this.#reasoning?.end(status, this.#seal);
    this.#reasoning = undefined;
    this.#seal = undefined;
  }

  /** Ends an answer for which the server gave no finish reason. Calls with incomplete arguments were cut, even if the server reports an end. */
  #finishWithoutReason(isWhole: boolean): void {
    if (!isWhole) throw connectionLost();
    if (this.#output.count === 0) throw providerFailed("an answer without content");
    if (this.#calls?.isWhole === false) throw connectionLost();
    this.#finished = true;
  }

  cut(): void {
    this.#finished = true;
    this.#reason = "max_output_tokens";
    this.#detail = "model_context_window_exceeded";
    this.close();
  }

  close(isWhole = false): void {
    if (this.done) return;
    if (!this.#finished) this.#finishWithoutReason(isWhole);
    const status: ItemStatus = this.#reason === undefined ? "completed" : "incomplete";
    if (this.#sources) this.#cite(this.#sources);
    this.#closeReasoning(status);
    this.#closeMessage(status);
    this.#calls?.end(status);
    this.done = true;
    const tier = servedTier(this.#tier, this.#target);
    const final = this.#output.finalStatus(status);
    this.#emit(answerEnd(final, this.#reason, this.usage, tier, this.#stopSequence, this.#detail));
  }
}

/**
 * The calls in a delta. The form before tool_calls, which a few servers still use, counts only if tool_calls is absent:
 * Snowflake sends an empty one next to it.
 */
function callsIn({ tool_calls, function_call }: JsonObject): readonly JsonObject[] {
  const calls = objects(tool_calls);
  return calls.length === 0 && isObject(function_call) ? [{ index: 0, function: function_call }] : calls;
}

const textOf = (message: MessageWriter | undefined): string =>
  message?.parts.map((part) => (part.type === "output_text" ? part.text : "")).join("") ?? "";

const refusalOf = (message: MessageWriter | undefined): string =>
  message?.parts.map((part) => (part.type === "refusal" ? part.refusal : "")).join("") ?? "";

/** Whether a delta has nothing but its role. */
const isBlank = (delta: JsonObject): boolean =>
  Object.entries(delta).every(
    ([name, value]) => name === "role" || (value ?? "") === "" || (Array.isArray(value) && value.length === 0),
  );

/** The choice with index 0; servers may leave the index out. */
function firstChoice(choices: unknown): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined;
  for (const choice of choices as readonly unknown[]) if (isObject(choice) && (choice.index ?? 0) === 0) return choice;
  return undefined;
}

/**
 * An image as base64, or as the URL of an image that is not inline; empty without an image.
 * @param image `{type: "image_url", image_url: {url}}`
 */
function readImage(image: JsonObject): string {
  const url = text(isObject(image.image_url) ? image.image_url.url : image.image_url);
  return readDataUrl(url)?.base64 ?? url;
}

/** The finish reason of a choice. OpenAI's models of 2023 that read pictures have an object instead of the word. */
const finishOf = ({ finish_reason: reason, finish_details: details }: JsonObject): string =>
  text(reason) || (isObject(details) ? text(details.type) : "");
