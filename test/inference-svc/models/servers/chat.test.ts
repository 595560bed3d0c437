/** Answers of OpenAI-compatible servers of all vendors: no text is lost or invented, and the end is right. */
import { describe, expect, test } from "@jest/globals";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Chunk, chatChunk } from "../../../support/providers/upstream.js";
import { runAgainstServer, greetingChunk, outcomeOf, readItems, stopChunk, sseReply } from "./odd-server.js";
import { itemsOf } from "../../asking.js";

describe("the finish reason of a chat server", () => {
  test.each<[string, "completed" | "max_output_tokens" | "content_filter" | FaultReason]>([
    ["stop", "completed"],
    ["eos_token", "completed"],
    ["end_turn", "completed"],
    ["STOP", "completed"],
    ["length", "max_output_tokens"],
    ["MAX_TOKENS", "max_output_tokens"],
    ["model_length", "max_output_tokens"],
    ["model_context_window_exceeded", "max_output_tokens"],
    ["content_filter", "content_filter"],
    ["content_filter: RECITATION", "content_filter"],
    ["SAFETY", "content_filter"],
    ["sensitive", "content_filter"],
    ["abort", FaultReason.PROVIDER_FAILED],
    ["network_error", FaultReason.PROVIDER_FAILED],
    ["insufficient_system_resource", FaultReason.PROVIDER_OVERLOADED],
    ["function_call_filter: MALFORMED_FUNCTION_CALL", FaultReason.PROVIDER_FAILED],
  ])("%s means %s in the contract", async (finish, expected) => {
    const ending = await runAgainstServer(sseReply(greetingChunk, chatChunk({}, finish), "[DONE]"));
    if (typeof expected === "number") expect(ending.fault?.reason).toBe(expected);
    else expect(outcomeOf(ending).reason ?? outcomeOf(ending).status).toBe(expected);
    if (typeof expected === "number")
      expect(readItems(await runAgainstServer(sseReply(chatChunk({}, finish), "[DONE]"), { fallback: true }))).toEqual([
        "Good.",
      ]);
  });
});

