/** The part of an answer seen by the alignment judge, and its maximum size. */
import { describe, expect, test } from "@jest/globals";
import { type Message, isCut, toMessage } from "@sluice/inference-svc/features/alignment/message.js";
import type { OutputItem } from "@sluice/inference-svc/turn/turn.js";

const text = (said: string) => ({ type: "output_text", text: said, annotations: [], logprobs: [] });
const message = (...content: object[]): OutputItem => ({ type: "message", id: "m", role: "assistant", content });

describe("the message for the alignment judge", () => {
  test.each<[string, OutputItem[], Message]>([
    ["of nothing", [], { role: "assistant", content: null }],
    [
      "of several parts and items is one",
      [message(text("One, "), text("two.")), message(text(" Three."))],
      { role: "assistant", content: "One, two. Three." },
    ],
    ["that says an empty text says something", [message(text(""))], { role: "assistant", content: "" }],
    [
      "has a refusal beside what is said",
      [message(text("Well. "), { type: "refusal", refusal: "No." })],
      { role: "assistant", content: "Well. ", refusal: "No." },
    ],
    [
      "has no reasoning",
      [{ type: "reasoning", id: "r", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] }],
      { role: "assistant", content: null },
    ],
    [
      "names what functions and tools of free form are called with",
      [
        {
          type: "function_call",
          id: "a",
          call_id: "c",
          name: "f",
          namespace: "crm",
          arguments: '{"a":1}',
          status: "completed",
        },
        { type: "custom_tool_call", id: "b", call_id: "d", name: "sql", input: "select 1" },
      ],
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { name: "f", arguments: '{"a":1}', namespace: "crm" },
          { name: "sql", arguments: "select 1" },
        ],
      },
    ],
    [
      "has what other calls do",
      [
        { type: "shell_call", id: "a", call_id: "c", status: "completed", action: { commands: ["rm -rf /"] } },
        { type: "web_search_call", id: "b", status: "completed", action: { type: "search", query: "x" } },
      ],
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { name: "shell", arguments: '{"action":{"commands":["rm -rf /"]}}' },
          { name: "web_search", arguments: '{"action":{"type":"search","query":"x"}}' },
        ],
      },
    ],
    [
      "has images by what they were to show",
      [{ type: "image_generation_call", id: "i", status: "completed", result: "AAAA", revised_prompt: "A cat." }],
      { role: "assistant", content: null, images: ["A cat."] },
    ],
  ])("has the content of an answer: it %s", (_, items, expected) => {
    expect(toMessage(items)).toEqual(expected);
  });
});

describe("the answer shown to the alignment judge is truncated, in UTF-16 units, in", () => {
  const calls = (count: number, characters = 0) => ({
    tool_calls: Array.from({ length: count }, () => ({ name: "f", arguments: "x".repeat(characters) })),
  });
  /** Length of the JSON around a call without arguments. */
  const around = JSON.stringify(calls(1).tool_calls).length;
  test.each<[string, Partial<Message>, Partial<Message>]>([
    ["text", { content: "x".repeat(10_000) }, { content: "x".repeat(10_001) }],
    ["text of two units a character", { content: "😀".repeat(5_000) }, { content: `${"😀".repeat(5_000)}x` }],
    ["calls", calls(16), calls(17)],
    ["their JSON", calls(1, 4_000 - around), calls(1, 4_001 - around)],
    ["refusal", { refusal: "x".repeat(1_000) }, { refusal: "x".repeat(1_001) }],
    ["transcript", { audio: { transcript: "x".repeat(1_000) } }, { audio: { transcript: "x".repeat(1_001) } }],
  ])("%s", (_, within, beyond) => {
    const one: Message = { role: "assistant", content: null };
    expect([isCut({ ...one, ...within }), isCut({ ...one, ...beyond })]).toEqual([false, true]);
  });
});
