/** Escapes of half a surrogate pair, which most JSON parsers refuse, leave neither in an answer nor in a request. */
import { describe, expect, test } from "@jest/globals";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { Output } from "@sluice/inference-svc/models/upstream/events/output.js";
import { LoneEscapes, repairEscapes } from "@sluice/inference-svc/models/upstream/translate/lone-escapes.js";
import { chatChunk } from "../../../support/providers/upstream.js";
import { functionTool, itemsOf } from "../../asking.js";
import { otherChat, translateChat } from "../dialects/chat-translation.js";
import { translateToCohere } from "../dialects/cohere-translation.js";
import { translateToConverse } from "../dialects/converse-translation.js";
import { translateToGemini } from "../dialects/gemini-translation.js";
import { translateToMessages } from "../dialects/messages-translation.js";
import { runAgainstServer, sseReply } from "../servers/odd-server.js";

const texts: readonly (readonly [given: string, repaired: string])[] = [
  ['{"a":"x\\ud99c y"}', '{"a":"x\\ufffd y"}'],
  ['{"a":"\\uDE00"}', '{"a":"\\ufffd"}'],
  ['{"a":"\\ud83d\\ud83d\\ude00"}', '{"a":"\\ufffd\\ud83d\\ude00"}'],
  ['{"a":"\\ude00\\ud83d"}', '{"a":"\\ufffd\\ufffd"}'],
  ['{"a":"\\ud83d\\n"}', '{"a":"\\ufffd\\n"}'],
  ['{"a":"\\ud83d\\u00e9"}', '{"a":"\\ufffd\\u00e9"}'],
];
const sound = [
  '{"a":"\\ud83d\\ude00 \\u00e9 \\" \\\\ud800 \\\\\\\\udc00"}',
  '{"pattern":"[\\\\ud800-\\\\udfff]"}',
  "{}",
  "",
];

describe("half a surrogate pair in JSON", () => {
  test.each([...texts, ...sound.map((text) => [text, text] as const)])(
    "is read in pieces of any length from %j",
    (given, repaired) => {
      expect(repairEscapes(given)).toBe(repaired);
      for (let length = 1; length <= Math.max(1, given.length); length++) {
        const escapes = new LoneEscapes();
        const pieces = given.match(new RegExp(`[^]{1,${length}}`, "g")) ?? [];
        expect(pieces.map((piece) => escapes.read(piece)).join("") + escapes.end()).toBe(repaired);
      }
    },
  );

  test("is kept when a text ends within an escape", () => {
    for (const cut of ['{"a":"\\', '{"a":"\\u', '{"a":"\\ud8']) {
      const escapes = new LoneEscapes();
      expect(escapes.read(cut) + escapes.end()).toBe(cut);
    }
  });
});

describe("a model's tool call with half a surrogate pair", () => {
  const piece = (json: string) =>
    chatChunk({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: json } }] });
  const whole = (json: string) => ({
    chunks: [
      {
        json: {
          choices: [
            {
              message: { tool_calls: [{ id: "c", function: { name: "f", arguments: json } }] },
              finish_reason: "tool_calls",
            },
          ],
        },
      },
    ],
  });

  test.each(texts)("in %j is repaired, in a stream and whole", async (given, repaired) => {
    const half = given.indexOf("u") + 2;
    const streamed = sseReply(
      piece(given.slice(0, half)),
      piece(given.slice(half)),
      chatChunk({}, "tool_calls"),
      "[DONE]",
    );
    for (const reply of [streamed, whole(given)]) {
      const { events } = await runAgainstServer(reply);
      expect(itemsOf(events)).toMatchObject([{ type: "function_call", arguments: repaired }]);
      const deltas = events.flatMap((event) => (event.type === "arguments.delta" ? [event.delta] : []));
      expect(deltas.join("")).toBe(repaired);
    }
  });

  test.each(texts)("in %j is not repeated by its last chunk", async (given, repaired) => {
    const { events } = await runAgainstServer(
      sseReply(piece(given), piece(given), chatChunk({}, "tool_calls"), "[DONE]"),
    );
    expect(itemsOf(events)).toMatchObject([{ type: "function_call", arguments: repaired }]);
  });

  test.each(texts)("in %j gets the end that was not streamed", (given, repaired) => {
    for (let length = 1; length <= given.length; length++) {
      const events: TurnEvent[] = [];
      const call = new Output((event) => events.push(event)).call("f", "c");
      call.arguments(given.slice(0, length));
      call.complete(given);
      call.end("completed");
      expect(itemsOf(events)).toMatchObject([{ type: "function_call", arguments: repaired }]);
    }
  });

  test("in the history is not sent to any vendor", () => {
    const input = [
      { type: "message", role: "user", content: "Hi" },
      { type: "function_call", call_id: "c", name: "f", arguments: texts[0]![0] },
      { type: "function_call_output", call_id: "c", output: "x" },
    ];
    const tools = [functionTool({ name: "f", parametersJson: '{"type":"object","properties":{}}' })];
    const reason = "repaired: sent with U+FFFD for half a surrogate pair, because most JSON parsers refuse it";
    const sent = [
      translateToMessages({ input, tools }),
      translateChat({ input, tools }, otherChat),
      translateToGemini({ input, tools }),
      translateToCohere({ input, tools }),
      translateToConverse({ input, tools }),
    ];
    for (const { body, losses } of sent) {
      expect(JSON.stringify(body)).not.toMatch(/ud99c/i);
      expect(losses).toEqual([["input.1.arguments", reason]]);
    }
  });
});

test("half a surrogate pair in a text is replaced in a whole answer, too", async () => {
  const answer = {
    choices: [{ message: { content: "a \ud83d b", reasoning_content: "c \udc00" }, finish_reason: "stop" }],
  };
  const { events } = await runAgainstServer({ chunks: [{ json: answer }] });
  expect(JSON.stringify(itemsOf(events))).not.toMatch(/\\ud/i);
  expect(itemsOf(events)).toMatchObject([{ type: "reasoning" }, { content: [{ text: "a \ufffd b" }] }]);
});