describe("a chat server's answer", () => {
  test("of Mistral has reasoning in a part of the content", async () => {
    const thinking = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
    const streamed = await runAgainstServer(
      sseReply(
        chatChunk({ role: "assistant", content: "" }),
        chatChunk({ content: [thinking("They want ")] }),
        chatChunk({ content: [thinking("the time.")] }),
        chatChunk({ content: [{ type: "text", text: "It is " }] }),
        chatChunk({ content: "noon." }),
        stopChunk,
        "[DONE]",
      ),
    );
    expect(readItems(streamed)).toEqual([{ thought: "They want the time." }, "It is noon."]);
    const content = [
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "Noon." },
      { type: "reference", reference_ids: [1] },
    ];
    const reply = { chunks: [{ json: { choices: [{ message: { content }, finish_reason: "stop" }] } }] };
    expect(readItems(await runAgainstServer(reply))).toEqual([{ thought: "Hm." }, "Noon."]);
  });

  test("of Azure has filter results first, and in chunks without text", async () => {
    const filter = { hate: { filtered: false, severity: "safe" } };
    const ending = await runAgainstServer(
      sseReply(
        {
          choices: [],
          created: 0,
          id: "",
          model: "",
          object: "",
          prompt_filter_results: [{ prompt_index: 0, content_filter_results: filter }],
        },
        greetingChunk,
        {
          choices: [
            {
              index: 0,
              finish_reason: null,
              content_filter_offsets: { check_offset: 0 },
              content_filter_results: filter,
            },
          ],
        },
        chatChunk({}, "content_filter"),
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
        "[DONE]",
      ),
    );
    expect([readItems(ending), outcomeOf(ending).reason]).toEqual([["Hi"], "content_filter"]);
  });

  test("of Google is read with the number 0 for every call, without ids", async () => {
    const piece = (name: string, json: string) => ({
      index: 0,
      id: "",
      type: "function",
      function: { name, arguments: json },
    });
    const calls = [
      { call: "f", arguments: '{"a":1}' },
      { call: "f", arguments: '{"a":2}' },
      { call: "g", arguments: "{}" },
    ];
    const pieces = [piece("f", '{"a":1}'), piece("f", '{"a":2}'), piece("g", "{}")];
    expect(
      readItems(await runAgainstServer(sseReply(chatChunk({ tool_calls: pieces }), chatChunk({}, "tool_calls")))),
    ).toEqual(calls);
    const apart = pieces.map((one) => chatChunk({ tool_calls: [one] }));
    expect(readItems(await runAgainstServer(sseReply(...apart, chatChunk({}, "tool_calls"))))).toEqual(calls);
  });

  test("with a name in every piece of a call is one call", async () => {
    const piece = (json: string) =>
      chatChunk({ tool_calls: [{ index: 0, id: "", function: { name: "f", arguments: json } }] });
    const ending = await runAgainstServer(
      sseReply(piece(""), piece('{"a":'), piece("{"), piece("}}"), chatChunk({}, "tool_calls")),
    );
    expect(readItems(ending)).toEqual([{ call: "f", arguments: '{"a":{}}' }]);
  });

  test("with another id in every piece of a call is one call, until a piece has a name", async () => {
    const piece = (id: string, name: string | null | undefined, json: string) =>
      chatChunk({ tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: json } }] });
    const ending = await runAgainstServer(
      sseReply(
        piece("tool-a9", "f", ""),
        piece("call_b4", "", '{"city": "'),
        piece("call_ed", null, "Oslo"),
        piece("call_72", undefined, '"}'),
        piece("call_73", "", ""),
        piece("call_c1", "g", ""),
        piece("call_c2", "", '{"n":1}'),
        chatChunk({}, "tool_calls"),
      ),
    );
    expect(readItems(ending)).toEqual([
      { call: "f", arguments: '{"city": "Oslo"}' },
      { call: "g", arguments: '{"n":1}' },
    ]);
    expect(itemsOf(ending.events).map((item) => item.call_id)).toEqual(["tool-a9", "call_c1"]);
  });

  test("with the whole message after its deltas has each text once", async () => {
    const wholeChunk = (message: object, finish = "stop") => ({
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
    });
    const said = async (...chunks: readonly object[]) =>
      readItems(await runAgainstServer(sseReply(...chunks, "[DONE]")));
    const call = { index: 0, id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
    expect(await said(greetingChunk, chatChunk({ content: " you" }), wholeChunk({ content: "Hi you" }))).toEqual([
      "Hi you",
    ]);
    expect(await said(greetingChunk, wholeChunk({ content: "Hi you" }))).toEqual(["Hi you"]);
    expect(await said(greetingChunk, wholeChunk({ content: "Hi", tool_calls: [call] }, "tool_calls"))).toEqual([
      "Hi",
      { call: "f", arguments: '{"a":1}' },
    ]);
    expect(
      await said(
        greetingChunk,
        chatChunk({ tool_calls: [call] }),
        wholeChunk({ content: "Hi", tool_calls: [call] }, "tool_calls"),
      ),
    ).toEqual(["Hi", { call: "f", arguments: '{"a":1}' }]);
  });

  test("with its text only in the whole message after other deltas has the text", async () => {
    const wholeChunk = (content: unknown) => ({
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    });
    const said = async (...chunks: readonly object[]) =>
      readItems(await runAgainstServer(sseReply(...chunks, "[DONE]")));
    const call = { index: 0, id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
    const thought = chatChunk({ reasoning_content: "Hm." });
    expect(await said(thought, wholeChunk("Noon."))).toEqual([{ thought: "Hm." }, "Noon."]);
    expect(await said(thought, wholeChunk([{ type: "text", text: "Noon." }]))).toEqual([{ thought: "Hm." }, "Noon."]);
    expect(await said(chatChunk({ tool_calls: [call] }), wholeChunk("Noon."))).toEqual([
      { call: "f", arguments: '{"a":1}' },
      "Noon.",
    ]);
    expect(await said(greetingChunk, wholeChunk("Noon."))).toEqual(["HiNoon."]);
    expect(await said(greetingChunk, thought, chatChunk({ content: " you" }), wholeChunk("Hi you!"))).toEqual([
      "Hi",
      { thought: "Hm." },
      " you!",
    ]);
  });

  test("with a whole message after its deltas has all that the deltas did not have", async () => {
    const last = (message: object) => ({ choices: [{ index: 0, message, finish_reason: "stop" }] });
    const itemsAfter = async (...chunks: readonly object[]) =>
      itemsOf((await runAgainstServer(sseReply(...chunks, "[DONE]"))).events);
    const url_citation = { url: "https://a.example/", title: "A", start_index: 0, end_index: 2 };
    const cited = { content: "Hi", annotations: [{ type: "url_citation", url_citation }] };
    const annotations = [{ type: "url_citation", ...url_citation }];
    expect(await itemsAfter(greetingChunk, last(cited))).toMatchObject([{ content: [{ text: "Hi", annotations }] }]);
    expect(await itemsAfter(greetingChunk, chatChunk({ annotations: cited.annotations }), last(cited))).toMatchObject([
      { content: [{ text: "Hi", annotations }] },
    ]);
    const refused = await itemsAfter(chatChunk({ refusal: "I can" }), last({ content: null, refusal: "I cannot." }));
    expect(refused).toMatchObject([{ content: [{ type: "refusal", refusal: "I cannot." }] }]);
    const images = ["QUJD", "REVG"].map((data) => ({ image_url: { url: `data:image/png;base64,${data}` } }));
    expect(await itemsAfter(chatChunk({ images: images.slice(0, 1) }), last({ images }))).toMatchObject([
      { result: "QUJD" },
      { result: "REVG" },
    ]);
    expect(await itemsAfter(greetingChunk, last({ content: "Hi", reasoning_content: "Hm." }))).toMatchObject([
      { type: "message" },
      { content: [{ text: "Hm." }] },
    ]);
    const called = (id: string, args: string) => ({ id, type: "function", function: { name: "f", arguments: args } });
    const calls = [called("c1", '{"a":1}'), called("c2", '{"a":2}')];
    const begun = chatChunk({ tool_calls: [{ index: 0, ...called("c1", '{"a":') }] });
    const both = [
      { call_id: "c1", arguments: '{"a":1}' },
      { call_id: "c2", arguments: '{"a":2}' },
    ];
    expect(await itemsAfter(begun, last({ content: null, tool_calls: calls }))).toMatchObject(both);
    const whole = chatChunk({ tool_calls: calls.map((call, index) => ({ index, ...call })) });
    expect(await itemsAfter(whole, last({ content: "", tool_calls: calls }))).toMatchObject(both);
    expect(await itemsAfter(greetingChunk, whole, last({ content: "Hi", tool_calls: calls }))).toHaveLength(3);
  });

  test("with every piece as a message is read piece by piece", async () => {
    const piece = (content: string, finish: string | null = null) => ({
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: finish }],
    });
    expect(
      readItems(await runAgainstServer(sseReply(piece("ha"), piece("ha"), piece("ha!", "stop"), "[DONE]"))),
    ).toEqual(["hahaha!"]);
    const role = chatChunk({ role: "assistant", content: "" });
    expect(
      readItems(await runAgainstServer(sseReply(role, piece("ha"), piece("ho"), piece("ha!", "stop"), "[DONE]"))),
    ).toEqual(["hahoha!"]);
  });

  test("with two calls of one id has two calls", async () => {
    const piece = (index: number) => ({ index, id: "call_1", function: { name: "f", arguments: "{}" } });
    const ending = await runAgainstServer(
      sseReply(chatChunk({ tool_calls: [piece(0), piece(1)] }), chatChunk({}, "tool_calls")),
    );
    const ids = itemsOf(ending.events).map((item) => item.call_id);
    expect([ids[0], new Set(ids).size]).toEqual(["call_1", 2]);
  });

  test("with a finish reason in every chunk continues while text comes", async () => {
    const word: Chunk = { afterMs: 400, sse: [chatChunk({ content: "x" }, "stop")] };
    const ending = await runAgainstServer(
      { chunks: [word, word, word, word, { sse: ["[DONE]"] }] },
      { timeouts: { idle_ms: 1_000 } },
    );
    expect(readItems(ending)).toEqual(["xxxx"]);
  });

  test("of Perplexity and xAI has its sources next to the choices", async () => {
    const text = "\u{1f600} It rains [2], and will [1][9].";
    const sources = { citations: ["https://a.example/", "https://b.example/"] };
    const titled = {
      search_results: [
        { url: "https://a.example/", title: "A" },
        { url: "https://b.example/", title: "B" },
      ],
    };
    const cited = async (...chunks: readonly unknown[]) => {
      const [item] = itemsOf((await runAgainstServer(sseReply(...chunks, "[DONE]"))).events);
      return (item?.content as { annotations: unknown }[] | undefined)?.[0]?.annotations;
    };
    expect(
      await cited(chatChunk({ content: text }, null, sources), chatChunk({}, "stop", { ...sources, ...titled })),
    ).toEqual([
      { type: "url_citation", url: "https://b.example/", title: "B", start_index: 11, end_index: 14 },
      { type: "url_citation", url: "https://a.example/", title: "A", start_index: 25, end_index: 28 },
    ]);
    expect(
      await cited(chatChunk({ content: "\u{1f600}!" }), chatChunk({}, "stop"), {
        choices: [],
        citations: ["https://a.example/"],
      }),
    ).toEqual([{ type: "url_citation", url: "https://a.example/", title: "", start_index: 0, end_index: 2 }]);
    expect(await cited(chatChunk({ content: "Hi [1]" }), chatChunk({}, "stop", { citations: [] }))).toEqual([]);
  });
});

