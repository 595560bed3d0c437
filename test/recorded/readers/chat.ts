/** Reads chat completions, with the variants of many vendors. A stream is folded into its message. */
import { type StreamEvent, isEventStream, readEvents } from "../frames.ts";
import {
  type AnswerFacts,
  type ToolCallFacts,
  type AnswerEnding,
  type SourceFacts,
  type TokenFacts,
  emptyAnswer,
} from "./answer.ts";
import {
  type JsonRecord,
  argumentsOf,
  numberOrZero,
  firstCount,
  isJsonRecord,
  jsonRecord,
  jsonRecords,
  parseJson,
  textOrEmpty,
} from "./json.ts";

interface Piece {
  readonly id: string;
  name: string;
  written: string;
  readonly isCustom: boolean;
}

export function readChatAnswer(body: string): AnswerFacts {
  if (!isEventStream(body)) {
    const whole = parseJson(body);
    if (!isJsonRecord(whole)) return { ...emptyAnswer(), outcome: "cut" };
    const fold = new ChatFold(true);
    fold.add(whole);
    return fold.finish();
  }
  const fold = new ChatFold(false);
  for (const event of readEvents(body)) fold.addEvent(event);
  return fold.finish();
}

class ChatFold {
  readonly #answer = emptyAnswer();
  readonly #isWhole: boolean;
  readonly #pieces: Piece[] = [];
  readonly #atIndex = new Map<number, Piece>();
  #dones = 0;
  #reasons = 0;
  #error: JsonRecord | undefined;

  constructor(isWhole: boolean) {
    this.#isWhole = isWhole;
  }

  addEvent({ name, data }: StreamEvent): void {
    if (data.trim() === "[DONE]") this.#dones += 1;
    const chunk = parseJson(data);
    if (isJsonRecord(chunk)) this.add(name === "error" && !chunk["error"] ? { error: chunk } : chunk);
  }

  add(chunk: JsonRecord): void {
    if (chunk["error"]) this.#error = isJsonRecord(chunk["error"]) ? chunk["error"] : { message: chunk["error"] };
    const choice = jsonRecords(chunk["choices"]).find(({ index }) => (index ?? 0) === 0) ?? {};
    const usage = [chunk["usage"], choice["usage"], jsonRecord(chunk["x_groq"])["usage"]].find(isJsonRecord);
    if (usage) this.#answer.tokens = tokensOf(usage);
    this.#answer.sources = [...linksOf(chunk), ...(linksOf(chunk).length > 0 ? [] : this.#answer.sources)];
    // Perplexity sends the complete message with each delta, and an empty delta with the complete message.
    const { message, delta } = choice;
    const said = (this.#isWhole ? [message, delta] : [delta, message]).find(isJsonRecord);
    if (said) this.#addMessage(said);
    const details = jsonRecord(choice["finish_details"]);
    const reason = textOrEmpty(choice["finish_reason"]) || textOrEmpty(details["type"]);
    if (reason === "") return;
    this.#reasons += 1;
    this.#answer.reason = reason;
  }

  finish(): AnswerFacts {
    const answer = this.#answer;
    answer.calls = this.#pieces.map(
      ({ name, written, isCustom }): ToolCallFacts => ({
        name,
        input: isCustom ? written : argumentsOf(written),
      }),
    );
    answer.end = endOf(answer.reason);
    if (!this.#isWhole) answer.stream = { terminals: this.#dones, reasons: this.#reasons };
    if (this.#error) {
      const { code, message } = this.#error;
      return {
        ...answer,
        outcome: "failed",
        fault: { status: Number(code) || undefined, message: textOrEmpty(message) },
      };
    }
    if (answer.reason !== "") return answer;
    // Some servers send no finish reason. A complete body, or [DONE], still is an end if there was any content.
    const hasContent = [answer.text, answer.refusal].some((text) => text !== "") || answer.calls.length > 0;
    if (!hasContent || (!this.#isWhole && this.#dones === 0)) return { ...answer, outcome: "cut" };
    return { ...answer, end: "done" };
  }

  #addMessage(said: JsonRecord): void {
    const answer = this.#answer;
    const { content } = said;
    if (typeof content === "string") answer.text += content;
    for (const part of jsonRecords(content)) {
      const { thinking } = part;
      if (part["type"] !== "thinking") answer.text += textOrEmpty(part["text"]);
      else
        answer.thoughts +=
          textOrEmpty(thinking) +
          jsonRecords(thinking)
            .map(({ text }) => textOrEmpty(text))
            .join("");
    }
    const details = jsonRecords(said["reasoning_details"]).map(
      ({ text, summary }) => textOrEmpty(text) || textOrEmpty(summary),
    );
    answer.thoughts += textOrEmpty(said["reasoning_content"]) || textOrEmpty(said["reasoning"]) || details.join("");
    answer.refusal += textOrEmpty(said["refusal"]);
    answer.pictures += jsonRecords(said["images"]).length;
    for (const { url_citation: cited } of jsonRecords(said["annotations"])) {
      if (isJsonRecord(cited))
        answer.sources.push({ url: textOrEmpty(cited["url"]), title: textOrEmpty(cited["title"]) });
    }
    this.#addCalls(said);
  }

  #addCalls(said: JsonRecord): void {
    const old = jsonRecord(said["function_call"]);
    // Snowflake sends an empty call of this form with every message.
    if (textOrEmpty(old["name"]) + textOrEmpty(old["arguments"]) !== "") this.#addPiece({ index: -1, function: old });
    for (const [at, call] of jsonRecords(said["tool_calls"]).entries()) {
      this.#addPiece(this.#isWhole ? { ...call, index: at } : call);
    }
  }

  #addPiece(call: JsonRecord): void {
    // Snowflake sends an empty custom call with each function call.
    const isCustom = isJsonRecord(call["custom"]) && !isJsonRecord(call["function"]);
    const called = jsonRecord(isCustom ? call["custom"] : call["function"]);
    const given = isCustom ? called["input"] : called["arguments"];
    const written = typeof given === "string" ? given : isJsonRecord(given) ? JSON.stringify(given) : "";
    const index = numberOrZero(call["index"]);
    const earlier = this.#atIndex.get(index);
    const id = textOrEmpty(call["id"]);
    const name = textOrEmpty(called["name"]);
    // Some servers number every call 0, so another id together with a name is another call.
    if (earlier && (id === "" || name === "" || earlier.id === "" || earlier.id === id)) {
      earlier.name ||= name;
      // An empty object before the arguments is a placeholder.
      earlier.written = earlier.written === "{}" ? written || "{}" : earlier.written + written;
      return;
    }
    const piece = { id, name, written, isCustom };
    this.#atIndex.set(index, piece);
    this.#pieces.push(piece);
  }
}

