/** Signed reasoning stays signed for clients that keep only `encrypted_content`. */
import { describe, expect, test } from "@jest/globals";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { openReasoning, sealReasoning } from "@sluice/inference-svc/models/upstream/translate/reasoning-seal.js";
import { translateChat, otherChat } from "../dialects/chat-translation.ts";
import { converseAnswer, buildConverseBody, readWholeConverse } from "../dialects/converse-translation.ts";
import {
  buildGeminiBody,
  geminiCallPart,
  lastGeminiChunk,
  readGemini,
  geminiThoughtPart,
} from "../dialects/gemini-translation.ts";
import {
  buildMessagesBody,
  findMessagesDropped,
  readMessages,
  wholeMessage,
} from "../dialects/messages-translation.ts";

const include = ["reasoning.encrypted_content"];
const user: InputItem = { type: "message", role: "user", content: "Go." };

/** Items as a client sends them back that knows only OpenAI's fields. */
function sentBack(items: readonly Record<string, unknown>[]): InputItem[] {
  const isKept = ([field]: [string, unknown]) => field !== "format" && field !== "signature";
  const kept = items.map((item) => Object.fromEntries(Object.entries(item).filter(isKept)) as InputItem);
  return [user, ...kept];
}

const thinking = { type: "thinking", thinking: "Hm", signature: "s+/=" };
const redacted = { type: "redacted_thinking", data: "b64==" };

test("signatures and redacted reasoning of Messages go back unchanged", () => {
  const { items } = readMessages([wholeMessage([thinking, redacted, { type: "text", text: "Hi" }])], { include });
  const body = buildMessagesBody({ input: sentBack(items) });
  expect((body["messages"] as unknown[])[1]).toEqual({
    role: "assistant",
    content: [thinking, redacted, { type: "text", text: "Hi" }],
  });
});

test("signatures and redacted reasoning of Converse go back unchanged", () => {
  const reasoningText = { text: "Hm", signature: "s" };
  const content = [
    { reasoningContent: { reasoningText } },
    { reasoningContent: { redactedContent: "AA==" } },
    { text: "Hi" },
  ];
  const body = buildConverseBody({ input: sentBack(readWholeConverse(converseAnswer(content), { include }).items) });
  expect((body["messages"] as unknown[])[1]).toEqual({ role: "assistant", content });
});

test("the signature of a Gemini call goes back unchanged", () => {
  const { items } = readGemini(
    [lastGeminiChunk([geminiThoughtPart("Hm"), geminiCallPart("f", {}, { thoughtSignature: "S" })])],
    { include },
  );
  const body = buildGeminiBody({ input: sentBack(items) });
  expect((body["contents"] as unknown[])[1]).toMatchObject({ parts: [{ thoughtSignature: "S" }] });
});

describe("reasoning sealed for one provider", () => {
  const sealed: InputItem = {
    type: "reasoning",
    id: "r",
    summary: [],
    encrypted_content: sealReasoning("google-gemini-v1", { signature: "S" }),
  };
  const input = [user, sealed, { type: "message", role: "assistant", content: "Hi" }];

  test("is not sent to another one", () => {
    expect(findMessagesDropped({ input })).toEqual(["input.1"]);
    expect(JSON.stringify(translateChat({ input }, otherChat).body)).not.toContain("sluice:");
  });

  test("is unwrapped once, and all other values stay unchanged", () => {
    const foreign = { ...sealed, encrypted_content: "gAAAA:signature:x" };
    expect(openReasoning(foreign)).toBe(foreign);
    expect(openReasoning(sealed)).toMatchObject({
      format: "google-gemini-v1",
      signature: "S",
      encrypted_content: null,
    });
  });
});
