/**
 * Reads an answer of any format. These readers follow the formats that providers publish, and share no code with the product, so a mistake in
 * reading shows as a difference.
 */
import { type AnswerFacts, failedAnswer } from "./answer.ts";
import { readChatAnswer } from "./chat.ts";
import { readCohereAnswer } from "./cohere.ts";
import { readConverseAnswer } from "./converse.ts";
import { readGeminiAnswer } from "./gemini.ts";
import { jsonRecord, parseJson, textOrEmpty } from "./json.ts";
import { readMessagesAnswer } from "./messages.ts";
import { readResponsesAnswer } from "./responses.ts";

const readers: Readonly<Record<string, (bytes: Buffer) => AnswerFacts>> = {
  chat: (bytes) => readChatAnswer(bytes.toString()),
  responses: (bytes) => readResponsesAnswer(bytes.toString()),
  messages: (bytes) => readMessagesAnswer(bytes.toString()),
  gemini: (bytes) => readGeminiAnswer(bytes.toString()),
  cohere: (bytes) => readCohereAnswer(bytes.toString()),
  converse: readConverseAnswer,
};

/** @throws for a format without a reader */
export function readAnswer(format: string, status: number, bytes: Buffer): AnswerFacts {
  if (status >= 400) return failedAnswer(status, messageOf(bytes.toString()));
  const reader = readers[format];
  if (!reader) throw new Error(`no reader for answers of the format ${format}`);
  return reader(bytes);
}

function messageOf(body: string): string {
  const outer = jsonRecord([parseJson(body)].flat()[0]);
  const { error } = outer;
  return (
    textOrEmpty(jsonRecord(error)["message"]) ||
    textOrEmpty(error) ||
    textOrEmpty(outer["message"]) ||
    textOrEmpty(outer["Message"]) ||
    body.slice(0, 200)
  );
}
