/** Reads a chat completion, in chunks or whole, as turn events. A whole message is read like a single delta. */
import type { TurnRequest } from "../../../turn/request.ts";
import { readDataUrl } from "../../../content/files/data-url.ts";
import type { Outcome, TurnEvent } from "../../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { writeImage } from "../events/generated-image.ts";
import type { Emit, ItemStatus } from "../events/item-writer.ts";
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
  /** Sealed reasoning is returned in the format of its server, and elsewhere on request. */
  readonly #sealed: boolean;
  readonly #output: Output;
  readonly #tools: SentTools;
  /** Absent before the first tool call. */
  #calls: ChatToolCalls | undefined;
  /** Absent for a whole answer: it has only one chunk. */
  readonly #alike: ChunkTemplate | undefined;
  /** Absent before the first chunk with sources. */
  #sources: Citations | undefined;
  /** Either a message or reasoning is open, never both. */
  #message: MessageWriter | undefined;
  #reasoning: ReasoningWriter | undefined;
  /** Format, signature and sealed text of the open reasoning. */
  #seal: JsonObject | undefined;
  /** Whether the answer comes in deltas with more than a role, so that a message is the whole of them. */
  #hasDeltas = false;
  /** The text of the messages before the open one. */
  #textBefore = "";
  #finished = false;
  #stopSequence: string | undefined;
  /** The reason for an incomplete answer. */
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
    // Some servers write "error": null into every chunk; others send a flat error, recognized only by its event or object.
    const error =
      chunk.error ??
      choice?.error ??
      (name === "error" || chunk.object === "error" ? chunk : undefined) ??
      minimaxError(chunk);
    if (error !== undefined && error !== null) throw providerFault(chatError(undefined, { error }));
    // Moonshot reports usage inside the choice.
    const figures = isObject(chunk.usage) ? chunk.usage : choice?.usage;
    if (isObject(figures)) this.#figures = mergeFigures(this.#figures, figures);
    this.#tier = chunk.service_tier ?? this.#tier;
    if (chunk.citations !== undefined || chunk.search_results !== undefined)
      (this.#sources ??= new Citations()).read(chunk);
    if (choice === undefined) return;
    const delta = this.#saidIn(choice);
    if (delta) this.#delta(delta, choice);
    // The end is not handled here: some vendors repeat the reason in every chunk, and content may still follow.
    const finish = finishOf(choice);
    if (finish !== "") {
      // vLLM and SGLang name the text here.
      this.#stopSequence = matchingStop(this.#stop, choice.stop_reason ?? choice.matched_stop);
      const { reason, detail } = readFinishReason(finish);
      this.#reason = reason;
      this.#detail = detail;
      this.#finished = true;
    }
    this.#alike?.note(data, chunk);
  }

  /**
   * Perplexity writes an empty delta next to a whole message, and the whole text so far as a message next to each delta. Other servers
   * end their deltas with the whole message, which repeats them, and some write every piece as a message.
   */
  #saidIn({ delta, message }: JsonObject): JsonObject | undefined {
    if (!isObject(delta)) {
      if (!isObject(message)) return undefined;
      return this.#hasDeltas ? this.#restOf(message) : message;
    }
    this.#hasDeltas ||= !isBlank(delta);
    return isObject(message) && this.#output.count === 0 && isBlank(delta) ? message : delta;
  }

  /** The part of a whole message that the deltas before it did not have. */
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
    return { content, ...(!this.#calls && { tool_calls: message.tool_calls, function_call: message.function_call }) };
  }

  #delta(delta: JsonObject, choice: JsonObject): void {
    const reasoning = text(delta.reasoning_content) || text(delta.reasoning);
    if (Array.isArray(delta.reasoning_details)) this.#think(objects(delta.reasoning_details), reasoning);
    else if (reasoning !== "") this.#openReasoning().text(0, reasoning);
    const logprobs = this.#logprobs && isObject(choice.logprobs) ? objects(choice.logprobs.content) : undefined;
    if (Array.isArray(delta.content)) this.#sayParts(objects(delta.content), logprobs);
    // Spoken answers are given as their transcript: the contract has no sound.
    this.#addText(text(delta.content) || (isObject(delta.audio) ? text(delta.audio.transcript) : ""), logprobs);
    // Before the refusal of a whole answer: sources belong to its text.
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

  /** A few vendors send content parts, including reasoning. */
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
    // A late signature has no reasoning to attach to; sealed text is reasoning by itself.
    if (content === "" && summary === "" && !("encrypted_content" in seal) && !this.#reasoning) return;
    const reasoning = this.#openReasoning(text(seal.format) || undefined);
    if (summary !== "") reasoning.summary(0, summary);
    if (content !== "") reasoning.text(0, content);
    this.#seal = this.#seal ? { ...this.#seal, ...seal } : seal;
  }

  #annotate(annotation: JsonObject): void {
    if (annotation.type !== "url_citation" || !isObject(annotation.url_citation)) return;
    const message = this.#openMessage();
    message.annotation(message.part("output_text"), { type: "url_citation", title: "", ...annotation.url_citation });
  }

  /** Sources are complete only at the end, so only a message still open then gets citations. */
  #cite(sources: Citations): void {
    const part = this.#message?.parts.at(-1);
    if (!this.#message || part?.type !== "output_text" || part.annotations.length > 0) return;
    const at = this.#message.parts.length - 1;
    for (const annotation of sources.annotations(part.text)) this.#message.annotation(at, annotation);
  }

  /** @param format of its seal, as far as it is known */
  #openReasoning(format?: string): ReasoningWriter {
    this.#closeMessage("completed");
    this.#calls?.endWhole();
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

  /** Some servers give no finish reason. Calls with incomplete arguments were cut, even if the server reports an end. */
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
    this.#emit(answerEnd(status, this.#reason, this.usage, tier, this.#stopSequence, this.#detail));
  }
}

/** The form before tool_calls, still used by a few servers, counts only if the newer form is absent: Snowflake writes an empty one next to it. */
function callsIn({ tool_calls, function_call }: JsonObject): readonly JsonObject[] {
  const calls = objects(tool_calls);
  return calls.length === 0 && isObject(function_call) ? [{ index: 0, function: function_call }] : calls;
}

const textOf = (message: MessageWriter | undefined): string =>
  message?.parts.map((part) => (part.type === "output_text" ? part.text : "")).join("") ?? "";

/** Whether a delta has nothing but its role. */
const isBlank = (delta: JsonObject): boolean =>
  Object.entries(delta).every(
    ([name, value]) => name === "role" || (value ?? "") === "" || (Array.isArray(value) && value.length === 0),
  );

/** The choice with index 0; the index may be left out. */
function firstChoice(choices: unknown): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined;
  for (const choice of choices as readonly unknown[]) if (isObject(choice) && (choice.index ?? 0) === 0) return choice;
  return undefined;
}

/**
 * Base64, or the URL of an image that is not inline; empty without an image.
 * @param image `{type: "image_url", image_url: {url}}`
 */
function readImage(image: JsonObject): string {
  const url = text(isObject(image.image_url) ? image.image_url.url : image.image_url);
  return readDataUrl(url)?.base64 ?? url;
}

/** OpenAI's models of 2023 that read pictures end with an object instead of the word. */
const finishOf = ({ finish_reason: reason, finish_details: details }: JsonObject): string =>
  text(reason) || (isObject(details) ? text(details.type) : "");
