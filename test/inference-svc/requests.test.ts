/** What a turn looks like in the words of each dialect. */
import { describe, expect, test } from "@jest/globals";
import type { InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { chatBody } from "@sluice/inference-svc/upstream/chat/request.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { asking, functionTool } from "./asking.js";

const other = { upstreamModel: "m", tier: "default", original: false };
const vendor = { ...other, original: true };

const chatOf = (request: Partial<TurnRequest>, target = other) =>
  JSON.parse(chatBody(asking(request), target)) as Record<string, unknown>;
const messagesOf = (input: readonly InputItem[], target = other, more: Partial<TurnRequest> = {}) =>
  chatOf({ ...more, input }, target).messages;

const say = (role: string, content: unknown): InputItem => ({ type: "message", role, content });
const calls = (call_id: string, json: string): InputItem => ({
  type: "function_call",
  id: "fc_1",
  call_id,
  name: "f",
  arguments: json,
});
const answers = (call_id: string, output: unknown): InputItem => ({ type: "function_call_output", call_id, output });
/** What JavaScript would round, in a form that it would not write. */
const schema = '{"type":"object", "properties":{"n":{"const":12345678901234567890,"multipleOf":1.0}}}';

describe("chat messages", () => {
  test("instructions first; developer is system outside of the vendor", () => {
    const input = [say("system", "s"), say("developer", "d"), say("user", "u")];
    const expected = (developer: string) => [
      { role: "system", content: "i" },
      { role: "system", content: "s" },
      { role: developer, content: "d" },
      { role: "user", content: "u" },
    ];
    expect(messagesOf(input, other, { instructions: "i" })).toEqual(expected("system"));
    expect(messagesOf(input, vendor, { instructions: "i" })).toEqual(expected("developer"));
  });

  test("parts: one text stays a string, others become parts", () => {
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

  test("calls go with the text before them into one message, parallel ones together; reasoning is left out", () => {
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
      { role: "tool", tool_call_id: "b", content: "2\n" },
      { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }] },
      { role: "assistant", content: null, tool_calls: [call("c", "{}")] },
      { role: "tool", tool_call_id: "c", content: "3" },
    ]);
  });

  test("a refusal that was given", () => {
    const input = [say("assistant", [{ type: "refusal", refusal: "No." }])];
    expect(messagesOf(input)).toEqual([{ role: "assistant", content: "No." }]);
    expect(messagesOf(input, vendor)).toEqual([{ role: "assistant", content: null, refusal: "No." }]);
  });

  test.each<[string, InputItem]>([
    ["custom_tool_call", { type: "custom_tool_call", call_id: "a", name: "f", input: "x" }],
    ["file_id", say("user", [{ type: "input_image", file_id: "file_1" }])],
    ["file_url", say("user", [{ type: "input_file", file_url: "https://a.example/" }])],
    ["type other", say("user", [{ type: "input_text", text: "" }, { type: "other" }])],
  ])("%s cannot be said in chat: another endpoint may be able to", (what, item) => {
    expect(() => messagesOf([item])).toThrow(Fault);
    try {
      messagesOf([item]);
    } catch (error) {
      expect([(error as Fault).reason, (error as Fault).message.includes(what)]).toEqual([
        FaultReason.NO_ENDPOINTS,
        true,
      ]);
    }
  });
});

describe("chat settings", () => {
  test("nothing that was not asked for", () => {
    expect(chatOf({ stream: false })).toEqual({
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

  test("everything, elsewhere", () => {
    expect(chatOf(all)).toEqual({ ...chatOf({}), ...common, max_tokens: 16, top_k: 3 });
  });

  test("everything, with the vendor of the format", () => {
    expect(chatOf(all, { ...vendor, tier: "flex" })).toEqual({
      ...chatOf({}, vendor),
      ...common,
      max_completion_tokens: 16,
      verbosity: "low",
      prompt_cache_key: "k",
      service_tier: "flex",
    });
  });

  test("tools with their schema as it was written, choices, parallel calls", () => {
    const tools = [
      functionTool({ description: "d", parametersJson: schema, strict: true }),
      functionTool({ name: "g" }),
    ];
    const body = chatBody(
      asking({ tools, toolChoice: { type: "tool", tool: { type: "function", name: "f" } }, parallelToolCalls: false }),
      other,
    );
    expect(body).toContain(`"parameters":${schema}`);
    expect(JSON.parse(body)).toMatchObject({
      tools: [
        { type: "function", function: { name: "f", description: "d", strict: true } },
        { type: "function", function: { name: "g" } },
      ],
      tool_choice: { type: "function", function: { name: "f" } },
      parallel_tool_calls: false,
    });
    expect(chatOf({ tools, toolChoice: "required" })).toMatchObject({ tool_choice: "required" });
  });

  test("output formats", () => {
    expect(chatOf({ textFormat: { type: "text" } })).not.toHaveProperty("response_format");
    expect(chatOf({ textFormat: { type: "json_object" } })).toMatchObject({ response_format: { type: "json_object" } });
    const body = chatBody(
      asking({ textFormat: { type: "json_schema", name: "n", schemaJson: schema, strict: true } }),
      other,
    );
    expect(body).toContain(
      `"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":${schema}}}`,
    );
  });
});
