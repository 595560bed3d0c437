/** Reads the Responses format. The last event of a stream repeats the complete response. */
import { isEventStream, readEvents } from "../frames.ts";
import { type AnswerFacts, emptyAnswer, failedAnswer } from "./answer.ts";
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

const terminalTypes = new Set(["response.completed", "response.incomplete", "response.failed"]);

export function readResponsesAnswer(body: string): AnswerFacts {
  if (!isEventStream(body)) return readResponse(jsonRecord(parseJson(body)));
  const deltas = { text: "", thoughts: "", refusal: "" };
  const done = new Map<unknown, JsonRecord>();
  let terminals = 0;
  let last: JsonRecord | undefined;
  let error: JsonRecord | undefined;
  for (const { data } of readEvents(body)) {
    const event = jsonRecord(parseJson(data));
    const type = textOrEmpty(event["type"]);
    if (terminalTypes.has(type)) {
      terminals += 1;
      last = jsonRecord(event["response"]);
    } else if (type === "error") error = isJsonRecord(event["error"]) ? event["error"] : event;
    else if (type === "response.output_text.delta") deltas.text += textOrEmpty(event["delta"]);
    else if (type === "response.refusal.delta") deltas.refusal += textOrEmpty(event["delta"]);
    else if (/^response\.reasoning_(summary_)?text\.delta$/.test(type)) deltas.thoughts += textOrEmpty(event["delta"]);
    else if (type === "response.output_item.done") done.set(event["output_index"], jsonRecord(event["item"]));
  }
  if (!last) {
    const said = error
      ? failedAnswer(undefined, textOrEmpty(error["message"]))
      : { ...emptyAnswer(), outcome: "cut" as const };
    return { ...said, ...deltas };
  }
  // Some servers leave the output of the last event empty; it then consists of the finished items.
  const output = jsonRecords(last["output"]).length > 0 ? last["output"] : [...done.values()];
  const answer = readResponse({ ...last, output });
  return { ...answer, stream: { terminals, deltas } };
}

function readResponse(response: JsonRecord): AnswerFacts {
  const answer = emptyAnswer();
  const { status, error, incomplete_details: details, usage } = response;
  if (!Array.isArray(response["output"]) && !error) return { ...answer, outcome: "cut" };
  for (const item of jsonRecords(response["output"])) addItem(answer, item);
  const why = textOrEmpty(jsonRecord(details)["reason"]);
  answer.reason = [textOrEmpty(status), why].filter((part) => part !== "").join("/");
  answer.end = status === "incomplete" ? (why === "content_filter" ? "withheld" : "limit") : "done";
  if (isJsonRecord(usage)) {
    const input = jsonRecord(usage["input_tokens_details"]);
    answer.tokens = {
      prompt: numberOrZero(usage["input_tokens"]),
      cacheRead: numberOrZero(input["cached_tokens"]),
      cacheWritten: numberOrZero(input["cache_write_tokens"]),
      completion: numberOrZero(usage["output_tokens"]),
      thoughts: numberOrZero(jsonRecord(usage["output_tokens_details"])["reasoning_tokens"]),
    };
  }
  if (status !== "failed" && (!error || status === "completed")) return answer;
  return {
    ...answer,
    outcome: "failed",
    fault: { status: undefined, message: textOrEmpty(jsonRecord(error)["message"]) },
  };
}

function addItem(answer: AnswerFacts, item: JsonRecord): void {
  const { type, name, content } = item;
  const texts = (parts: unknown) =>
    jsonRecords(parts)
      .map(({ text }) => textOrEmpty(text))
      .join("");
  if (type === "reasoning") answer.thoughts += texts(item["summary"]) + texts(content);
  else if (type === "function_call")
    answer.calls.push({ name: textOrEmpty(name), input: argumentsOf(item["arguments"]) });
  else if (type === "custom_tool_call")
    answer.calls.push({ name: textOrEmpty(name), input: textOrEmpty(item["input"]) });
  else if (type === "image_generation_call") answer.pictures += item["result"] ? 1 : 0;
  if (type !== "message") return;
  for (const part of jsonRecords(content)) {
    if (part["type"] === "refusal") answer.refusal += textOrEmpty(part["refusal"]);
    if (part["type"] !== "output_text") continue;
    answer.text += textOrEmpty(part["text"]);
    for (const { url, title, filename } of jsonRecords(part["annotations"])) {
      answer.sources.push({ url: textOrEmpty(url), title: textOrEmpty(title) || textOrEmpty(filename) });
    }
  }
}
