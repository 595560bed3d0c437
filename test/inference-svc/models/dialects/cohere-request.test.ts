/** Requests in the form of Cohere (https://docs.cohere.com/reference/chat), with their dropped fields. */
import { describe, expect, test } from "@jest/globals";
import type { HostedTool, InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { functionTool } from "../../asking.js";
import {
  buildCohereBody,
  cohereTarget,
  findCohereDropped,
  refuseCohereRequest,
  translateToCohere,
} from "./cohere-translation.js";

const say = (role: string, content: unknown): InputItem => ({ type: "message", role, content });
const calls = (call_id: string, json = "{}", name = "f"): InputItem => ({
  type: "function_call",
  id: `fc_${call_id}`,
  call_id,
  name,
  arguments: json,
});
const answers = (call_id: string, output: unknown): InputItem => ({ type: "function_call_output", call_id, output });
const thinks = (fields: object = {}): InputItem => ({
  type: "reasoning",
  id: "rs_1",
  summary: [],
  content: [{ type: "reasoning_text", text: "Hm." }],
  ...fields,
});
const text = (words: string, more: object = {}) => ({ type: "input_text", text: words, ...more });
const image = (image_url: unknown, more: object = {}) => ({ type: "input_image", image_url, ...more });
const messagesOf = (input: readonly InputItem[], at = cohereTarget) => buildCohereBody({ input }, at).messages;
const called = (id: string, args = "{}", name = "f") => ({ id, type: "function", function: { name, arguments: args } });
/** An endpoint that accepts reasoning in messages. */
const thoughtful = { ...cohereTarget, supportedParameters: ["reasoning", "reasoning_content"] };
/** A number JavaScript would round, and white space JSON.stringify would not write. */
const schema =
  '{"type":"object", "properties":{"n":{"const":12345678901234567890,"default":1.0}},"additionalProperties":false}';
const png = "data:image/png;base64,QUJD";

test("a plain question at Cohere is the model, the stream setting and its message", () => {
  expect(translateToCohere({})).toMatchObject({ losses: [] });
  expect(buildCohereBody({})).toEqual({
    model: "command-a-plus-05-2026",
    stream: true,
    messages: [{ role: "user", content: "Hi" }],
  });
  expect(buildCohereBody({ stream: false }).stream).toBe(false);
});

describe("messages for Cohere", () => {
  test("have images by URL and inline, with their detail", () => {
    const content = [
      text("What is this?"),
      image("https://a.example/a.png"),
      image(png, { detail: "low" }),
      image(png, { detail: "original" }),
    ];
    const { body, losses } = translateToCohere({ input: [say("user", content)] });
    expect(body.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url: "https://a.example/a.png" } },
          { type: "image_url", image_url: { url: png, detail: "low" } },
          { type: "image_url", image_url: { url: png, detail: "high" } },
        ],
      },
    ]);
    expect(losses).toEqual([["input.0.content.3.detail", "sent as high"]]);
  });

  test("have a text next to calls as their plan, and outputs after them", () => {
    const input = [
      say("user", "Weather?"),
      say("assistant", [{ type: "output_text", text: "I will look." }]),
      calls("a", '{"town":"Oslo"}'),
      calls("b"),
      answers("a", "2 °C"),
      answers("b", [text("one"), text("two")]),
      say("assistant", "Cold."),
    ];
    expect(messagesOf(input)).toEqual([
      { role: "user", content: "Weather?" },
      { role: "assistant", tool_plan: "I will look.", tool_calls: [called("a", '{"town":"Oslo"}'), called("b")] },
      { role: "tool", tool_call_id: "a", content: "2 °C" },
      {
        role: "tool",
        tool_call_id: "b",
        content: [
          { type: "text", text: "one" },
          { type: "text", text: "two" },
        ],
      },
      { role: "assistant", content: "Cold." },
    ]);
  });

  test("have images of outputs after all outputs, as a message of the user", () => {
    const input = [calls("a"), calls("b"), answers("a", [text("x"), image(png)]), answers("b", ""), calls("c")];
    expect(messagesOf(input)).toEqual([
      { role: "assistant", tool_calls: [called("a"), called("b")] },
      { role: "tool", tool_call_id: "a", content: "x" },
      { role: "tool", tool_call_id: "b", content: "" },
      { role: "user", content: [{ type: "image_url", image_url: { url: png } }] },
      { role: "assistant", tool_calls: [called("c")] },
    ]);
  });

  test("return unsealed reasoning to endpoints that support it, in order, and never sealed reasoning", () => {
    const input = [thinks(), say("assistant", "a"), thinks(), calls("c")];
    const thinking = { type: "thinking", thinking: "Hm." };
    expect(messagesOf(input, thoughtful)).toEqual([
      { role: "assistant", content: [thinking, thinking], tool_plan: "a", tool_calls: [called("c")] },
    ]);
    expect(messagesOf(input.slice(0, 2), thoughtful)).toEqual([
      { role: "assistant", content: [thinking, { type: "text", text: "a" }] },
    ]);
    expect(findCohereDropped({ input })).toEqual(["input.0", "input.2"]);
    const sealed = [thinks({ format: "anthropic-claude-v1", signature: "s" }), thinks({ encrypted_content: "s" })];
    expect(findCohereDropped({ input: [...sealed, thinks({ content: [] })] }, thoughtful)).toEqual([
      "input.0",
      "input.1",
      "input.2",
    ]);
  });

  test("have their cache marks named, since Cohere caches by itself", () => {
    const input = [say("user", [text("a", { cache_control: { type: "ephemeral" } })])];
    expect(translateToCohere({ input, cacheControl: { ttl: "5m" } }).losses).toEqual([
      ["input.0.content.0.cache_control", "the provider caches by itself"],
      ["cache_control", "the provider caches by itself"],
    ]);
  });
});

