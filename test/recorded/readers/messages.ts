/** Reads the Messages format. A stream is folded into its message. */
import { isEventStream, readEvents } from "../frames.ts";
import { type AnswerFacts, type AnswerEnding, emptyAnswer, failedAnswer } from "./answer.ts";
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
  refusal: "withheld",
  pause_turn: "paused",
};

export function readMessagesAnswer(body: string): AnswerFacts {
  if (!isEventStream(body)) {
    const message = parseJson(body);
    if (!isJsonRecord(message)) return { ...emptyAnswer(), outcome: "cut" };
    if (message["type"] === "error")
      return failedAnswer(undefined, textOrEmpty(jsonRecord(message["error"])["message"]));
    return readMessage(message);
  }
  const { message, starts, stops, error } = foldMessage(body);
  const answer: AnswerFacts = { ...readMessage(message), stream: { starts, terminals: stops } };
  if (error)
    return { ...answer, outcome: "failed", fault: { status: undefined, message: textOrEmpty(error["message"]) } };
  return stops === 0 && answer.reason === "" ? { ...answer, outcome: "cut" } : answer;
}

function foldMessage(body: string) {
  let message: JsonRecord = {};
  let blocks = new Map<number, JsonRecord>();
  let usage: JsonRecord = {};
  let starts = 0;
  let stops = 0;
  let error: JsonRecord | undefined;
  for (const { data } of readEvents(body)) {
    const event = jsonRecord(parseJson(data));
    const index = numberOrZero(event["index"]);
    switch (event["type"]) {
      case "message_start":
        starts += 1;
        message = jsonRecord(event["message"]);
        usage = jsonRecord(message["usage"]);
        // A second start event begins another attempt of a proxy, so everything before it is dropped.
        blocks = new Map();
        break;
      case "content_block_start":
        blocks.set(index, jsonRecord(event["content_block"]));
        break;
      case "content_block_delta":
        blocks.set(index, withDelta(blocks.get(index) ?? {}, jsonRecord(event["delta"])));
        break;
      case "message_delta":
        message = { ...message, ...jsonRecord(event["delta"]) };
        usage = laterUsage(usage, jsonRecord(event["usage"]));
        break;
      case "message_stop":
        stops += 1;
        break;
      case "error":
        stops += 1;
        error = jsonRecord(event["error"]);
        break;
      default:
    }
  }
  const inOrder = [...blocks].sort(([one], [other]) => one - other).map(([, block]) => block);
  return {
    message: { ...message, content: [...jsonRecords(message["content"]), ...inOrder], usage },
    starts,
    stops,
    error,
  };
}

/** The usage after a later report, whose figures count unless they take back prompt tokens. */
const laterUsage = (usage: JsonRecord, later: JsonRecord): JsonRecord => ({
  ...usage,
  ...Object.fromEntries(
    Object.entries(later).filter(([name, figure]) => figure !== null && !(figure === 0 && usage[name])),
  ),
});

function withDelta(block: JsonRecord, delta: JsonRecord): JsonRecord {
  const join = (name: string, piece: unknown) => ({ ...block, [name]: textOrEmpty(block[name]) + textOrEmpty(piece) });
  switch (delta["type"]) {
    case "text_delta":
      return join("text", delta["text"]);
    case "thinking_delta":
      return join("thinking", delta["thinking"]);
    case "input_json_delta":
      return join("written", delta["partial_json"]);
    case "citations_delta":
      return { ...block, citations: [...jsonRecords(block["citations"]), jsonRecord(delta["citation"])] };
    default:
      return block;
  }
}

function readMessage(message: JsonRecord): AnswerFacts {
  const answer = emptyAnswer();
  for (const block of jsonRecords(message["content"])) {
    const { type, written } = block;
    if (type === "thinking") answer.thoughts += textOrEmpty(block["thinking"]);
    if (type === "tool_use") {
      const input = argumentsOf(textOrEmpty(written) === "" ? block["input"] : written);
      answer.calls.push({ name: textOrEmpty(block["name"]), input });
    }
    if (type !== "text") continue;
    answer.text += textOrEmpty(block["text"]);
    for (const { url, title, document_title: document } of jsonRecords(block["citations"])) {
      answer.sources.push({ url: textOrEmpty(url), title: textOrEmpty(title) || textOrEmpty(document) });
    }
  }
  answer.reason = textOrEmpty(message["stop_reason"]);
  answer.end = ends[answer.reason] ?? (answer.reason === "" ? "" : "done");
  const usage = jsonRecord(message["usage"]);
  if (Object.keys(usage).length === 0) return answer;
  const cacheRead = numberOrZero(usage["cache_read_input_tokens"]);
  const cacheWritten = numberOrZero(usage["cache_creation_input_tokens"]);
  answer.tokens = {
    prompt: numberOrZero(usage["input_tokens"]) + cacheRead + cacheWritten,
    cacheRead,
    cacheWritten,
    completion: numberOrZero(usage["output_tokens"]),
    thoughts: numberOrZero(jsonRecord(usage["output_tokens_details"])["thinking_tokens"]),
  };
  return answer;
}
