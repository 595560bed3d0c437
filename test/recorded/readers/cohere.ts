/** Reads Cohere's Chat API, version 2. A stream is folded into its message. */
import { isEventStream, readEvents } from "../frames.ts";
import { type AnswerFacts, type AnswerEnding, emptyAnswer } from "./answer.ts";
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

const ends: Readonly<Record<string, AnswerEnding>> = { MAX_TOKENS: "limit", ERROR: "failed", "": "" };

export function readCohereAnswer(body: string): AnswerFacts {
  if (isEventStream(body)) return readStream(body);
  const whole = parseJson(body);
  if (!isJsonRecord(whole)) return { ...emptyAnswer(), outcome: "cut" };
  return readMessage(jsonRecord(whole["message"]), whole["finish_reason"], whole["usage"]);
}

function readStream(body: string): AnswerFacts {
  let plan = "";
  const content: JsonRecord[] = [];
  const calls = new Map<unknown, { name: string; arguments: string }>();
  const citations: JsonRecord[] = [];
  let end: JsonRecord = {};
  for (const { data } of readEvents(body)) {
    const event = jsonRecord(parseJson(data));
    const delta = jsonRecord(event["delta"]);
    const said = jsonRecord(delta["message"]);
    const called = jsonRecord(jsonRecord(said["tool_calls"])["function"]);
    const call = calls.get(event["index"]);
    switch (event["type"]) {
      case "content-start":
      case "content-delta":
        content.push(jsonRecord(said["content"]));
        break;
      case "tool-plan-delta":
        plan += textOrEmpty(said["tool_plan"]);
        break;
      case "tool-call-start":
        calls.set(event["index"], { name: textOrEmpty(called["name"]), arguments: textOrEmpty(called["arguments"]) });
        break;
      case "tool-call-delta":
        if (call) call.arguments += textOrEmpty(called["arguments"]);
        break;
      case "citation-start":
        citations.push(jsonRecord(said["citations"]));
        break;
      case "message-end":
        end = delta;
        break;
      default:
    }
  }
  const message = {
    tool_plan: plan,
    content,
    tool_calls: [...calls.values()].map((call) => ({ function: call })),
    citations,
  };
  return readMessage(message, end["finish_reason"], end["usage"]);
}

function readMessage(message: JsonRecord, reason: unknown, usage: unknown): AnswerFacts {
  const answer = emptyAnswer();
  answer.text = textOrEmpty(message["tool_plan"]);
  for (const { text, thinking } of jsonRecords(message["content"])) {
    answer.text += textOrEmpty(text);
    answer.thoughts += textOrEmpty(thinking);
  }
  for (const { function: called } of jsonRecords(message["tool_calls"])) {
    const { name, arguments: written } = jsonRecord(called);
    // Cohere writes "null" for a function without parameters.
    answer.calls.push({ name: textOrEmpty(name), input: written === "null" ? {} : argumentsOf(written) });
  }
  answer.sources = jsonRecords(message["citations"]).map(({ text }) => ({ url: "", title: textOrEmpty(text) }));
  answer.reason = textOrEmpty(reason);
  answer.end = ends[answer.reason] ?? "done";
  if (isJsonRecord(usage)) {
    const billed = jsonRecord(usage["billed_units"]);
    const counted = jsonRecord(usage["tokens"]);
    const allPrompt = numberOrZero(counted["input_tokens"]);
    const billedPrompt = firstCount(billed["input_tokens"], allPrompt);
    const unbilled = Math.max(0, allPrompt - billedPrompt);
    answer.tokens = {
      // Cohere bills fewer tokens than it counts: its own part of the prompt is free.
      prompt: billedPrompt,
      completion: firstCount(billed["output_tokens"], counted["output_tokens"]),
      // The unbilled tokens are at the beginning of the prompt, so they are the first ones in a cache.
      cacheRead: Math.max(0, Math.min(billedPrompt, numberOrZero(usage["cached_tokens"]) - unbilled)),
      cacheWritten: 0,
      thoughts: 0,
    };
  }
  return answer.reason === "" ? { ...answer, outcome: "cut" } : answer;
}
