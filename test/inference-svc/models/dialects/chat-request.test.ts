/** Requests in the form of chat completions, for the format's vendor and for others, with their dropped fields. */
import { describe, expect, test } from "@jest/globals";
import type { InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { functionTool } from "../../asking.js";
import { buildChatBody, translateChat, otherChat as other, vendorChat as vendor } from "./chat-translation.js";

const messagesOf = (input: readonly InputItem[], target: typeof other = other, more: Partial<TurnRequest> = {}) =>
  buildChatBody({ ...more, input }, target).messages;

const say = (role: string, content: unknown): InputItem => ({ type: "message", role, content });
const calls = (call_id: string, json: string): InputItem => ({
  type: "function_call",
  id: "fc_1",
  call_id,
  name: "f",
  arguments: json,
});
const answers = (call_id: string, output: unknown): InputItem => ({ type: "function_call_output", call_id, output });
/** A model that reasons unless `thinking` disables it, as DeepSeek V4 does. */
const thinker = { ...other, supportedParameters: ["reasoning", "reasoning_content", "thinking.disabled"] };
/** A number JavaScript would round, and white space JSON.stringify would not write. */
const schema = '{"type":"object", "properties":{"n":{"const":12345678901234567890,"multipleOf":1.0}}}';

describe("messages of a chat request", () => {
  test("give the vendor instructions first, and each prompt in its place", () => {
    const input = [say("system", "s"), say("developer", "d"), say("user", "u"), say("system", "late")];
    const expected = (developer: string) => [
      { role: "system", content: "i" },
      { role: "system", content: "s" },
      { role: developer, content: "d" },
      { role: "user", content: "u" },
      { role: "system", content: "late" },
    ];
    expect(messagesOf(input, vendor, { instructions: "i" })).toEqual(expected("developer"));
    expect(messagesOf(input, { ...other, vendor: "mistral" }, { instructions: "i" })).toEqual(expected("system"));
  });

  test("give a server of no known vendor one system message, at the beginning", () => {
    const parts = [{ type: "input_text", text: "d" }];
    const input = [say("system", "s"), say("developer", parts), say("user", "u"), say("developer", "late")];
    const { body, losses } = translateChat({ input, instructions: "i" }, other);
    expect(body["messages"]).toEqual([
      { role: "system", content: "i\n\ns\n\nd" },
      { role: "user", content: "u" },
      { role: "user", content: "late" },
    ]);
    expect(losses.map(([path]) => path)).toEqual(["input.0", "input.1", "input.3.role"]);
  });

  test("keep one text as a string, and send several parts as parts", () => {
    expect(
      messagesOf([
        say("user", [{ type: "input_text", text: "a" }]),
        say("user", [
          { type: "input_text", text: "a" },
          { type: "input_image", image_url: "data:image/png;base64,AA", detail: "auto" },
          { type: "input_image", image_url: "https://a.example/b.png", detail: "original" },
          { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AA" },
          { type: "input_audio", input_audio: { data: "AA", format: "mp3" } },
        ]),
      ]),
    ).toEqual([
      { role: "user", content: "a" },
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
          { type: "image_url", image_url: { url: "https://a.example/b.png", detail: "high" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AA" } },
          { type: "input_audio", input_audio: { data: "AA", format: "mp3" } },
        ],
      },
    ]);
  });

  test("have calls together with the text before them, parallel calls in one message, and no reasoning", () => {
    const input = [
      say("user", "u"),
      { type: "reasoning", id: "r", summary: [] },
      say("assistant", [{ type: "output_text", text: "Checking.", annotations: [] }]),
      calls("a", "{}"),
      { type: "reasoning", id: "r2", summary: [] },
      calls("b", '{"x":1}'),
      answers("a", "1"),
      answers("b", [
        { type: "input_text", text: "2" },
        { type: "input_image", image_url: "data:image/png;base64,AA" },
      ]),
      calls("c", "{}"),
      answers("c", "3"),
    ];
    const call = (id: string, json: string) => ({ id, type: "function", function: { name: "f", arguments: json } });
    expect(messagesOf(input)).toEqual([
      { role: "user", content: "u" },
      { role: "assistant", content: "Checking.", tool_calls: [call("a", "{}"), call("b", '{"x":1}')] },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "tool", tool_call_id: "b", content: "2" },
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }] },
      { role: "assistant", content: null, tool_calls: [call("c", "{}")] },
      { role: "tool", tool_call_id: "c", content: "3" },
    ]);
  });

  test("include a refusal", () => {
    const input = [say("assistant", [{ type: "refusal", refusal: "No." }])];
    expect(messagesOf(input)).toEqual([{ role: "assistant", content: "No." }]);
    expect(messagesOf(input, vendor)).toEqual([{ role: "assistant", content: null, refusal: "No." }]);
  });

  test("include text next to an unanswered call", () => {
    const input = [
      calls("a", "{}"),
      say("assistant", [{ type: "output_text", text: "Checking." }]),
      answers("a", "1"),
      say("assistant", "Done."),
    ];
    expect(messagesOf(input)).toMatchObject([
      { role: "assistant", content: "Checking.", tool_calls: [{ id: "a" }] },
      { role: "tool", tool_call_id: "a" },
      { role: "assistant", content: "Done." },
    ]);
  });
});

