/** Reasoning changed by a guardrail goes back to no provider: its signature is the original text's, and its seal holds the original. */
import { describe, expect, test } from "@jest/globals";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { breakSeals, withBrokenSeal } from "@sluice/inference-svc/turn/parse/broken-seals.js";
import { responsesBody } from "@sluice/inference-svc/models/upstream/responses/request.js";
import { testRequest } from "../../asking.js";
import { otherChat, translateChat } from "../../models/dialects/chat-translation.js";
import { translateToConverse } from "../../models/dialects/converse-translation.js";
import { translateToGemini } from "../../models/dialects/gemini-translation.js";
import { translateToMessages } from "../../models/dialects/messages-translation.js";

const prompt: InputItem = { type: "message", role: "user", content: "Hi" };
const said: InputItem = { type: "message", role: "assistant", content: "Fine." };
const sealedBy = (format: string): InputItem => ({
  type: "reasoning",
  id: "rs_1",
  summary: [],
  content: [{ type: "reasoning_text", text: "the card is CARD" }],
  format,
  signature: "SIG",
  encrypted_content: "SEALED",
});

const routes: readonly (readonly [string, string, (input: readonly InputItem[]) => [string, readonly string[]]])[] = [
  ["messages", "anthropic-claude-v1", (input) => outcomeOf(translateToMessages({ input }))],
  ["converse", "anthropic-claude-v1", (input) => outcomeOf(translateToConverse({ input }))],
  ["gemini", "google-gemini-v1", (input) => outcomeOf(translateToGemini({ input }))],
  [
    "chat",
    "xai-responses-v1",
    (input) =>
      outcomeOf(
        translateChat({ input }, { ...otherChat, supportedParameters: ["reasoning_details.xai-responses-v1"] }),
      ),
  ],
  [
    "responses",
    "openai-responses-v1",
    (input) => {
      const losses: [string, string][] = [];
      const target = { ...otherChat, reasoningFormat: "openai-responses-v1" };
      const text = responsesBody(testRequest({ input }), target, (path, reason) => void losses.push([path, reason]));
      return outcomeOf({ text, losses });
    },
  ],
];

const outcomeOf = (translated: {
  readonly text: string;
  readonly losses: readonly [string, string][];
}): [string, readonly string[]] => [translated.text, translated.losses.map(([path]) => path)];

describe.each(routes)("sealed reasoning sent to a provider of the format %s", (_format, seal, send) => {
  test("goes back with its seal when it is unchanged", () => {
    const [body, losses] = send([prompt, sealedBy(seal), said, prompt]);
    expect(body).toMatch(/SIG|SEALED/);
    expect(losses).not.toContain("input.1");
  });

  test("is left out when it was changed, and named", () => {
    const [body, losses] = send([prompt, withBrokenSeal(sealedBy(seal)), said, prompt]);
    expect(body).not.toMatch(/SIG|SEALED|CARD/);
    expect(losses).toContain("input.1");
  });
});

describe("a change by a guardrail breaks the seal", () => {
  const isDropped = (input: readonly InputItem[]) => translateToGemini({ input }).losses.map(([path]) => path);

  test("of the changed reasoning, and of a changed item signed by Gemini", () => {
    for (const index of [1, 2]) {
      const input = [prompt, sealedBy("google-gemini-v1"), { ...said }, prompt];
      breakSeals(input, index);
      expect(isDropped(input)).toEqual(["input.1"]);
    }
  });

  test("of no other item", () => {
    for (const index of [0, 3]) {
      const input = [{ ...prompt }, sealedBy("google-gemini-v1"), said, { ...prompt }];
      breakSeals(input, index);
      expect(isDropped(input)).toEqual([]);
    }
  });
});
