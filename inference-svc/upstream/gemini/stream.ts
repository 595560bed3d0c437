/** Reads an answer, in chunks or whole, as turn events: a whole answer is a chunk that says everything. */
import { elementsOf, memberOf } from "@sluice/proto/runtime/validation/json-span.js";
import type { TurnRequest } from "../../turn/request.ts";
import type { Outcome, TurnEvent } from "../../turn/turn.ts";
import type { Target, Translator } from "../dialect.ts";
import { connectionLost, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, objects, parseObject, text } from "../json.ts";
import type { Emit, ItemStatus } from "../output.ts";
import { servedTier, wantsLogprobs } from "../served.ts";
import { AnswerParts } from "./answer-parts.ts";
import { argumentsIn } from "./arguments.ts";
import { geminiError } from "./error.ts";
import { Grounding } from "./grounding.ts";
import { logprobsOf } from "./logprobs.ts";
import { GeminiUsage } from "./usage.ts";

/** Reasons to stop for which an answer is not whole (https://ai.google.dev/api/generate-content#FinishReason). */
const incomplete: ReadonlyMap<string, NonNullable<Outcome["reason"]>> = new Map([
  ["MAX_TOKENS", "max_output_tokens"],
  // The limit of one request, from which another one could go on.
  ["CONTINUATION", "max_output_tokens"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
]);

/** Reasons for which it is none; everything else is an end. */
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
  readonly #parts: AnswerParts;
  readonly #usage = new GeminiUsage();
  #finishReason: string | undefined;
  done = false;

  constructor(request: TurnRequest, target: Target, emit: (event: TurnEvent) => void) {
    this.#emit = emit;
    this.#target = target;
    this.#logprobs = wantsLogprobs(request);
    this.#parts = new AnswerParts(request, this.#grounding, emit);
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
    if (isObject(chunk.error)) throw providerFault(geminiError(undefined, chunk));
    this.#usage.read(chunk.usageMetadata);
    const candidates = objects(chunk.candidates);
    const place = candidates.findIndex(({ index }) => (index ?? 0) === 0);
    const candidate = candidates[place];
    if (candidate) this.#read(candidate, data, place);
    else if (isObject(chunk.promptFeedback)) refuse(text(chunk.promptFeedback.blockReason));
  }

  /** What a stream is where a proxy has lost the wish for server-sent events: one array of all chunks. */
  #chunks(data: string): void {
    const json = `{"chunks":${data}}`;
    // Spans are looked for in what is JSON only.
    parseObject(json);
    const bytes = Buffer.from(json);
    for (const { start, end } of elementsOf(bytes, memberOf(bytes, 0, "chunks")?.start))
      this.event(undefined, bytes.toString("utf8", start, end));
  }

  #read(candidate: JsonObject, data: string, place: number): void {
    const reason = text(candidate.finishReason);
    if (failures.has(reason)) throw providerFailed(`finish reason ${reason}`);
    this.#grounding.read(candidate.groundingMetadata);
    const parts = objects(isObject(candidate.content) ? candidate.content.parts : undefined);
    const json = argumentsIn(parts, data, place);
    let logprobs = this.#logprobs ? logprobsOf(candidate.logprobsResult) : [];
    for (const [index, part] of parts.entries()) {
      const says = part.thought !== true && text(part.text) !== "";
      this.#parts.read(part, json.get(index) ?? "{}", says ? logprobs : []);
      // They are those of the whole chunk.
      if (says) logprobs = [];
    }
    // Not acted on at once: figures may still follow.
    if (reason !== "") this.#finishReason = reason;
  }

  cut(): void {
    this.#finishReason = "MAX_TOKENS";
    this.close();
  }

  close(): void {
    if (this.done) return;
    if (this.#finishReason === undefined) throw connectionLost();
    const reason = incomplete.get(this.#finishReason);
    const status: ItemStatus = reason ? "incomplete" : "completed";
    this.#parts.end(status);
    this.done = true;
    const { usage } = this;
    const outcome: Outcome = {
      status,
      ...(reason && { reason }),
      ...(usage && { usage }),
      serviceTier: servedTier(this.#usage.tier, this.#target),
    };
    this.#emit({ type: "end", outcome });
  }
}

/** The prompt itself was blocked: nothing was answered, and nothing will be. */
function refuse(blockReason: string): void {
  if (blockReason === "") return;
  throw providerFault({ code: "content_filter", message: `The provider blocked the prompt: ${blockReason}` });
}