describe("tools for Cohere", () => {
  const tools = [functionTool({ name: "one", description: "One", parametersJson: schema }), functionTool()];

  test("have schemas as the client wrote them, or an empty schema", () => {
    const sent = translateToCohere({ tools });
    expect(sent.text).toContain(schema);
    expect(sent.body.tools).toMatchObject([
      { type: "function", function: { name: "one", description: "One" } },
      { type: "function", function: { name: "f", parameters: { type: "object" } } },
    ]);
    expect(sent.body).not.toHaveProperty("tool_choice");
  });

  test("are sent with no choice when there are none, which is a 400 at Cohere", () => {
    expect(buildCohereBody({ toolChoice: "required" })).toEqual(buildCohereBody({}));
  });

  test("enforce schemas when all require it, and otherwise each is named", () => {
    const strict = functionTool({ name: "s", strict: true });
    expect(buildCohereBody({ tools: [strict] }).strict_tools).toBe(true);
    const { body, losses } = translateToCohere({ tools: [strict, functionTool()] });
    expect(body).not.toHaveProperty("strict_tools");
    expect(losses).toEqual([["tools.0.strict", "the format enforces the schemas of all tools or of none"]]);
  });

  test("cannot be limited to a single call", () => {
    expect(findCohereDropped({ tools, parallelToolCalls: false })).toEqual(["parallel_tool_calls"]);
    expect(findCohereDropped({ tools, parallelToolCalls: true })).toEqual([]);
  });
});

