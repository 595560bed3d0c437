/** Answers of OpenAI-compatible servers in all their variants, as output items. */
import { describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Outcome, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { ChatTranslator } from "@sluice/inference-svc/models/upstream/chat/stream.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { chatChunk } from "../../../support/providers/upstream.js";
import { testRequest, itemsOf, maskIds } from "../../asking.js";
import { thrownFault, shownCall, shownMessage, shownPart, shownThought } from "./shown-items.js";

const target = { upstreamModel: "large-2", tier: "default", original: false };

interface Read {
  readonly events: TurnEvent[];
  readonly items: Record<string, unknown>[];
  readonly outcome: Outcome;
}

function read(chunks: readonly unknown[], request: Partial<TurnRequest> = {}): Read {
  const events: TurnEvent[] = [];
  const translator = new ChatTranslator(testRequest(request), target, (event) => events.push(event));
  for (const chunk of chunks) translator.event(undefined, JSON.stringify(chunk));
  translator.close();
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("no end");
  return { events, items: itemsOf(events), outcome: end.outcome };
}

const toolCall = (index: number, id?: string, name?: string, json?: unknown) => ({
  tool_calls: [{ index, ...(id && { id }), type: "function", function: { ...(name && { name }), arguments: json } }],
});
const stop = chatChunk({}, "stop");

describe("text of a chat answer", () => {
  test("may come with a finish reason, in its chunk or in every chunk", () => {
    const { items, outcome } = read([chatChunk({ content: "a" }, "stop"), chatChunk({ content: "b" }, "stop")]);
    expect(maskIds(items)).toEqual([shownMessage(shownPart("ab"))]);
    expect(outcome.status).toBe("completed");
  });

  test("is read from a content of parts", () => {
    expect(maskIds(read([chatChunk({ content: [{ type: "text", text: "Hi" }] }), stop]).items)).toEqual([
      shownMessage(shownPart("Hi")),
    ]);
  });

  test("has log probabilities only on request", () => {
    const logprobs = { content: [{ token: "Hi", logprob: -0.1, bytes: [72, 105], top_logprobs: [] }] };
    const chunk = { choices: [{ index: 0, delta: { content: "Hi" }, logprobs, finish_reason: "stop" }] };
    expect(JSON.stringify(read([chunk]).events)).not.toContain("-0.1");
    const { events, items } = read([chunk], { topLogprobs: 2 });
    expect(events).toContainEqual({
      type: "text.delta",
      index: 0,
      part: 0,
      delta: "Hi",
      logprobsJson: JSON.stringify(logprobs.content),
    });
    expect(maskIds(items)).toEqual([shownMessage({ ...shownPart("Hi"), logprobs: logprobs.content })]);
  });

  test("is not mixed with other choices", () => {
    const { items } = read([
      {
        choices: [
          { index: 1, delta: { content: "no" } },
          { index: 0, delta: { content: "yes" }, finish_reason: "stop" },
        ],
      },
    ]);
    expect(maskIds(items)).toEqual([shownMessage(shownPart("yes"))]);
  });
});

describe("a refusal and reasoning of a chat answer", () => {
  test("count once when two fields have the same text", () => {
    expect(maskIds(read([chatChunk({ reasoning: "Hm", reasoning_content: "Hm" }), stop]).items)).toEqual([
      shownThought("Hm"),
    ]);
  });
});

describe("reasoning details of a chat answer", () => {
  const details = (...reasoning_details: object[]) => chatChunk({ reasoning_details, reasoning: "twice" });
  const thought = { type: "reasoning.text", text: "Hm", format: "anthropic-claude-v1", index: 0 };

  test("without text give way to the plain reasoning field", () => {
    expect(maskIds(read([details(), stop]).items)).toEqual([shownThought("twice")]);
  });

  test("with sealed text come on request and to clients of the same format, an unknown format as unknown", () => {
    const chunks = [details(thought, { type: "reasoning.encrypted", data: "e", format: "new-v9" }), stop];
    expect(read(chunks).items[0]).not.toHaveProperty("encrypted_content");
    expect(read(chunks, { door: "chat" }).items).toMatchObject([{ encrypted_content: "e", format: "unknown" }]);
    const asked = read(chunks, { include: ["reasoning.encrypted_content"] }).items;
    expect(asked).toMatchObject([{ encrypted_content: "e", format: "unknown", content: [{ text: "Hm" }] }]);
  });

  test("lose a seal that comes after the end of the reasoning", () => {
    const late = chatChunk({ reasoning_details: [{ type: "reasoning.text", signature: "sig" }] });
    expect(maskIds(read([chatChunk({ content: "Hi" }), late, stop]).items)).toEqual([shownMessage(shownPart("Hi"))]);
  });
});

describe("other outputs of a chat answer", () => {
  const image = (url: string) => ({ type: "image_url", image_url: { url } });
  const drawn = (result: string) => ({ type: "image_generation_call", id: "masked", status: "completed", result });

  test.each([
    ["data:image/png;base64,QUJD", "QUJD"],
    ["https://a.example/b.png", "https://a.example/b.png"],
  ])("include an image %s as an item", (url, result) => {
    const { items } = read([chatChunk({ content: "Here:" }), chatChunk({ images: [image(url), image("")] }), stop]);
    expect(maskIds(items)).toEqual([shownMessage(shownPart("Here:")), drawn(result)]);
  });

  test("include speech as its transcript", () => {
    const { items } = read([
      chatChunk({ audio: { id: "a", transcript: "Hel" } }),
      chatChunk({ audio: { transcript: "lo", data: "QUJD" } }),
      stop,
    ]);
    expect(maskIds(items)).toEqual([shownMessage(shownPart("Hello"))]);
  });
});

describe("tool calls of a chat answer", () => {
  test("all numbered 0, as by some servers, are separate items", () => {
    const { items } = read([
      chatChunk(toolCall(0, "a", "f", "{}")),
      chatChunk(toolCall(0, "b", "g", '{"y":2}')),
      chatChunk({}, "tool_calls"),
    ]);
    expect(items.map((item) => [item.call_id, item.name, item.arguments])).toEqual([
      ["a", "f", "{}"],
      ["b", "g", '{"y":2}'],
    ]);
  });

  test.each<[string, readonly [id: string | undefined, name: string | undefined, args: string][], readonly string[]]>([
    [
      "an empty object before the arguments",
      [
        ["a", "f", "{}"],
        [undefined, undefined, '{"x":'],
        [undefined, undefined, "1}"],
      ],
      ['{"x":1}'],
    ],
    ["an empty object alone", [["a", "f", "{}"]], ["{}"]],
    [
      "an empty object in pieces",
      [
        ["a", "f", "{"],
        [undefined, undefined, "}"],
      ],
      ["{}"],
    ],
    [
      "the whole arguments once more",
      [
        ["a", "f", '{"x":'],
        ["a", undefined, "1}"],
        ["a", "f", '{"x":1}'],
      ],
      ['{"x":1}'],
    ],
    [
      "the whole arguments once more without an id",
      [
        ["a", "f", '{"x":1}'],
        [undefined, undefined, '{"x":1}'],
      ],
      ['{"x":1}'],
    ],
    [
      "two calls with one index and one id",
      [
        ["a", "f", '{"x":1}'],
        ["a", "f", '{"x":2}'],
      ],
      ['{"x":1}', '{"x":2}'],
    ],
    [
      "equal calls without an id",
      [
        [undefined, "f", '{"x":1}'],
        [undefined, "f", '{"x":1}'],
      ],
      ['{"x":1}', '{"x":1}'],
    ],
    [
      "calls without arguments and without an id",
      [
        [undefined, "f", "{}"],
        [undefined, "f", "{}"],
      ],
      ["{}", "{}"],
    ],
    [
      "an entry with nothing in it",
      [
        [undefined, "", ""],
        ["a", "f", '{"x":1}'],
      ],
      ['{"x":1}'],
    ],
  ])("all numbered 0 are distinguished by their parts: %s", (_, pieces, expected) => {
    const { items } = read([...pieces.map((piece) => chatChunk(toolCall(0, ...piece))), chatChunk({}, "tool_calls")]);
    expect(items.map((item) => item.arguments)).toEqual(expected);
    expect(new Set(items.map((item) => item.call_id)).size).toBe(expected.length);
  });

  test.each([0, undefined])("all numbered %s, begun before their arguments, get these by id", (index) => {
    const piece = (id: string, name: string, json: string) =>
      chatChunk({ tool_calls: [{ index, id, function: { name, arguments: json } }] });
    const parts = [
      piece("a", "f", ""),
      piece("b", "g", ""),
      piece("a", "", '{"x":'),
      piece("b", "", '{"y":'),
      piece("a", "", "1}"),
      piece("b", "", "2}"),
    ];
    const calls = [
      ["a", "f", '{"x":1}'],
      ["b", "g", '{"y":2}'],
    ];
    const shown = ({ items }: Read) => items.map((item) => [item.call_id, item.name, item.arguments]);
    expect(shown(read([...parts, chatChunk({}, "tool_calls")]))).toEqual(calls);
    const inOrder = [0, 1, 2, 4, 3, 5].map((at) => parts[at]);
    expect(shown(read([...inOrder, chatChunk({}, "tool_calls")]))).toEqual(calls);
  });

  test("all numbered 0 get the pieces of a later call with an earlier id", () => {
    const { items } = read([
      chatChunk(toolCall(0, "a", "f", '{"x":1}')),
      chatChunk(toolCall(0, "a", "g", '{"y":')),
      chatChunk(toolCall(0, "a", undefined, "2}")),
      chatChunk(toolCall(0, "b", "h", "{}")),
      chatChunk({}, "tool_calls"),
    ]);
    expect(items.map((item) => [item.name, item.arguments])).toEqual([
      ["f", '{"x":1}'],
      ["g", '{"y":2}'],
      ["h", "{}"],
    ]);
  });

  test("with a piece of an unknown id behind a whole object make the answer invalid", () => {
    for (const index of [0, undefined]) {
      const piece = (id: string, name: string, json: string) =>
        chatChunk({ tool_calls: [{ index, id, function: { name, arguments: json } }] });
      expect(
        thrownFault(() => read([piece("a", "f", '{"x":1}'), piece("b", "", '{"y":2}'), chatChunk({}, "tool_calls")]))
          .reason,
      ).toBe(FaultReason.PROVIDER_FAILED);
    }
  });

  test("without an index, with id and name in every chunk, are items", () => {
    const piece = (id: string, json: string) =>
      chatChunk({ tool_calls: [{ id, function: { name: "f", arguments: json } }] });
    const { items } = read([piece("a", '{"x":'), piece("a", "1}"), piece("b", "{}"), chatChunk({}, "tool_calls")]);
    expect(items.map((item) => [item.call_id, item.name, item.arguments])).toEqual([
      ["a", "f", '{"x":1}'],
      ["b", "f", "{}"],
    ]);
  });

  test("without an id, with arguments as an object or none, are items", () => {
    const { items } = read([
      chatChunk(toolCall(0, undefined, "f", { x: 1 })),
      chatChunk(toolCall(1, undefined, "g", null)),
      chatChunk({}, "stop"),
    ]);
    expect(maskIds(items)).toEqual([shownCall("f", '{"x":1}'), shownCall("g", "{}")]);
    expect(items[0]?.call_id).toMatch(/^call_[0-9A-Za-z]{22}$/);
    expect(items[0]?.call_id).not.toBe(items[1]?.call_id);
  });

  test("with arguments before the name are items", () => {
    const { items } = read([
      chatChunk(toolCall(0, "a", undefined, '{"x"')),
      chatChunk(toolCall(0, undefined, "f", ":1}")),
      chatChunk({}, "tool_calls"),
    ]);
    expect(maskIds(items)).toEqual([shownCall("f", '{"x":1}')]);
  });

  test("of the deprecated form are read", () => {
    const { items } = read([
      chatChunk({ function_call: { name: "f", arguments: "{" } }),
      chatChunk({ function_call: { arguments: "}" } }),
      chatChunk({}, "function_call"),
    ]);
    expect(maskIds(items)).toEqual([shownCall("f", "{}")]);
  });

  test("without a name make the answer invalid", () => {
    expect(
      thrownFault(() => read([chatChunk(toolCall(0, "a", undefined, "{}")), chatChunk({}, "tool_calls")])).reason,
    ).toBe(FaultReason.PROVIDER_FAILED);
  });

  test("with arguments other than JSON pass unchanged", () => {
    expect(
      maskIds(read([chatChunk(toolCall(0, "a", "f", '{"a":1,"a" 2}')), chatChunk({}, "tool_calls")]).items),
    ).toEqual([shownCall("f", '{"a":1,"a" 2}')]);
  });
});

describe("the end of a chat answer", () => {
  test("may have token counts in the choice, as at Moonshot", () => {
    const choice = { index: 0, delta: {}, finish_reason: "stop", usage: { prompt_tokens: 3, completion_tokens: 2 } };
    expect(read([{ choices: [choice] }]).outcome.usage).toMatchObject({ inputTokens: 3, outputTokens: 2 });
  });

  test.each([
    [{ prompt_tokens: -5, completion_tokens: 1e300 }, 0, 0],
    [{ prompt_tokens: 100_000_000, completion_tokens: 100_000_001 }, 100_000_000, 0],
    [{ prompt_tokens: "12", completion_tokens: "x" }, 12, 0],
    [{ prompt_tokens: null, completion_tokens: 2.9 }, 0, 2],
    [{ prompt_tokens: {}, completion_tokens: Number.NaN }, 0, 0],
  ])("ignores impossible token counts %j", (usage, inputTokens, outputTokens) => {
    expect(read([stop, { choices: [], usage }]).outcome.usage).toMatchObject({ inputTokens, outputTokens });
  });

  test("passes details above their sum to the bill, which limits them", () => {
    const usage = {
      prompt_tokens: 3,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: 9 },
      completion_tokens_details: { reasoning_tokens: 9 },
    };
    expect(read([stop, { choices: [], usage }]).outcome.usage).toMatchObject({ cachedTokens: 9, reasoningTokens: 9 });
  });
});
