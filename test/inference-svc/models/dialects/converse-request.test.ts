/**
 * Requests in the form of Converse (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html), with their dropped
 * fields.
 */
import { describe, expect, test } from "@jest/globals";
import type { InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { functionTool } from "../../asking.js";
import {
  buildConverseBody,
  converseWithBudget,
  claudeOnBedrock,
  gptOss,
  llamaOnBedrock,
  findConverseDropped,
  mistralOnBedrock,
  novaOnBedrock,
  refuseConverseRequest,
  translateToConverse,
} from "./converse-translation.js";

const say = (role: string, content: unknown): InputItem => ({ type: "message", role, content });
const calls = (call_id: string, json = "{}"): InputItem => ({
  type: "function_call",
  id: "fc_1",
  call_id,
  name: "f",
  arguments: json,
});
const answers = (call_id: string, output: unknown): InputItem => ({ type: "function_call_output", call_id, output });
const thinks = (fields: object): InputItem => ({
  type: "reasoning",
  id: "rs_1",
  summary: [],
  format: "anthropic-claude-v1",
  ...fields,
});
const text = (words: string, more: object = {}) => ({ type: "input_text", text: words, ...more });
const block = (words: string) => ({ text: words });
const use = (toolUseId: string, input: object = {}) => ({ toolUse: { toolUseId, name: "f", input } });
const result = (toolUseId: string, ...content: object[]) => ({ toolResult: { toolUseId, content } });
const user = (...content: object[]) => ({ role: "user", content });
const assistant = (...content: object[]) => ({ role: "assistant", content });
/** A number JavaScript would round, and white space JSON.stringify would not write. */
const schema =
  '{"type":"object", "properties":{"n":{"const":12345678901234567890,"default":1.0}},"additionalProperties":false}';

describe("calls and results for Bedrock Converse", () => {
  const tools = [functionTool()];

  test("have results first in the next message, with their images, and numbers unrounded", () => {
    const input = [
      say("user", "u"),
      say("assistant", [{ type: "output_text", text: "Checking.", annotations: [] }]),
      calls("a", '{"n":12345678901234567890}'),
      calls("b"),
      say("user", "meanwhile"),
      answers("a", "1"),
      answers("b", [text("2"), { type: "input_image", image_url: "data:image/jpg;base64,AA" }]),
    ];
    const { body, text: json } = translateToConverse({ input, tools });
    expect(body.messages).toEqual([
      user(block("u")),
      assistant(block("Checking."), use("a", { n: expect.any(Number) }), use("b")),
      user(
        result("a", block("1")),
        result("b", block("2"), { image: { format: "jpeg", source: { bytes: "AA" } } }),
        block("meanwhile"),
      ),
    ]);
    expect(json).toContain('{"n":12345678901234567890}');
  });

  test("are adapted for an empty result, arguments other than an object, and unacceptable ids", () => {
    const long = "c".repeat(65);
    const input = [
      say("user", "u"),
      calls("call|1", '{"a":'),
      answers("call|1", ""),
      calls(long, ""),
      answers(long, "x"),
    ];
    const [, first, second, third, fourth] = buildConverseBody({ input, tools }).messages as {
      content: Record<string, unknown>[];
    }[];
    expect(first?.content[0]?.toolUse).toMatchObject({
      toolUseId: expect.stringMatching(/^call_1_[0-9a-f]{8}$/),
      input: { arguments: '{"a":' },
    });
    expect(second?.content[0]?.toolResult).toMatchObject({ content: [block("(no output)")] });
    const called = third?.content[0]?.toolUse as { toolUseId: string } | undefined;
    const toolUseId = called?.toolUseId;
    expect(toolUseId).toHaveLength(64);
    expect(fourth?.content[0]?.toolResult).toMatchObject({ toolUseId });
  });

  test("have ids of nine letters and digits for Mistral", () => {
    const ids = ["tooluse_bpe71yCf", "tooluse_bpe71yCg", "abcDEF123"];
    const input = [say("user", "u"), ...ids.flatMap((id) => [calls(id), answers(id, "1")])];
    const [, ...messages] = buildConverseBody({ input, tools }, mistralOnBedrock).messages as {
      content: Record<string, unknown>[];
    }[];
    const blocks = messages.flatMap(({ content }) =>
      content.map(({ toolUse, toolResult }) => (toolUse ?? toolResult) as { toolUseId: string }),
    );
    const sent = blocks.map(({ toolUseId }) => toolUseId);
    expect(sent.filter((id) => /^[A-Za-z0-9]{9}$/.test(id))).toHaveLength(6);
    expect([sent[0], sent[2], sent[4]]).toEqual([sent[1], sent[3], "abcDEF123"]);
    expect(new Set(sent).size).toBe(3);
  });

  test("in a conversation bring their tools, even if no call is allowed", () => {
    const input = [say("user", "u"), calls("a"), answers("a", "1")];
    const bare = [{ toolSpec: { name: "f", inputSchema: { json: { type: "object" } } } }];
    expect(translateToConverse({ input })).toMatchObject({
      body: { toolConfig: { tools: bare }, additionalModelRequestFields: { tool_choice: { type: "none" } } },
      losses: [],
    });
    expect(translateToConverse({ input }, novaOnBedrock)).toMatchObject({
      body: { toolConfig: { tools: bare } },
      losses: [
        ["tool_choice", "the format requires the tools that the history calls, and cannot forbid calls of them"],
      ],
    });
    const none = translateToConverse({ input, tools, toolChoice: "none" });
    expect(none.body).toMatchObject({
      toolConfig: { tools: [{ toolSpec: { name: "f" } }] },
      additionalModelRequestFields: { tool_choice: { type: "none" } },
    });
  });
});

describe("reasoning in the input for Bedrock Converse", () => {
  const input = [
    say("user", "u"),
    thinks({ content: [{ type: "reasoning_text", text: "Hm" }], signature: "s" }),
    thinks({ encrypted_content: "sealed" }),
    thinks({ encrypted_content: "other", format: "openai-responses-v1" }),
    thinks({ content: [{ type: "reasoning_text", text: "unsigned" }] }),
    say("assistant", "a"),
    thinks({ signature: "last" }),
  ];

  test("is sent before its successor if it is signed, or sealed by the same model family", () => {
    const { body, losses } = translateToConverse({ input });
    expect(body.messages).toEqual([
      user(block("u")),
      assistant(
        { reasoningContent: { reasoningText: { text: "Hm", signature: "s" } } },
        { reasoningContent: { redactedContent: "sealed" } },
        block("a"),
      ),
    ]);
    expect(losses.map(([path]) => path)).toEqual(["input.3", "input.4", "input.6"]);
  });

  test("is not sent to another model family", () => {
    const { body, losses } = translateToConverse({ input }, gptOss);
    expect(body.messages).toEqual([user(block("u")), assistant(block("a"))]);
    expect(losses.map(([path]) => path)).toEqual(["input.1", "input.2", "input.3", "input.4", "input.6"]);
  });
});

// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html, _DocumentBlock.html and _VideoBlock.html
describe("images, videos and files for Bedrock Converse", () => {
  const pdf = "JVBERi0xLjQK";
  const document = (format: string, name: string, bytes: string) => ({ document: { format, name, source: { bytes } } });
  const xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

  test.each([
    [
      { type: "input_image", image_url: "data:image/webp;base64,AA" },
      { image: { format: "webp", source: { bytes: "AA" } } },
    ],
    [
      { type: "input_video", video_url: "data:video/quicktime;base64,AA" },
      { video: { format: "mov", source: { bytes: "AA" } } },
    ],
    [
      { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` },
      document("pdf", "a", pdf),
    ],
    [{ type: "input_file", file_data: pdf }, document("pdf", "document", pdf)],
    [{ type: "input_file", filename: "b.DOCX", file_data: "UEsDBA" }, document("docx", "b", "UEsDBA")],
    [
      { type: "input_file", filename: "c.xlsx", file_data: `data:${xlsx};base64,UEsDBA` },
      document("xlsx", "c", "UEsDBA"),
    ],
    [
      { type: "input_file", filename: "log", file_data: "data:text/x-log;charset=utf-8;base64,SMOp" },
      document("txt", "log", "SMOp"),
    ],
  ])("are written in the format, or refused by name: %j", (part, sent) => {
    const { body, losses } = translateToConverse({ input: [say("user", [text("?"), part])] });
    expect([body.messages, losses]).toEqual([[user(block("?"), sent)], []]);
  });

  test("have unique names of allowed characters", () => {
    const file = (filename: string) => ({ type: "input_file", filename, file_data: pdf });
    const names = ["Bericht  Müller_1.pdf", "a.pdf", "a.pdf", `${"x".repeat(250)}.pdf`, "…"];
    const { body, losses } = translateToConverse({ input: [say("user", [text("?"), ...names.map(file)])] });
    const [message] = body.messages as { content: { document?: { name: string } }[] }[];
    expect(message?.content.slice(1).map((part) => part.document?.name)).toEqual([
      "Bericht M ller 1",
      "a",
      "a 2",
      "x".repeat(200),
      "document",
    ]);
    expect(losses.map(([path]) => path)).toEqual([1, 4, 5].map((at) => `input.0.content.${at}.filename`));
  });

  test.each([
    [{ type: "input_image", image_url: "https://a.example/b.png" }, "images that are not data URLs"],
    [{ type: "input_image", file_id: "file_1" }, "images that are not data URLs"],
    [{ type: "input_image", image_url: "data:image/tiff;base64,AA" }, "images of type tiff"],
    [{ type: "input_file", file_url: "https://a.example/b.pdf" }, "files without file_data"],
    [{ type: "input_file", file_id: "file_1" }, "files without file_data"],
    [{ type: "input_file", file_data: "data:application/zip;base64,AA" }, "files of type application/zip"],
    [{ type: "input_file", file_data: "AA" }, "files of type unknown"],
    [{ type: "input_audio", input_audio: { data: "AA", format: "mp3" } }, "audio"],
    [{ type: "input_video", video_url: "https://a.example/v.mp4" }, "videos that are not data URLs"],
    [{ type: "input_video", video_url: "data:video/ogg;base64,AA" }, "videos of type ogg"],
    [{ type: "encrypted_content", encrypted_content: "x" }, "encrypted content"],
  ])("of the form %j are refused", (part, what) => {
    const message = `no provider of this model takes ${what}`;
    expect(refuseConverseRequest({ input: [say("user", [text("a"), part])] })).toEqual({
      path: "input.0.content.1",
      message,
    });
    expect(refuseConverseRequest({ input: [calls("a"), answers("a", [part])] })?.path).toBe("input.1.output.0");
  });

  test("need a text in the message of a file, or in a neighbouring message", () => {
    const file = { type: "input_file", file_data: pdf };
    const message = "no provider of this model takes a file without text beside it";
    const input = [say("system", "s"), say("user", "u"), say("assistant", "a"), say("user", [file])];
    expect(refuseConverseRequest({ input })).toEqual({ path: "input.3.content.0", message });
    expect(refuseConverseRequest({ input: [...input, say("user", "?")] })).toBeUndefined();
    expect(refuseConverseRequest({ input: [say("system", "s"), say("user", [file])] })?.path).toBe("input.1.content.0");
  });

  test("are refused as a screenshot without its image", () => {
    const shot = (image_url: string) => [
      { type: "computer_call", id: "c", call_id: "a", action: { type: "screenshot" } },
      { type: "computer_call_output", call_id: "a", output: { type: "computer_screenshot", image_url } },
    ];
    expect(refuseConverseRequest({ input: shot("https://a.example/b.png") })?.path).toBe("input.1.output");
    expect(refuseConverseRequest({ input: shot("data:image/png;base64,AA") })).toBeUndefined();
  });

  test("have their detail setting named as not sent", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,AA", detail: "high" };
    expect(findConverseDropped({ input: [say("user", [image])] })).toEqual(["input.0.content.0.detail"]);
  });
});

describe("tools for Bedrock Converse", () => {
  const lookup = functionTool({ name: "lookup", description: "Looks up", parametersJson: schema, strict: true });
  const strict: Target = { ...claudeOnBedrock, supportedParameters: ["tools", "tool_choice", "structured_outputs"] };

  test("are sent byte for byte, with the required type and without blanks", () => {
    const { text: json, body } = translateToConverse(
      { tools: [lookup, functionTool({ name: "a", description: " " })] },
      strict,
    );
    expect(json).toContain(`"inputSchema":{"json":${schema}}`);
    expect(body.toolConfig).toEqual({
      tools: [
        {
          toolSpec: {
            name: "lookup",
            description: "Looks up",
            inputSchema: { json: JSON.parse(schema) as unknown },
            strict: true,
          },
        },
        { toolSpec: { name: "a", inputSchema: { json: { type: "object" } } } },
      ],
    });
  });

  test("are sent as strict only to endpoints that support it", () => {
    const { body, losses } = translateToConverse({ tools: [lookup] });
    expect(JSON.stringify(body.toolConfig)).not.toContain("strict");
    expect(losses).toEqual([["tools.0.strict", "the endpoint is not known to enforce the schemas of calls"]]);
  });

  test("are limited to one call at a time only for Claude, in its own fields", () => {
    const request = { tools: [functionTool()], parallelToolCalls: false, toolChoice: "required" as const };
    const { body } = translateToConverse(request);
    expect(body.toolConfig).not.toHaveProperty("toolChoice");
    expect(body.additionalModelRequestFields).toEqual({
      tool_choice: { type: "any", disable_parallel_tool_use: true },
    });
    expect(translateToConverse(request, novaOnBedrock)).toMatchObject({
      body: { toolConfig: { toolChoice: { any: {} } } },
      losses: [["parallel_tool_calls", "the format has no field for it"]],
    });
  });

  test("exclude a provider's own tools, which are refused", () => {
    const search = { type: "hosted" as const, kind: "web_search", spelling: "web_search", json: "{}" };
    const message = "no provider of this model runs tools of type web_search";
    expect(refuseConverseRequest({ tools: [functionTool(), search] })).toEqual({ path: "tools.1", message });
    expect(refuseConverseRequest({ toolChoice: { type: "tool", tool: { type: "web_search" } } })?.path).toBe(
      "tool_choice",
    );
  });
});

describe("settings for Bedrock Converse", () => {
  test("make a minimal body for a minimal request", () => {
    expect(buildConverseBody({})).toEqual({ messages: [user(block("Hi"))] });
  });

  test("have at most one of two samplers for Claude, at most 1", () => {
    expect(translateToConverse({ temperature: 1.5, topP: 0.5, topK: 5, maxOutputTokens: 10 })).toMatchObject({
      body: { inferenceConfig: { temperature: 1, maxTokens: 10 }, additionalModelRequestFields: { top_k: 5 } },
      losses: [["temperature"], ["top_p"]].map(([path]) => [path, expect.any(String)]),
    });
    const thinking = translateToConverse({ reasoning: { effort: "low" }, temperature: 0.5 });
    expect(thinking.body).not.toHaveProperty("inferenceConfig");
    expect(thinking.losses.map(([path]) => path)).toEqual(["temperature"]);
  });

  test("have all samplers for models of other vendors", () => {
    const request = { temperature: 0.5, topP: 0.5, topK: 5 };
    const inferenceConfig = { temperature: 0.5, topP: 0.5 };
    expect(translateToConverse(request, novaOnBedrock)).toMatchObject({
      body: { inferenceConfig, additionalModelRequestFields: { inferenceConfig: { topK: 5 } } },
      losses: [],
    });
    expect(buildConverseBody(request, llamaOnBedrock)).toEqual({ messages: [user(block("Hi"))], inferenceConfig });
    expect(findConverseDropped({ ...request, temperature: 2 }, llamaOnBedrock)).toEqual(["temperature", "top_k"]);
  });

  test("have structured outputs, with the schema as text", () => {
    const textFormat = { type: "json_schema" as const, name: "n", schemaJson: schema, description: "d" };
    expect(buildConverseBody({ textFormat }).outputConfig).toEqual({
      textFormat: { type: "json_schema", structure: { jsonSchema: { schema, name: "n", description: "d" } } },
    });
    expect(translateToConverse({ textFormat: { type: "json_object" } })).toMatchObject({
      body: { messages: [user(block("Hi"))] },
      losses: [["text.format", "sent as an instruction: the format only enforces a JSON schema"]],
    });
  });

  test("include the tier", () => {
    expect(buildConverseBody({}, { ...claudeOnBedrock, tier: "flex" }).serviceTier).toEqual({ type: "flex" });
    expect(findConverseDropped({}, { ...claudeOnBedrock, tier: "scale" })).toEqual(["service_tier"]);
  });

  test("are refused for images as an answer, and for a history sealed by another provider", () => {
    expect(refuseConverseRequest({ outputModalities: ["image"] })?.path).toBe("modalities");
    expect(refuseConverseRequest({ input: [{ type: "compaction", encrypted_content: "x" }] })?.path).toBe("input.0");
  });
});

// https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
describe("thinking at Bedrock Converse", () => {
  const saidOf = (reasoning: object, at = claudeOnBedrock, more: Partial<TurnRequest> = {}) => {
    const { body, losses } = translateToConverse({ reasoning, ...more }, at);
    const { additionalModelRequestFields: fields, outputConfig, inferenceConfig } = body;
    return { fields, outputConfig, inferenceConfig, losses: losses.map(([path]) => path) };
  };

  test("is set by an effort, or a budget within the answer, for Claude", () => {
    expect(saidOf({ effort: "high" })).toEqual({
      fields: { thinking: { type: "adaptive" } },
      outputConfig: { effort: "high" },
      losses: [],
    });
    expect(saidOf({ effort: "high" }, { ...converseWithBudget, maxOutputTokens: 10_000 })).toEqual({
      fields: { thinking: { type: "enabled", budget_tokens: 8_000 } },
      inferenceConfig: { maxTokens: 10_000 },
      losses: [],
    });
  });

  test("is excluded by a required call", () => {
    const tools = [functionTool()];
    for (const toolChoice of ["required", { type: "tool", tool: { type: "function", name: "f" } }] as const) {
      expect(saidOf({ effort: "high" }, claudeOnBedrock, { tools, toolChoice })).toEqual({
        outputConfig: { effort: "high" },
        losses: ["reasoning"],
      });
      const single = saidOf({ effort: "high" }, claudeOnBedrock, { tools, toolChoice, parallelToolCalls: false });
      expect(single.fields).not.toHaveProperty("thinking");
    }
    expect(saidOf({ effort: "high" }, claudeOnBedrock, { tools, toolChoice: "auto" }).losses).toEqual([]);
  });

  test("is set in the format of other models, or not at all", () => {
    expect(saidOf({ effort: "low" }, gptOss)).toEqual({ fields: { reasoning_effort: "low" }, losses: [] });
    expect(saidOf({ effort: "xhigh", summary: "auto", maxTokens: 5 }, novaOnBedrock)).toEqual({
      fields: { reasoningConfig: { type: "enabled", maxReasoningEffort: "high" } },
      losses: ["reasoning.summary", "reasoning.max_tokens", "reasoning.effort"],
    });
    expect(saidOf({ effort: "high" }, novaOnBedrock, { maxOutputTokens: 100 })).toMatchObject({
      fields: { reasoningConfig: { maxReasoningEffort: "medium" } },
      losses: ["reasoning.effort"],
    });
    expect(saidOf({ effort: "none" }, novaOnBedrock).fields).toEqual({ reasoningConfig: { type: "disabled" } });
    expect(saidOf({ effort: "low" }, llamaOnBedrock)).toEqual({ losses: ["reasoning.effort"] });
  });
});

// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
describe("cache points at Bedrock Converse", () => {
  const point = { cachePoint: { type: "default" } };
  const hour = { cachePoint: { type: "default", ttl: "1h" } };
  const marked = (words: string, ttl = "5m") => text(words, { cache_control: { type: "ephemeral", ttl } });
  const cacheControl = { ttl: "5m" as const };
  const tools = [functionTool()];

  test("follow the marked blocks, the longer lifetimes first", () => {
    const input = [say("system", [marked("s", "1h")]), say("user", [marked("a"), text("b")])];
    const { body } = translateToConverse({ input });
    expect([body.system, body.messages]).toEqual([[block("s"), hour], [user(block("a"), point, block("b"))]]);
  });

  test("follow a whole tool result for a mark within it", () => {
    const input = [say("user", "u"), calls("a"), answers("a", [marked("1"), text("2")])];
    const [, , message] = buildConverseBody({ input, tools }).messages as { content: object[] }[];
    expect(message?.content).toEqual([result("a", block("1"), block("2")), point]);
  });

  test("of a whole request are at the end, and at the prompt or the tools", () => {
    const { toolConfig, messages } = buildConverseBody({ cacheControl, tools }) as {
      toolConfig: { tools: object[] };
      messages: object;
    };
    expect(toolConfig.tools[1]).toEqual(point);
    expect(messages).toEqual([user(block("Hi"), point)]);
    expect(buildConverseBody({ cacheControl: { ttl: "1h" }, instructions: "i" }).system).toEqual([block("i"), hour]);
  });

  test("never follow a file converted to text", () => {
    const csv = { type: "input_file", filename: "a.csv", file_data: "data:text/csv;base64,QQ" };
    const control = { cache_control: { type: "ephemeral" } };
    const { body, losses } = translateToConverse({
      input: [say("user", [text("?"), { ...csv, ...control }])],
      cacheControl,
    });
    expect(losses).toEqual([["input.0.content.1.cache_control", "a mark cannot follow a file of this type"]]);
    const [message] = body.messages as { content: object[] }[];
    expect(message?.content.slice(0, 2)).toEqual([block("?"), point]);
    expect(message?.content).toHaveLength(3);
    const pdf = { type: "input_file", file_data: "JVBERi0xLjQK", ...control };
    const [whole] = buildConverseBody({ input: [say("user", [text("?"), pdf])] }).messages as { content: object[] }[];
    expect(whole?.content[2]).toEqual(point);
  });

  test("follow marked tools and calls, if the model accepts this", () => {
    const cacheControl = { type: "ephemeral" };
    const marked = [functionTool({ cacheControl }), functionTool({ name: "g" })];
    const input = [say("user", "Hi"), { ...calls("a"), cache_control: cacheControl }, answers("a", "1")];
    const { toolConfig, messages } = buildConverseBody({ input, tools: marked }) as {
      toolConfig: { tools: object[] };
      messages: object[];
    };
    expect(toolConfig.tools).toEqual([{ toolSpec: expect.anything() }, point, { toolSpec: expect.anything() }]);
    expect(messages[1]).toEqual(assistant(use("a"), point));
    const atNova = translateToConverse({ input, tools: marked }, novaOnBedrock);
    expect(atNova.body.toolConfig).toEqual({
      tools: [{ toolSpec: expect.anything() }, { toolSpec: expect.anything() }],
    });
    expect(atNova.losses.map(([path]) => path)).toEqual(["tools.0.cache_control"]);
    const atLlama = translateToConverse({ input, tools: marked }, llamaOnBedrock);
    expect(atLlama.losses.map(([path]) => path)).toEqual(["input.1.cache_control", "tools.0.cache_control"]);
  });

  test("are not sent to Nova for tools, nor with a lifetime of an hour", () => {
    const input = [say("user", [marked("Hi", "1h")])];
    const { body, losses } = translateToConverse(
      { input, cacheControl: { ttl: "1h" }, tools, instructions: "i" },
      novaOnBedrock,
    );
    expect(body.toolConfig).toEqual({ tools: [{ toolSpec: expect.anything() }] });
    expect([body.system, body.messages]).toEqual([[block("i"), point], [user(block("Hi"), point)]]);
    expect(losses.map(([path]) => path)).toEqual(["input.0.content.0.cache_control.ttl", "cache_control.ttl"]);
  });

  test("are left out for models without known caching, unless the operator enables it", () => {
    const input = [say("user", [marked("a"), text("b", { prompt_cache_breakpoint: {} })])];
    const { body, losses } = translateToConverse({ input, cacheControl }, llamaOnBedrock);
    expect(body).toEqual({ messages: [user(block("a"), block("b"))] });
    expect(losses.map(([path]) => path)).toEqual([
      "input.0.content.0.cache_control",
      "input.0.content.1.prompt_cache_breakpoint",
      "cache_control",
    ]);
    const knows = { ...llamaOnBedrock, supportedParameters: ["cache_control"] };
    expect(buildConverseBody({ input }, knows).messages).toEqual([user(block("a"), point, block("b"), point)]);
  });

  test("are refused by name above four, for models with caching", () => {
    const input = [
      say(
        "user",
        ["1", "2", "3", "4", "5"].map((it) => marked(it)),
      ),
    ];
    expect(refuseConverseRequest({ input })?.path).toBe("input.0.content.4.cache_control");
    expect(refuseConverseRequest({ input }, llamaOnBedrock)).toBeUndefined();
  });
});