describe("settings for Cohere", () => {
  test("have limits and samplers by Cohere's names", () => {
    const request = {
      maxOutputTokens: 99,
      temperature: 0.5,
      topP: 0.9,
      topK: 3,
      frequencyPenalty: 1,
      presencePenalty: 0,
    };
    expect(translateToCohere(request)).toMatchObject({
      body: { max_tokens: 99, temperature: 0.5, p: 0.9, k: 3, frequency_penalty: 1, presence_penalty: 0 },
      losses: [],
    });
  });

  test("have a number outside Cohere's range replaced by the nearest allowed number", () => {
    const request = { temperature: 1.5, topP: 1, topK: 900, frequencyPenalty: 2, presencePenalty: -1 };
    expect(translateToCohere(request)).toMatchObject({
      body: { temperature: 1, p: 0.99, k: 500, frequency_penalty: 1, presence_penalty: 0 },
      losses: [
        ["temperature", "sent as 1, the maximum"],
        ["top_p", "sent as 0.99, the maximum"],
        ["top_k", "sent as 500, the maximum"],
        ["frequency_penalty", "sent as 1, the maximum"],
        ["presence_penalty", "sent as 0, the minimum"],
      ],
    });
  });

  test("include the formats of the answer", () => {
    expect(buildCohereBody({ textFormat: { type: "text" } })).not.toHaveProperty("response_format");
    expect(buildCohereBody({ textFormat: { type: "json_object" } }).response_format).toEqual({ type: "json_object" });
    const textFormat = { type: "json_schema", name: "n", schemaJson: schema, description: "D", strict: true } as const;
    const { text: written, losses } = translateToCohere({ textFormat });
    expect(written).toContain(`"response_format":{"type":"json_object","json_schema":${schema}}`);
    expect(losses).toEqual([["text.format.description", "the format has no field for it"]]);
  });

  test.each<[string, Partial<TurnRequest>, object | undefined, readonly string[]]>([
    ["nothing", {}, undefined, []],
    ["a budget", { reasoning: { maxTokens: 500 } }, { type: "enabled", token_budget: 500 }, []],
    [
      "a budget and an effort",
      { reasoning: { maxTokens: 500, effort: "low" } },
      { type: "enabled", token_budget: 500 },
      ["reasoning.effort"],
    ],
    ["no effort", { reasoning: { effort: "none" } }, { type: "disabled" }, []],
    [
      "a low effort",
      { reasoning: { effort: "low" }, maxOutputTokens: 1000 },
      { type: "enabled", token_budget: 200 },
      [],
    ],
    ["a low effort without a limit", { reasoning: { effort: "low" } }, { type: "enabled", token_budget: 819 }, []],
    [
      "a minimal effort",
      { reasoning: { effort: "minimal" }, maxOutputTokens: 1 },
      { type: "enabled", token_budget: 1 },
      [],
    ],
    ["a high effort", { reasoning: { effort: "high" } }, { type: "enabled" }, []],
    [
      "what the format has no field for",
      { reasoning: { summary: "auto", context: "all", mode: "pro" } },
      undefined,
      ["reasoning.summary", "reasoning.context", "reasoning.mode"],
    ],
  ])("set reasoning as far as the format can: %s", (_, request, thinking, losses) => {
    expect([buildCohereBody(request).thinking, findCohereDropped(request)]).toEqual([thinking, losses]);
  });

  test("set an effort as a share of the endpoint's maximum output", () => {
    const at = { ...cohereTarget, maxOutputTokens: 32_000 };
    expect(buildCohereBody({ reasoning: { effort: "medium" } }, at).thinking).toEqual({
      type: "enabled",
      token_budget: 16_000,
    });
  });

  test("include no end user or tier, which are named", () => {
    const request: Partial<TurnRequest> = { identityHash: "h", identityField: "user" };
    const { body, losses } = translateToCohere(request, { ...cohereTarget, tier: "priority" });
    expect(body).toEqual(buildCohereBody({}));
    expect(losses.map(([path]) => path)).toEqual(["user", "service_tier"]);
  });
});

describe("a request for Cohere", () => {
  const hosted: HostedTool = { type: "hosted", kind: "mcp", spelling: "mcp", json: "{}" };
  const part = (fields: object) => ({ input: [say("user", [fields])] });

  test.each<[string, Partial<TurnRequest>, string]>([
    ["a hosted tool", { tools: [hosted] }, "tools.0"],
    ["an image by its id", part({ type: "input_image", file_id: "file_1" }), "input.0.content.0"],
    ["an image of another kind of URL", part(image("ftp://a.example/a.png")), "input.0.content.0"],
    ["a file", part({ type: "input_file", file_data: "data:text/plain;base64,QQ==" }), "input.0.content.0"],
    ["sound", part({ type: "input_audio", input_audio: { data: "", format: "wav" } }), "input.0.content.0"],
    ["a video", part({ type: "input_video", video_url: "https://a.example/v" }), "input.0.content.0"],
    ["what is sealed", part({ type: "encrypted_content", encrypted_content: "s" }), "input.0.content.0"],
    ["a sealed summary", { input: [{ type: "compaction", encrypted_content: "s" }] }, "input.0"],
    ["an image as the answer", { outputModalities: ["image"] }, "modalities"],
    ["JSON beside tools", { tools: [functionTool()], textFormat: { type: "json_object" } }, "text.format"],
  ])("is refused for %s", (_, request, path) => {
    expect(refuseCohereRequest(request)?.path).toBe(path);
  });

  test("is accepted with a text next to tools, and with JSON without tools", () => {
    expect(refuseCohereRequest({ tools: [functionTool()], textFormat: { type: "text" } })).toBeUndefined();
    expect(refuseCohereRequest({ textFormat: { type: "json_object" } })).toBeUndefined();
  });
});
