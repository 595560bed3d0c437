/** Reads Amazon's Converse, as JSON or as binary frames, which are folded into their message. */
import { type Frame, readFrames } from "../frames.ts";
import { type AnswerFacts, type AnswerEnding, emptyAnswer } from "./answer.ts";
import {
  type JsonRecord,
  argumentsOf,
  numberOrZero,
  isJsonRecord,
  jsonRecord,
  jsonRecords,
  parseJson,
  textOrEmpty,
} from "./json.ts";

const ends: Readonly<Record<string, AnswerEnding>> = {
  max_tokens: "limit",
  model_context_window_exceeded: "limit",
  guardrail_intervened: "withheld",
  content_filtered: "withheld",
};

export function readConverseAnswer(bytes: Buffer): AnswerFacts {
  if (bytes[0] === 0) return readStream(readFrames(bytes));
  const body = parseJson(bytes.toString());
  if (!isJsonRecord(body)) return { ...emptyAnswer(), outcome: "cut" };
  const { content } = jsonRecord(jsonRecord(body["output"])["message"]);
  return readMessage(jsonRecords(content), body["stopReason"], body["usage"]);
}

function readStream(frames: readonly Frame[]): AnswerFacts {
  const blocks = new Map<number, JsonRecord>();
  let reason: unknown;
  let usage: unknown;
  let fault: string | undefined;
  for (const { type, isException, payload } of frames) {
    const event = jsonRecord(parseJson(payload));
    if (isException) fault = textOrEmpty(event["message"]);
    const index = numberOrZero(event["contentBlockIndex"]);
    if (type === "contentBlockStart") blocks.set(index, jsonRecord(event["start"]));
    if (type === "contentBlockDelta") blocks.set(index, withDelta(blocks.get(index) ?? {}, jsonRecord(event["delta"])));
    if (type === "messageStop") reason = event["stopReason"];
    if (type === "metadata") usage = event["usage"];
  }
  const content = [...blocks].sort(([one], [other]) => one - other).map(([, block]) => block);
  const answer = readMessage(content, reason, usage);
  return fault === undefined ? answer : { ...answer, outcome: "failed", fault: { status: undefined, message: fault } };
}

/** The block with one more delta, in the form of a complete answer; the arguments may be incomplete. */
function withDelta(block: JsonRecord, delta: JsonRecord): JsonRecord {
  const { text, toolUse, reasoningContent, citation } = delta;
  if (typeof text === "string") return { ...block, text: textOrEmpty(block["text"]) + text };
  if (isJsonRecord(toolUse)) {
    const begun = jsonRecord(block["toolUse"]);
    const written = textOrEmpty(begun["input"]) + textOrEmpty(toolUse["input"]);
    return { ...block, toolUse: { ...begun, input: written } };
  }
  if (isJsonRecord(citation)) return { ...block, citations: [...jsonRecords(block["citations"]), citation] };
  if (!isJsonRecord(reasoningContent)) return block;
  const begun = textOrEmpty(jsonRecord(jsonRecord(block["reasoningContent"])["reasoningText"])["text"]);
  return { ...block, reasoningContent: { reasoningText: { text: begun + textOrEmpty(reasoningContent["text"]) } } };
}

function readMessage(content: readonly JsonRecord[], reason: unknown, usage: unknown): AnswerFacts {
  const answer = emptyAnswer();
  for (const block of content) {
    const { toolUse, citationsContent } = block;
    // A call that Bedrock itself runs is not a call for the client.
    if (isJsonRecord(toolUse) && toolUse["type"] !== "server_tool_use") {
      answer.calls.push({ name: textOrEmpty(toolUse["name"]), input: argumentsOf(toolUse["input"]) });
    }
    answer.thoughts += textOrEmpty(jsonRecord(jsonRecord(block["reasoningContent"])["reasoningText"])["text"]);
    const cited = jsonRecord(citationsContent);
    answer.text +=
      textOrEmpty(block["text"]) +
      jsonRecords(cited["content"])
        .map(({ text }) => textOrEmpty(text))
        .join("");
    for (const { title, location } of [...jsonRecords(block["citations"]), ...jsonRecords(cited["citations"])]) {
      answer.sources.push({
        url: textOrEmpty(jsonRecord(jsonRecord(location)["web"])["url"]),
        title: textOrEmpty(title),
      });
    }
  }
  answer.reason = textOrEmpty(reason);
  answer.end = ends[answer.reason] ?? (answer.reason === "" ? "" : "done");
  if (isJsonRecord(usage)) {
    const cacheRead = numberOrZero(usage["cacheReadInputTokens"]);
    const cacheWritten = numberOrZero(usage["cacheWriteInputTokens"]);
    answer.tokens = {
      prompt: numberOrZero(usage["inputTokens"]) + cacheRead + cacheWritten,
      cacheRead,
      cacheWritten,
      completion: numberOrZero(usage["outputTokens"]),
      thoughts: 0,
    };
  }
  return answer.reason === "" ? { ...answer, outcome: "cut" } : answer;
}
