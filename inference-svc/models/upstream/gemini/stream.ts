/** Converts a Gemini answer, in chunks or whole, to turn events. A whole answer is read like a single chunk. */
import { elementsOf, memberOf, removeLineBreaks } from "@sluice/proto/lib/json/span.js";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Outcome, TurnEvent } from "../../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import type { Emit, ItemStatus } from "../events/item-writer.ts";
import { answerEnd } from "../events/answer-end.ts";
import { servedTier, wantsLogprobs } from "../events/service-tier.ts";
import { connectionLost, endedWithFailure, providerFault } from "../failure.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import { readGoogleError } from "../translate/google-error.ts";
import { findArguments } from "../translate/written-arguments.ts";
import { Grounding } from "./citations.ts";
import { GeminiOutputItems } from "./output-items.ts";
import { GeminiUsage } from "./usage.ts";

/** Outcome reasons by the finish reasons of incomplete answers (https://ai.google.dev/api/generate-content#FinishReason). */
const incomplete: ReadonlyMap<string, NonNullable<Outcome["reason"]>> = new Map([
  ["MAX_TOKENS", "max_output_tokens"],
  // The limit of one request was reached; another request could continue.
  ["CONTINUATION", "max_output_tokens"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
  ["MODEL_ARMOR", "content_filter"],
]);

/** Finish reasons of failed answers; any other reason is a normal end. */
const failures: ReadonlySet<string> = new Set([
  "FINISH_REASON_UNSPECIFIED",
  "OTHER",
  "LANGUAGE",
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "MISSING_THOUGHT_SIGNATURE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "NO_IMAGE",
  "IMAGE_OTHER",
]);

export class GeminiTranslator implements Translator {
  readonly #emit: Emit;
  readonly #target: Target;
  readonly #logprobs: boolean;
  readonly #grounding = new Grounding();
  readonly #parts: GeminiOutputItems;
  readonly #usage = new GeminiUsage();
  #finishReason: string | undefined;
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#emit = emit;
    this.#target = target;
    this.#logprobs = wantsLogprobs(request);
    this.#parts = new GeminiOutputItems(request, this.#grounding, emit);
  }

  get usage(): Outcome["usage"] {
    return this.#usage.usage(this.#grounding.queries.length);
  }

  get finished(): boolean {
    return this.#finishReason !== undefined;
  }

  event(_name: string | undefined, data: string): void {
    if (data.trimStart().startsWith("[")) return this.#chunks(data);
    const chunk = parseObject(data);
    if (isObject(chunk.error)) throw providerFault(readGoogleError(undefined, chunk));
    this.#usage.read(chunk.usageMetadata);
    const candidates = objects(chunk.candidates);
    const place = candidates.findIndex(({ index }) => (index ?? 0) === 0);
    const candidate = candidates[place];
    if (candidate) this.#read(candidate, data, place);
    else if (isObject(chunk.promptFeedback)) refuse(text(chunk.promptFeedback.blockReason));
  }

  /** Reads a stream sent as one array of chunks, which happens when a proxy drops `alt=sse` from the URL. */
  #chunks(data: string): void {
    const json = `{"chunks":${data}}`;
    // The JSON is parsed first, because finding spans in it is safe only when it is valid.
    parseObject(json);
    const bytes = Buffer.from(json);
    for (const { start, end } of elementsOf(bytes, memberOf(bytes, 0, "chunks")?.start))
      this.event(undefined, bytes.toString("utf8", start, end));
  }

  #read(candidate: JsonObject, data: string, place: number): void {
    const reason = text(candidate.finishReason);
    if (failures.has(reason)) throw endedWithFailure(reason, text(candidate.finishMessage));
    this.#grounding.read(candidate.groundingMetadata);
    const parts = objects(isObject(candidate.content) ? candidate.content.parts : undefined);
    const hasCalls = parts.some(({ functionCall }) => isObject(functionCall));
    const args = hasCalls
      ? findArguments(data, ["candidates", place, "content", "parts"], ["functionCall", "args"])
      : undefined;
    let logprobs = this.#logprobs ? readLogprobs(candidate.logprobsResult) : [];
    for (const [index, part] of parts.entries()) {
      const says = part.thought !== true && text(part.text) !== "";
      const written = args?.get(index);
      const json = written ? removeLineBreaks(written) : "{}";
      this.#parts.read(part, json === "null" ? "{}" : json, says ? logprobs : []);
      // The log probabilities belong to the whole chunk, so its first text gets them.
      if (says) logprobs = [];
    }
    // The answer is not ended here, because usage may still follow.
    if (reason !== "") this.#finishReason = reason;
  }

  cut(): void {
    this.#finishReason = "MAX_TOKENS";
    this.close();
  }

  close(isWhole = false): void {
    if (this.done) return;
    if (this.#finishReason === undefined && !(isWhole && this.#parts.count > 0)) throw connectionLost();
    // Gemini ends some empty answers with STOP, even after reasoning. A program would stop without any sign of a
    // failure.
    if (this.#finishReason === "STOP" && !this.#parts.says) throw endedWithFailure("STOP", "the answer is empty");
    const reason = incomplete.get(this.#finishReason ?? "");
    const status: ItemStatus = reason ? "incomplete" : "completed";
    this.#parts.end(status);
    this.done = true;
    this.#emit(answerEnd(status, reason, this.usage, servedTier(this.#usage.tier, this.#target)));
  }
}

/** Ends an answer that will not come, because the prompt itself was blocked. */
function refuse(blockReason: string): void {
  if (blockReason === "") return;
  throw providerFault({ code: "content_filter", message: `The provider blocked the prompt: ${blockReason}` });
}

/**
 * Log probabilities in the form of Sluice's API.
 * @param result `{chosenCandidates, topCandidates}`, each with one entry per token
 */
export function readLogprobs(result: unknown): readonly JsonObject[] {
  if (!isObject(result)) return [];
  const tops = objects(result.topCandidates);
  return objects(result.chosenCandidates).map((chosen, at) => ({
    ...entry(chosen),
    top_logprobs: objects(tops[at]?.candidates).map(entry),
  }));
}

const entry = ({ token, logProbability }: JsonObject): JsonObject => ({
  token: text(token),
  bytes: [...Buffer.from(text(token))],
  logprob: typeof logProbability === "number" ? logProbability : 0,
});
