/** Reads Google's `generateContent`, in one piece or in chunks that have the form of complete answers. */
import { isEventStream, readEvents } from "../frames.ts";
import { type AnswerFacts, type AnswerEnding, type SourceFacts, emptyAnswer } from "./answer.ts";
import {
  type JsonRecord,
  numberOrZero,
  isJsonRecord,
  jsonRecord,
  jsonRecords,
  parseJson,
  textOrEmpty,
} from "./json.ts";

const withheld = new Set(
  "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE MODEL_ARMOR IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION".split(
    " ",
  ),
);

export function readGeminiAnswer(body: string): AnswerFacts {
  const chunks = isEventStream(body) ? readEvents(body).map(({ data }) => parseJson(data)) : [parseJson(body)].flat();
  const answer = emptyAnswer();
  const sources = new Map<string, SourceFacts>();
  let usage: JsonRecord = {};
  let error: JsonRecord | undefined;
  for (const chunk of chunks.filter(isJsonRecord)) {
    const candidate = jsonRecords(chunk["candidates"])[0] ?? {};
    for (const part of jsonRecords(jsonRecord(candidate["content"])["parts"])) addPart(answer, part);
    for (const { web } of jsonRecords(jsonRecord(candidate["groundingMetadata"])["groundingChunks"])) {
      const url = textOrEmpty(jsonRecord(web)["uri"]);
      if (url !== "") sources.set(url, { url, title: textOrEmpty(jsonRecord(web)["title"]) });
    }
    const blocked = textOrEmpty(jsonRecord(chunk["promptFeedback"])["blockReason"]);
    answer.reason = textOrEmpty(candidate["finishReason"]) || (blocked && `prompt ${blocked}`) || answer.reason;
    usage = { ...usage, ...jsonRecord(chunk["usageMetadata"]) };
    error = isJsonRecord(chunk["error"]) ? chunk["error"] : error;
  }
  answer.sources = [...sources.values()];
  answer.end = endOf(answer.reason);
  if (Object.keys(usage).length > 0) answer.tokens = tokensOf(usage);
  if (error) {
    const fault = { status: numberOrZero(error["code"]) || undefined, message: textOrEmpty(error["message"]) };
    return { ...answer, outcome: "failed", fault };
  }
  return answer.reason === "" ? { ...answer, outcome: "cut" } : answer;
}

function addPart(answer: AnswerFacts, part: JsonRecord): void {
  const { functionCall: call, inlineData: data, text } = part;
  // A call without a name is a piece of arguments, which a provider sends only on request; it is not read here.
  if (isJsonRecord(call)) {
    if (textOrEmpty(call["name"]) !== "")
      answer.calls.push({ name: textOrEmpty(call["name"]), input: call["args"] ?? {} });
  } else if (isJsonRecord(data)) answer.pictures += textOrEmpty(data["mimeType"]).startsWith("image/") ? 1 : 0;
  else if (part["thought"]) answer.thoughts += textOrEmpty(text);
  else answer.text += textOrEmpty(text);
}

function tokensOf(usage: JsonRecord) {
  const thoughts = numberOrZero(usage["thoughtsTokenCount"]);
  return {
    prompt: numberOrZero(usage["promptTokenCount"]) + numberOrZero(usage["toolUsePromptTokenCount"]),
    cacheRead: numberOrZero(usage["cachedContentTokenCount"]),
    cacheWritten: 0,
    completion: numberOrZero(usage["candidatesTokenCount"]) + thoughts,
    thoughts,
  };
}

function endOf(reason: string): AnswerEnding {
  if (reason === "") return "";
  if (reason === "MAX_TOKENS") return "limit";
  if (withheld.has(reason) || reason.startsWith("prompt ")) return "withheld";
  return reason === "STOP" ? "done" : "failed";
}