describe("token counts of a chat server", () => {
  const none = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  test.each<[string, object, object]>([
    [
      "OpenAI",
      {
        prompt_tokens: 9,
        completion_tokens: 5,
        total_tokens: 14,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
      { inputTokens: 9, outputTokens: 5, cachedTokens: 4, reasoningTokens: 2 },
    ],
    [
      "xAI: thoughts beside the answer",
      {
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 135,
        completion_tokens_details: { reasoning_tokens: 94 },
      },
      { inputTokens: 32, outputTokens: 103, reasoningTokens: 94 },
    ],
    [
      "Google: thoughts in the total only",
      { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 },
      { inputTokens: 20, outputTokens: 603, reasoningTokens: 405 },
    ],
    [
      "DeepSeek",
      {
        prompt_tokens: 9,
        completion_tokens: 5,
        total_tokens: 14,
        prompt_cache_hit_tokens: 4,
        prompt_cache_miss_tokens: 5,
      },
      { inputTokens: 9, outputTokens: 5, cachedTokens: 4 },
    ],
    [
      "Moonshot",
      { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14, cached_tokens: 9 },
      { inputTokens: 9, outputTokens: 5, cachedTokens: 9 },
    ],
    [
      "SGLang",
      { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14, reasoning_tokens: 3, prompt_tokens_details: null },
      { inputTokens: 9, outputTokens: 5, reasoningTokens: 3 },
    ],
    [
      "LiteLLM",
      {
        prompt_tokens: 9,
        completion_tokens: 5,
        total_tokens: 14,
        prompt_tokens_details: { cached_tokens: 2, cache_creation_tokens: 3 },
      },
      { inputTokens: 9, outputTokens: 5, cachedTokens: 2, cacheWriteTokens: 3 },
    ],
    [
      "strings",
      { prompt_tokens: "9", completion_tokens: "5", total_tokens: "14" },
      { inputTokens: 9, outputTokens: 5 },
    ],
    [
      "a total that is less",
      { prompt_tokens: 9, completion_tokens: 5, total_tokens: 5 },
      { inputTokens: 9, outputTokens: 5 },
    ],
  ])("are read from %s", async (_, usage, expected) => {
    const ending = await runAgainstServer(sseReply(greetingChunk, stopChunk, { choices: [], usage }, "[DONE]"));
    expect(outcomeOf(ending).usage).toMatchObject({ ...none, ...expected });
    expect(outcomeOf(ending).usage?.estimated).toBeUndefined();
  });

  test("are estimated from a single total", async () => {
    const usage = { total_tokens: 90_000 };
    const counted = outcomeOf(await runAgainstServer(sseReply(greetingChunk, stopChunk, { choices: [], usage }))).usage;
    expect(counted).toMatchObject({ estimated: true, outputTokens: 1, reasoningTokens: 0 });
  });

  test.each<[string, readonly unknown[]]>([
    [
      "in the last delta",
      [greetingChunk, chatChunk({ content: "" }, "stop", { usage: { prompt_tokens: 9, completion_tokens: 5 } })],
    ],
    [
      "in the choice",
      [
        greetingChunk,
        {
          choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: { prompt_tokens: 9, completion_tokens: 5 } }],
        },
      ],
    ],
    [
      "before the end, with null afterwards",
      [
        chatChunk({ content: "Hi" }, null, { usage: { prompt_tokens: 9, completion_tokens: 5 } }),
        chatChunk({}, "stop", { usage: null }),
      ],
    ],
  ])("are read %s", async (_, events) => {
    expect(outcomeOf(await runAgainstServer(sseReply(...events, "[DONE]"))).usage).toMatchObject({
      inputTokens: 9,
      outputTokens: 5,
    });
  });
});
