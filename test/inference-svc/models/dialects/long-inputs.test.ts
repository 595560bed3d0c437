/** The time to write a conversation grows linearly with its length, in every format and for every shape of its tool calls. */
import { describe, expect, test } from "@jest/globals";
import { responsesBody } from "@sluice/inference-svc/models/upstream/responses/request.js";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { isLinear } from "../../../support/clock.ts";
import { functionTool, testRequest } from "../../asking.js";
import { buildChatBody, otherChat } from "./chat-translation.js";
import { buildCohereBody } from "./cohere-translation.js";
import { buildConverseBody, claudeOnBedrock } from "./converse-translation.js";
import { translateToGemini } from "./gemini-translation.js";
import { buildMessagesBody } from "./messages-translation.js";

const tools = [functionTool()];
const openAi = { upstreamModel: "m", tier: "default", original: true };

const writers: readonly (readonly [format: string, write: (input: readonly InputItem[]) => unknown])[] = [
  ["chat", (input) => buildChatBody({ input, tools }, otherChat)],
  ["cohere", (input) => buildCohereBody({ input, tools })],
  ["converse", (input) => buildConverseBody({ input, tools }, claudeOnBedrock)],
  ["gemini", (input) => translateToGemini({ input, tools })],
  ["messages", (input) => buildMessagesBody({ input, tools })],
  ["responses", (input) => responsesBody(testRequest({ input, tools }), openAi, () => {})],
];

const prompt = (text: string): InputItem => ({ type: "message", role: "user", content: text });
const call = (id: string): InputItem => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" });
const result = (id: string, output: unknown = "B"): InputItem => ({
  type: "function_call_output",
  call_id: id,
  output,
});
const times = <Item>(count: number, make: (number: number) => Item): Item[] =>
  Array.from({ length: count }, (_, n) => make(n));

const shapes: readonly (readonly [shape: string, inputOf: (count: number) => readonly InputItem[]])[] = [
  [
    "calls and their results in two runs",
    (count) => [...times(count, (n) => call(`c${n}`)), ...times(count, (n) => result(`c${n}`))],
  ],
  [
    "results in the reverse order",
    (count) => [...times(count, (n) => call(`c${n}`)), ...times(count, (n) => result(`c${count - 1 - n}`))],
  ],
  ["many results of one call", (count) => [call("c"), ...times(count, () => result("c"))]],
  [
    "many results of one call, in parts",
    (count) => [call("c"), ...times(count, () => result("c", [{ type: "input_text", text: "B" }]))],
  ],
  ["calls with one id", (count) => times(count, () => call("c"))],
  ["results without calls", (count) => times(count, (n) => result(`c${n}`))],
  [
    "prompts between calls and results",
    (count) => times(count, (n) => [call(`c${n}`), prompt("Hi"), result(`c${n}`)]).flat(),
  ],
  [
    "prompts before all results",
    (count) => [
      ...times(count, (n) => call(`c${n}`)),
      ...times(count, (n) => prompt(`${n}`)),
      ...times(count, (n) => result(`c${n}`)),
    ],
  ],
];

describe.each(writers)("a conversation in the format %s", (_, write) => {
  test.each(shapes)("takes time linear in its length with %s", async (_shape, inputOf) => {
    expect(await isLinear(400, (count) => write([prompt("x"), ...inputOf(count)]))).toBe(true);
  });
});