/** Links of a complete answer, in the forms of xAI and Perplexity. */
function linksOf(chunk: JsonRecord): SourceFacts[] {
  const results = jsonRecords(chunk["search_results"]);
  if (results.length > 0)
    return results.map(({ url, title }) => ({ url: textOrEmpty(url), title: textOrEmpty(title) }));
  const { citations } = chunk;
  return Array.isArray(citations) ? citations.map((url: unknown) => ({ url: textOrEmpty(url), title: "" })) : [];
}

function tokensOf(usage: JsonRecord): TokenFacts {
  const completion = numberOrZero(usage["completion_tokens"]);
  const promptDetails = jsonRecord(usage["prompt_tokens_details"]);
  const told = numberOrZero(usage["prompt_tokens"]);
  const sounds = numberOrZero(promptDetails["audio_tokens"]);
  // Mistral counts sounds separately from the prompt, as the total shows.
  const prompt = numberOrZero(usage["total_tokens"]) === told + completion + sounds ? told + sounds : told;
  const thoughts = firstCount(
    jsonRecord(usage["completion_tokens_details"])["reasoning_tokens"],
    usage["reasoning_tokens"],
  );
  // xAI and Google count reasoning separately from the answer, as the total shows.
  const beside = Math.max(0, numberOrZero(usage["total_tokens"]) - prompt - completion);
  const isBeside = beside > 0 && (thoughts === 0 || thoughts === beside);
  // Vercel's gateway counts Google's reasoning neither in the answer nor in the total.
  const isApart = usage["market_cost"] !== undefined && thoughts > completion;
  return {
    prompt,
    completion: isApart ? completion + thoughts : isBeside ? completion + beside : completion,
    thoughts: thoughts || beside,
    cacheRead: firstCount(promptDetails["cached_tokens"], usage["prompt_cache_hit_tokens"], usage["cached_tokens"]),
    cacheWritten: firstCount(promptDetails["cache_write_tokens"], promptDetails["cache_creation_tokens"]),
  };
}

function endOf(reason: string): AnswerEnding {
  const plain = reason.toLowerCase();
  if (plain === "") return "";
  if (["length", "max_tokens", "model_length"].includes(plain)) return "limit";
  if (plain.startsWith("content_filter")) return "withheld";
  return plain === "error" ? "failed" : "done";
}