describe("settings of a chat request", () => {
  test("are not sent when they are unset", () => {
    expect(buildChatBody({ stream: false })).toEqual({
      model: "m",
      messages: [{ role: "user", content: "Hi" }],
      stream: false,
    });
  });

  const all: Partial<TurnRequest> = {
    maxOutputTokens: 16,
    temperature: 0,
    topP: 0.5,
    topK: 3,
    frequencyPenalty: 1,
    presencePenalty: -1,
    topLogprobs: 2,
    verbosity: "low",
    promptCacheKey: "k",
    reasoning: { effort: "low", summary: "auto" },
    parallelToolCalls: false,
  };
  const common = {
    temperature: 0,
    top_p: 0.5,
    frequency_penalty: 1,
    presence_penalty: -1,
    logprobs: true,
    top_logprobs: 2,
    reasoning_effort: "low",
  };

  test("of every kind are sent to other servers of the format", () => {
    const { body, losses } = translateChat(all, other);
    expect(body).toEqual({ ...buildChatBody({}), ...common, max_tokens: 16, top_k: 3 });
    expect(losses).toEqual([
      ["reasoning.summary", "the format has no field for it"],
      ["text.verbosity", "the endpoint does not support it"],
      ["prompt_cache_key", "the endpoint does not support it"],
    ]);
  });

  test("include the tier of an endpoint at any server", () => {
    expect(translateChat({}, { ...other, tier: "priority" }).body).toMatchObject({ service_tier: "priority" });
  });

  test("of every kind are sent to the vendor of the format", () => {
    const { body, losses } = translateChat(all, { ...vendor, tier: "flex" });
    expect(body).toEqual({
      ...buildChatBody({}, vendor),
      ...common,
      max_completion_tokens: 16,
      verbosity: "low",
      prompt_cache_key: "k",
      service_tier: "flex",
    });
    expect(losses).toEqual([
      ["top_k", "the vendor of the format does not know it"],
      ["reasoning.summary", "the format has no field for it"],
    ]);
  });

  const pictures: Partial<TurnRequest> = { outputModalities: ["text", "image"], imageConfigJson: '{"size":"1K"}' };
  const cache: Partial<TurnRequest> = { promptCacheKey: "k", promptCacheOptionsJson: '{"mode":"explicit"}' };
  test.each<[string, Partial<TurnRequest>, typeof other, object, [string, string][]]>([
    ["truncation, which is done before", { truncation: "auto" }, vendor, {}, []],
    [
      "image settings without images",
      { imageConfigJson: "{}" },
      other,
      {},
      [["image_config", "no images were asked for"]],
    ],
    [
      "image settings, vendor",
      { imageConfigJson: "{}" },
      vendor,
      {},
      [["image_config", "the vendor of the format does not know it"]],
    ],
    ["images", pictures, other, { modalities: ["text", "image"], image_config: { size: "1K" } }, []],
    ["text only", { outputModalities: ["text"] }, other, {}, []],
    [
      "cache settings, vendor",
      cache,
      vendor,
      { prompt_cache_key: "k", prompt_cache_options: { mode: "explicit" } },
      [],
    ],
    [
      "cache settings",
      cache,
      other,
      {},
      [
        ["prompt_cache_key", "the endpoint does not support it"],
        ["prompt_cache_options", "the endpoint does not support it"],
      ],
    ],
    [
      "settings that the operator names",
      { ...cache, verbosity: "max" },
      { ...other, supportedParameters: ["verbosity", "prompt_cache_key", "prompt_cache_options"] },
      { verbosity: "max", prompt_cache_key: "k", prompt_cache_options: { mode: "explicit" } },
      [],
    ],
    ["verbosity, vendor", { verbosity: "max" }, vendor, { verbosity: "high" }, [["text.verbosity", "sent as high"]]],
    ["identity", { identityHash: "h" }, vendor, { safety_identifier: "h" }, []],
    ["identity, elsewhere", { identityHash: "h" }, other, {}, []],
    ["effort", { reasoning: { effort: "minimal" } }, other, { reasoning_effort: "minimal" }, []],
    ["effort, vendor", { reasoning: { effort: "max" } }, vendor, { reasoning_effort: "max" }, []],
    [
      "efforts above high",
      { reasoning: { effort: "xhigh" } },
      other,
      { reasoning_effort: "high" },
      [["reasoning.effort", "sent as high"]],
    ],
    ["no thinking", { reasoning: { effort: "none" } }, thinker, { thinking: { type: "disabled" } }, []],
    ["an effort of a model that thinks", { reasoning: { effort: "high" } }, thinker, { reasoning_effort: "high" }, []],
    ["budget", { reasoning: { maxTokens: 9 } }, vendor, {}, [["reasoning.max_tokens", "the endpoint takes no budget"]]],
    [
      "budget where it is known",
      { reasoning: { maxTokens: 9, effort: "low" } },
      { ...other, supportedParameters: ["reasoning", "reasoning.max_tokens"] },
      { reasoning: { max_tokens: 9 } },
      [["reasoning.effort", "reasoning.max_tokens counts instead"]],
    ],
    ["reasoning by default", { reasoning: { context: "auto", mode: "standard" } }, other, {}, []],
    [
      "reasoning beyond chat",
      {
        reasoning: { context: "all_turns", mode: "pro" },
        include: ["file_search_call.results", "reasoning.encrypted_content"],
      },
      vendor,
      {},
      [
        ["reasoning.context", "the format has no field for it"],
        ["reasoning.mode", "the format has no field for it"],
        ["include.1", "the format has no field for it"],
      ],
    ],
    ["limit of server tools", { maxToolCalls: 3 }, vendor, {}, []],
  ])("include %s, or name it as not sent", (_, request, target, sent, lost) => {
    const { body, losses } = translateChat(request, target);
    expect(body).toEqual({ ...buildChatBody({}, target), ...sent });
    expect(losses).toEqual(lost);
  });

  test("of a thinking model are sent without reasoning when a call is required", () => {
    const { body, losses } = translateChat({ tools: [functionTool()], toolChoice: "required" }, thinker);
    expect(body).toMatchObject({ tool_choice: "required", thinking: { type: "disabled" } });
    expect(losses).toEqual([["reasoning", "the model cannot reason when it must make a call"]]);
  });

  test("include tools with their schema unchanged, choices, and parallel calls", () => {
    const tools = [
      functionTool({ description: "d", parametersJson: schema, strict: true }),
      functionTool({ name: "g" }),
    ];
    const { text, body } = translateChat(
      { tools, toolChoice: { type: "tool", tool: { type: "function", name: "f" } }, parallelToolCalls: false },
      other,
    );
    expect(text).toContain(`"parameters":${schema}`);
    expect(body).toMatchObject({
      tools: [
        { type: "function", function: { name: "f", description: "d", strict: true } },
        { type: "function", function: { name: "g" } },
      ],
      tool_choice: { type: "function", function: { name: "f" } },
      parallel_tool_calls: false,
    });
    expect(buildChatBody({ tools, toolChoice: "required" })).toMatchObject({ tool_choice: "required" });
  });

  test("include the output formats", () => {
    expect(buildChatBody({ textFormat: { type: "text" } })).not.toHaveProperty("response_format");
    expect(buildChatBody({ textFormat: { type: "json_object" } })).toMatchObject({
      response_format: { type: "json_object" },
    });
    const { text } = translateChat(
      { textFormat: { type: "json_schema", name: "n", schemaJson: schema, strict: true } },
      other,
    );
    expect(text).toContain(
      `"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":${schema}}}`,
    );
  });
});
