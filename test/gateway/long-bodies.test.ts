/** The time to read a body grows linearly with its length, at every door and for every shape of its conversation. */
import { describe, expect, test } from "@jest/globals";
import { parseChatRequest } from "@sluice/gateway/doors/chat/request.js";
import { parseMessages } from "@sluice/gateway/doors/messages/request.js";
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { isLinear } from "../support/clock.ts";

const headers = { headers: {}, sessionId: undefined, serviceMetadata: false };

const doors = {
  responses: (body: Buffer) => parseRequest(body, scanObject(body, "body"), headers),
  chat: (body: Buffer) => parseChatRequest(body, scanObject(body, "body"), headers),
  messages: (body: Buffer) => parseMessages(body, scanObject(body, "body"), headers),
};

const times = <Item>(count: number, make: (number: number) => Item): Item[] =>
  Array.from({ length: count }, (_, n) => make(n));
const ids = (count: number) => times(count, (n) => `toolu_${n}`);
const text = (count: number) => "word ".repeat(count);

const asked = (...content: JsonObject[]) => ({ messages: [{ role: "user", content }] });
const answered = (content: readonly JsonObject[], ...more: JsonObject[]) => ({
  messages: [{ role: "user", content: "x" }, { role: "assistant", content }, ...more, { role: "user", content: "y" }],
});
const serverCall = (id: string) => ({ type: "server_tool_use", id, name: "web_search", input: { query: "q" } });
const serverResult = (id: string) => ({ type: "web_search_tool_result", tool_use_id: id, content: [] });
const cited = { type: "web_search_result_location", url: "https://a.example", title: "A", cited_text: "word" };
const toolUse = (id: string) => ({ type: "tool_use", id, name: "f", input: { a: 1 } });
const toolResult = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "B" });
const chatCall = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });

type Shape = readonly [shape: string, door: keyof typeof doors, bodyOf: (count: number) => JsonObject];

const shapes: readonly Shape[] = [
  ["long cited text", "messages", (n) => answered([{ type: "text", text: text(n), citations: times(n, () => cited) }])],
  ["many texts", "messages", (n) => asked(...times(n, () => ({ type: "text", text: "a" })))],
  [
    "many calls of the provider's tools",
    "messages",
    (n) => answered(ids(n).flatMap((id) => [serverCall(id), serverResult(id)])),
  ],
  [
    "many calls with one id",
    "messages",
    (n) => answered([...times(n, () => serverCall("srvtoolu_1")), serverResult("srvtoolu_1")]),
  ],
  [
    "many calls and results",
    "messages",
    (n) => answered(ids(n).map(toolUse), { role: "user", content: ids(n).map(toolResult) }),
  ],
  [
    "a result of many parts",
    "messages",
    (n) =>
      answered([toolUse("toolu_1")], {
        role: "user",
        content: [{ ...toolResult("toolu_1"), content: times(n, () => ({ type: "text", text: "a" })) }],
      }),
  ],
  [
    "many thoughts",
    "messages",
    (n) => answered(times(n, () => ({ type: "thinking", thinking: "Hm", signature: "c2ln" }))),
  ],
  [
    "many messages",
    "messages",
    (n) => ({ messages: times(n, (k) => ({ role: k % 2 === 0 ? "user" : "assistant", content: "a" })) }),
  ],
  [
    "many tools",
    "messages",
    (n) => ({
      ...asked({ type: "text", text: "a" }),
      tools: times(n, (k) => ({ name: `f${k}`, input_schema: { type: "object" } })),
    }),
  ],
  [
    "many unknown fields",
    "messages",
    (n) => ({ ...asked({ type: "text", text: "a" }), ...Object.fromEntries(times(n, (k) => [`x${k}`, k])) }),
  ],
  [
    "many messages",
    "chat",
    (n) => ({ messages: times(n, (k) => ({ role: k % 2 === 0 ? "user" : "assistant", content: "a" })) }),
  ],
  ["many parts", "chat", (n) => asked(...times(n, () => ({ type: "text", text: "a" })))],
  [
    "many calls and results",
    "chat",
    (n) => ({
      messages: [
        { role: "user", content: "x" },
        { role: "assistant", content: null, tool_calls: ids(n).map(chatCall) },
        ...ids(n).map((id) => ({ role: "tool", tool_call_id: id, content: "B" })),
      ],
    }),
  ],
  [
    "a long annotated text",
    "chat",
    (n) => ({
      messages: [
        { role: "user", content: "x" },
        {
          role: "assistant",
          content: text(n),
          annotations: times(n, () => ({
            type: "url_citation",
            url_citation: { url: "https://a.example", title: "A", start_index: 0, end_index: 4 },
          })),
        },
        { role: "user", content: "y" },
      ],
    }),
  ],
  [
    "many unknown fields",
    "chat",
    (n) => ({ ...asked({ type: "text", text: "a" }), ...Object.fromEntries(times(n, (k) => [`x${k}`, k])) }),
  ],
  ["many items", "responses", (n) => ({ input: times(n, () => ({ role: "user", content: "a" })) })],
  ["many unknown fields", "responses", (n) => ({ input: "a", ...Object.fromEntries(times(n, (k) => [`x${k}`, k])) })],
  ["a long text full of escapes", "responses", (n) => ({ input: '\n"\u0001'.repeat(20 * n) })],
];

describe.each(shapes)("a body with %s at the %s door", (_shape, door, bodyOf) => {
  test("is read in time linear in its length", async () => {
    const bodies = new Map<number, Buffer>();
    const body = (size: number): Buffer => {
      const known = bodies.get(size) ?? Buffer.from(JSON.stringify({ model: "a/b", max_tokens: 5, ...bodyOf(size) }));
      bodies.set(size, known);
      return known;
    };
    for (const size of [1_000, 8_000]) body(size);
    expect(await isLinear(1_000, (size) => doors[door](body(size)))).toBe(true);
  });
});
