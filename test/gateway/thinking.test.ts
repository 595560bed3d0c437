/**
 * Reasoning of other vendors comes back unchanged from a client of the messages door, or without its signature if the client has changed its
 * text.
 */
import { expect, test } from "@jest/globals";
import { toReasoning } from "@sluice/gateway/doors/messages/reasoning.js";
import { toReasoningItem, toThinkingBlock } from "@sluice/gateway/doors/messages/thinking.js";

const item = {
  type: "reasoning",
  id: "rs_1",
  summary: [
    { type: "summary_text", text: "Look at Saturn." },
    { type: "summary_text", text: "Then at Titan." },
  ],
  content: [],
  format: "openai-responses-v1",
  encrypted_content: "c2VhbGVk",
};

function sealed(): { readonly thinking: string; readonly signature: string } {
  const block = toThinkingBlock(item);
  if (block?.type !== "thinking") throw new Error("no thinking block");
  return block;
}

test("thinking with an unchanged text gives the original reasoning item", () => {
  const { thinking, signature } = sealed();
  expect(toReasoningItem(thinking, signature)).toEqual(item);
});

test("thinking of a client without stored text keeps its sealed content", () => {
  expect(toReasoningItem("", sealed().signature)).toMatchObject({ encrypted_content: "c2VhbGVk" });
});

test.each([
  ["of another length", "Look at Mars."],
  ["of the same length", sealed().thinking.replace("Titan", "Pluto")],
])("thinking with a changed text %s loses its signature", (_, thinking) => {
  expect(toReasoningItem(thinking, sealed().signature)).toEqual({
    type: "reasoning",
    summary: [],
    content: [{ type: "reasoning_text", text: thinking }],
  });
});

test("a seal of an earlier version, without a digest, is opened by its lengths", () => {
  const { thinking, signature } = sealed();
  const held = JSON.parse(Buffer.from(signature.slice("sluice:item:".length), "base64url").toString()) as object;
  const { digest: _, ...earlier } = held as { digest: string };
  const older = `sluice:item:${Buffer.from(JSON.stringify(earlier)).toString("base64url")}`;
  expect(toReasoningItem(thinking, older)).toEqual(item);
});

test.each([
  ["adaptive", undefined, undefined],
  ["adaptive", "summarized", "auto"],
  ["adaptive", "omitted", "omitted"],
  ["adaptive", "updates", "updates"],
  ["enabled", undefined, undefined],
  ["enabled", "summarized", "auto"],
  ["enabled", "omitted", "omitted"],
] as const)("thinking of type %s with display %s is reasoning with summary %s", (type, display, summary) => {
  expect(toReasoning({ thinking: { type, ...(display && { display }) } })?.["summary"]).toBe(summary);
});
