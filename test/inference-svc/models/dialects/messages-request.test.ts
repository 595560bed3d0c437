/** Requests in the form of Messages (https://platform.claude.com/docs/en/api/messages), with their dropped fields. */
import { describe, expect, test } from "@jest/globals";
import type { HostedTool, InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { functionTool } from "../../asking.js";
import {
  buildMessagesBody,
  messagesWithThinkingBudget,
  messagesWithPrompts,
  findMessagesDropped,
  refuseMessagesRequest,
  messagesTarget,
  translateToMessages,
} from "./messages-translation.js";

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
const block = (words: string, more: object = {}) => ({ type: "text", text: words, ...more });
const use = (id: string, input: object = {}) => ({ type: "tool_use", id, name: "f", input });
const result = (id: string, ...content: object[]) => ({
  type: "tool_result",
  tool_use_id: id,
  ...(content.length > 0 && { content }),
});
const user = (...content: object[]) => ({ role: "user", content });
const assistant = (...content: object[]) => ({ role: "assistant", content });
const messagesOf = (input: readonly InputItem[], more: Partial<TurnRequest> = {}) =>
  buildMessagesBody({ ...more, input }).messages;
/** A number JavaScript would round, and white space JSON.stringify would not write. */
const schema =
  '{"type":"object", "properties":{"n":{"const":12345678901234567890,"default":1.0}},"additionalProperties":false}';

describe("prompts and roles for the Messages format", () => {
  test("keep later system messages before the assistant's for models that allow it", () => {
    const calls: InputItem[] = [
      { type: "function_call", call_id: "toolu_1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "toolu_1", output: "done" },
    ];
    const write = (...input: InputItem[]) => {
      const { body, losses } = translateToMessages({ input: [say("system", "s"), ...input] }, messagesWithPrompts);
      const turns = body["messages"] as { role: string; content: { type: string; text?: string }[] }[];
      const rows = turns.map(({ role, content }) => [role, ...content.map(({ type, text: said }) => said ?? type)]);
      return [rows, losses.map(([path]) => path)];
    };
    const [a, b] = [say("system", "a"), say("developer", "b")];
    expect(write(say("user", "u"), a, b)).toEqual([
      [
        ["user", "u"],
        ["system", "a", "b"],
      ],
      [],
    ]);
    expect(write(say("user", "u"), a, say("assistant", "v"), say("user", "w"), b)).toEqual([
      [
        ["user", "u"],
        ["system", "a"],
        ["assistant", "v"],
        ["user", "w"],
        ["system", "b"],
      ],
      [],
    ]);
    expect(write(say("user", "u"), ...calls, a, calls[0]!)[0]).toEqual([
      ["user", "u"],
      ["assistant", "tool_use"],
      ["user", "tool_result"],
      ["system", "a"],
      ["assistant", "tool_use"],
    ]);
    const picture = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
    expect(write(say("user", "u"), calls[0]!, a, calls[1]!)).toEqual([
      [
        ["user", "u"],
        ["assistant", "tool_use"],
        ["user", "tool_result", "a"],
      ],
      ["input.3.role"],
    ]);
    expect(write(say("user", "u"), a, say("user", "w"))).toEqual([[["user", "u", "a", "w"]], ["input.2.role"]]);
    expect(write(say("assistant", "v"), a)[1]).toEqual(["input.2.role"]);
    expect(write(say("user", "u"), say("system", [picture]))[1]).toEqual(["input.2.role"]);
  });

  test("keep a single prompt as the question", () => {
    const body = buildMessagesBody({ input: [say("system", "a"), say("developer", "b")] });
    expect([body.system, body.messages]).toEqual([[block("a")], [user(block("b"))]]);
  });
});

describe("calls and results for the Messages format", () => {
  test("have results first in the next message, with their images", () => {
    const input = [
      say("user", "u"),
      say("assistant", [{ type: "output_text", text: "Checking.", annotations: [] }]),
      calls("a", '{"n":12345678901234567890}'),
      calls("b"),
      say("user", "meanwhile"),
      answers("a", "1"),
      answers("b", [text("2"), { type: "input_image", image_url: "data:image/png;base64,AA" }]),
    ];
    const { body, text: json } = translateToMessages({ input });
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } };
    expect(body.messages).toEqual([
      user(block("u")),
      assistant(block("Checking."), use("a", { n: expect.any(Number) }), use("b")),
      user(result("a", block("1")), result("b", block("2"), image), block("meanwhile")),
    ]);
    expect(json).toContain('{"n":12345678901234567890}');
  });

  test("are adapted for an empty result, arguments other than an object, and unacceptable ids", () => {
    const input = [calls("call|1", '{"a":'), answers("call|1", ""), calls("call 1", ""), answers("call 1", "x")];
    const messages = messagesOf(input) as { content: Record<string, unknown>[] }[];
    const [first, second] = [messages[0]?.content[0], messages[2]?.content[0]];
    expect(first).toMatchObject({ type: "tool_use", input: { arguments: '{"a":' } });
    expect(second).toMatchObject({ input: {} });
    expect(first?.id).toMatch(/^call_1_[0-9a-f]{8}$/);
    expect(second?.id).not.toBe(first?.id);
    expect(messages[1]?.content).toEqual([{ type: "tool_result", tool_use_id: first?.id }]);
  });
});

describe("reasoning in the input for the Messages format", () => {
  test("is sent before its successor if it is signed or sealed, and otherwise not", () => {
    const input = [
      say("user", "u"),
      thinks({ content: [{ type: "reasoning_text", text: "Hm" }], signature: "s" }),
      thinks({ signature: "t" }),
      thinks({ encrypted_content: "sealed" }),
      thinks({ encrypted_content: "other", format: "openai-responses-v1" }),
      thinks({ content: [{ type: "reasoning_text", text: "unsigned" }] }),
      calls("a"),
      answers("a", "1"),
      thinks({ signature: "last" }),
    ];
    const { body, losses } = translateToMessages({ input });
    expect(body.messages).toEqual([
      user(block("u")),
      assistant(
        { type: "thinking", thinking: "Hm", signature: "s" },
        { type: "thinking", thinking: "", signature: "t" },
        { type: "redacted_thinking", data: "sealed" },
        use("a"),
      ),
      user(result("a", block("1"))),
    ]);
    expect(losses.map(([path]) => path)).toEqual(["input.4", "input.5", "input.8"]);
  });
});

describe("images and files for the Messages format", () => {
  const pdf = "JVBERi0xLjQK";
  test.each([
    [
      { type: "input_image", image_url: "https://a.example/b.png" },
      { type: "image", source: { type: "url", url: "https://a.example/b.png" } },
    ],
    [
      { type: "input_image", file_id: "file_1" },
      { type: "image", source: { type: "file", file_id: "file_1" } },
    ],
    [
      { type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf }, title: "a.pdf" },
    ],
    [
      { type: "input_file", file_data: pdf },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf } },
    ],
    [
      { type: "input_file", file_url: "https://a.example/b.pdf" },
      { type: "document", source: { type: "url", url: "https://a.example/b.pdf" } },
    ],
    [
      { type: "input_file", file_id: "file_1" },
      { type: "document", source: { type: "file", file_id: "file_1" } },
    ],
    [
      { type: "input_file", filename: "a.txt", file_data: "data:text/plain;charset=utf-8;base64,SMOp" },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "Hé" }, title: "a.txt" },
    ],
  ])("are written in the format: %j", (part, sent) => {
    expect(messagesOf([say("user", [part])])).toEqual([user(sent)]);
  });

  test.each([
    [{ type: "input_file", file_data: "data:application/zip;base64,AA" }, "files of type application/zip"],
    [{ type: "input_audio", input_audio: { data: "AA", format: "mp3" } }, "audio"],
    [{ type: "input_video", video_url: "https://a.example/v.mp4" }, "video"],
    [{ type: "encrypted_content", encrypted_content: "x" }, "encrypted content"],
    [{ type: "input_image", image_url: "ftp://a.example/" }, "images that are neither data URLs nor http URLs"],
  ])("of the form %j are refused", (part, what) => {
    const message = `no provider of this model takes ${what}`;
    expect(refuseMessagesRequest({ input: [say("user", [text("a"), part])] })).toEqual({
      path: "input.0.content.1",
      message,
    });
    expect(refuseMessagesRequest({ input: [calls("a"), answers("a", [part])] })?.path).toBe("input.1.output.0");
  });

  test("have their detail setting named as not sent", () => {
    const image = { type: "input_image", image_url: "https://a.example/b.png", detail: "high" };
    expect(findMessagesDropped({ input: [say("user", [image])] })).toEqual(["input.0.content.0.detail"]);
  });
});

describe("tools for the Messages format", () => {
  const lookup = functionTool({ name: "lookup", description: "Looks up", parametersJson: schema, strict: true });
  const toolsOf = (request: Partial<TurnRequest>) => buildMessagesBody(request).tools;

  test("are sent byte for byte, with the required type", () => {
    const { text: json, body } = translateToMessages({ tools: [lookup, functionTool({ name: "a" })] });
    expect(json).toContain(`"input_schema":${schema}`);
    expect(body.tools).toEqual([
      { name: "lookup", description: "Looks up", input_schema: JSON.parse(schema), strict: true },
      { name: "a", input_schema: { type: "object" } },
    ]);
    const untyped = ['{"properties":{}}', "{}"].map((parametersJson) => functionTool({ parametersJson }));
    expect(untyped.map((tool) => toolsOf({ tools: [tool] }))).toEqual([
      [{ name: "f", input_schema: { type: "object", properties: {} } }],
      [{ name: "f", input_schema: { type: "object" } }],
    ]);
  });

  const choiceOf = (toolChoice: TurnRequest["toolChoice"], more: Partial<TurnRequest> = {}, at = messagesTarget) =>
    buildMessagesBody({ tools: [lookup], ...(toolChoice !== undefined && { toolChoice }), ...more }, at).tool_choice;

  test("are sent without a choice when there are none", () => {
    expect(choiceOf("required", { tools: [] })).toBeUndefined();
  });

  test("may be limited to one call at a time", () => {
    const single = { disable_parallel_tool_use: true };
    expect(choiceOf(undefined, { parallelToolCalls: false })).toEqual({ type: "auto", ...single });
    expect(choiceOf("required", { parallelToolCalls: false })).toEqual({ type: "any", ...single });
    expect(choiceOf("none", { parallelToolCalls: false })).toEqual({ type: "none" });
    expect(choiceOf("auto", { parallelToolCalls: true })).toEqual({ type: "auto" });
  });

  test("are required as the choice auto for a model without forced calls", () => {
    const at = { ...messagesTarget, supportedParameters: ["tools"] };
    expect(choiceOf("required", {}, at)).toEqual({ type: "auto" });
    expect(findMessagesDropped({ tools: [lookup], toolChoice: "required" }, at)).toEqual(["tool_choice"]);
  });

  const hosted = (type: string, more: object = {}): HostedTool => ({
    type: "hosted",
    kind: type,
    spelling: type,
    json: JSON.stringify({ type, ...more }),
  });

  test("have the client's version at Anthropic, and the version is named as not sent elsewhere", () => {
    const tools = [
      hosted("web_search", { anthropic_type: "web_search_20260209" }),
      hosted("code_interpreter", { anthropic_type: "code_execution_20260120", container: { type: "auto" } }),
    ];
    expect(buildMessagesBody({ tools }, { ...messagesTarget, original: true }).tools).toEqual([
      { type: "web_search_20260209", name: "web_search" },
      { type: "code_execution_20260120", name: "code_execution" },
    ]);
    const other = { ...messagesTarget, nativeTools: new Set(["web_search", "code_interpreter"]) };
    expect(translateToMessages({ tools }, other)).toMatchObject({
      body: { tools: [{ type: "web_search_20250305" }, { type: "code_execution_20250825" }] },
      losses: [
        ["tools.0.anthropic_type", expect.stringMatching(/^sent as web_search_20250305/)],
        ["tools.1.anthropic_type", expect.stringMatching(/^sent as code_execution_20250825/)],
      ],
    });
  });

  // https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
  test("include web search in all its spellings, with the settings the provider supports", () => {
    const plain = [{ type: "web_search_20250305", name: "web_search" }];
    for (const type of ["web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"]) {
      expect(toolsOf({ tools: [hosted(type)] })).toEqual(plain);
    }
    const search = hosted("web_search", {
      search_context_size: "low",
      max_uses: 3,
      filters: { allowed_domains: ["a.example"], blocked_domains: ["b.example"] },
      user_location: { type: "approximate", city: "Oslo" },
    });
    const { body, losses } = translateToMessages({
      tools: [search],
      toolChoice: { type: "tool", tool: { type: "web_search" } },
    });
    expect(body.tools).toEqual([
      {
        ...plain[0],
        max_uses: 3,
        allowed_domains: ["a.example"],
        user_location: { type: "approximate", city: "Oslo" },
      },
    ]);
    expect(body.tool_choice).toEqual({ type: "tool", name: "web_search" });
    expect(losses.map(([path]) => path)).toEqual(["tools.0.search_context_size", "tools.0.filters.blocked_domains"]);
    const blocked = hosted("web_search", { filters: { excluded_domains: ["b.example"] } });
    expect(toolsOf({ tools: [blocked] })).toEqual([{ ...plain[0], blocked_domains: ["b.example"] }]);
  });

  test("include a search defined in the input", () => {
    const item = { type: "additional_tools", role: "developer", tools: [{ type: "web_search" }] };
    expect(toolsOf({ input: [say("user", "u"), item] })).toEqual([{ type: "web_search_20250305", name: "web_search" }]);
  });

  test("exclude other tools of providers, and a search without the operator's permission", () => {
    const message = "no provider of this model runs tools of type code_interpreter";
    expect(refuseMessagesRequest({ tools: [lookup, hosted("code_interpreter")] })).toEqual({
      path: "tools.1",
      message,
    });
    expect(
      refuseMessagesRequest({ tools: [hosted("web_search")] }, { ...messagesTarget, nativeTools: new Set() })?.path,
    ).toBe("tools.0");
  });
});

describe("settings for the Messages format", () => {
  test("make a minimal body for a minimal request", () => {
    expect(buildMessagesBody({ stream: false })).toEqual({
      model: "m",
      max_tokens: 4096,
      stream: false,
      messages: [user(block("Hi"))],
    });
  });

  test("have the request's maximum of output tokens, or else the model's", () => {
    const at = { ...messagesTarget, maxOutputTokens: 64_000 };
    expect(buildMessagesBody({}, at).max_tokens).toBe(64_000);
    expect(buildMessagesBody({ maxOutputTokens: 10 }, at).max_tokens).toBe(10);
  });

  test("include the samplers", () => {
    expect(buildMessagesBody({ temperature: 0.5, topK: 5 })).toMatchObject({ temperature: 0.5, top_k: 5 });
    expect(buildMessagesBody({ topP: 0.5 })).toMatchObject({ top_p: 0.5 });
    const { body, losses } = translateToMessages({ temperature: 1.5, topP: 0.5 });
    expect([body.temperature, body.top_p]).toEqual([1, undefined]);
    expect(losses.map(([path]) => path)).toEqual(["temperature", "top_p"]);
  });

  test("have structured outputs, byte for byte", () => {
    const textFormat = { type: "json_schema" as const, name: "n", schemaJson: schema, description: "d" };
    const { text: json, losses } = translateToMessages({ textFormat });
    expect(json).toContain(`"output_config":{"format":{"type":"json_schema","schema":${schema}}}`);
    expect(losses.map(([path]) => path)).toEqual(["text.format.description"]);
    expect(findMessagesDropped({ textFormat: { type: "json_object" } })).toEqual(["text.format"]);
  });

  test("include the end user and the tier", () => {
    expect(buildMessagesBody({ identityHash: "h" }).metadata).toEqual({ user_id: "h" });
    expect(buildMessagesBody({}, { ...messagesTarget, tier: "priority" }).service_tier).toBe("auto");
    expect(findMessagesDropped({}, { ...messagesTarget, tier: "flex" })).toEqual(["service_tier"]);
    const vendor = { ...messagesTarget, original: true };
    expect(buildMessagesBody({ serviceTier: "default" }, vendor).service_tier).toBe("standard_only");
    expect(buildMessagesBody({ serviceTier: "auto" }, vendor)).not.toHaveProperty("service_tier");
    expect(buildMessagesBody({ serviceTier: "default" })).not.toHaveProperty("service_tier");
  });

  test("are refused for images as an answer, and for a history sealed by another provider", () => {
    expect(refuseMessagesRequest({ outputModalities: ["image"] })?.path).toBe("modalities");
    expect(refuseMessagesRequest({ input: [{ type: "compaction", encrypted_content: "x" }] })?.path).toBe("input.0");
  });
});

// https://platform.claude.com/docs/en/build-with-claude/thinking and /effort
describe("thinking in the Messages format", () => {
  const saidOf = (reasoning: object, at = messagesTarget, more: Partial<TurnRequest> = {}) => {
    const { body, losses } = translateToMessages({ reasoning, maxOutputTokens: 10_000, ...more }, at);
    const { thinking, output_config: config } = body;
    return [thinking, (config as { effort?: string } | undefined)?.effort, losses.map(([path]) => path)];
  };
  const adaptive = { type: "adaptive" };
  const enabled = (budget_tokens: number) => ({ type: "enabled", budget_tokens });

  test("is set by an effort for models with adaptive thinking", () => {
    expect(saidOf({ effort: "xhigh" })).toEqual([adaptive, "xhigh", []]);
    expect(saidOf({ effort: "minimal" })).toEqual([adaptive, "low", ["reasoning.effort"]]);
    expect(saidOf({ maxTokens: 2_000 })).toEqual([adaptive, undefined, ["reasoning.max_tokens"]]);
    expect(saidOf({ summary: "auto" })).toEqual([{ ...adaptive, display: "summarized" }, undefined, []]);
    expect(saidOf({ effort: "low", summary: "detailed" })[2]).toEqual(["reasoning.summary"]);
    expect(buildMessagesBody({}).thinking).toBeUndefined();
  });

  test("is omitted from the answer if the client requests this, which does not enable thinking", () => {
    const omitted = { display: "omitted" };
    expect(saidOf({ effort: "high", summary: "omitted" })).toEqual([{ ...adaptive, ...omitted }, "high", []]);
    const budget = saidOf({ maxTokens: 2_000, summary: "omitted" }, messagesWithThinkingBudget);
    expect(budget).toEqual([{ ...enabled(2_000), ...omitted }, undefined, []]);
    expect(saidOf({ summary: "omitted" })).toEqual([undefined, undefined, []]);
  });

  test("is shown as updates by models that can, and as a summary elsewhere, which is named", () => {
    const knowing = { ...messagesTarget, supportedParameters: ["reasoning", "thinking.updates"] };
    const wish = { effort: "high", summary: "updates" } as const;
    expect(saidOf(wish, knowing)).toEqual([{ ...adaptive, display: "updates" }, "high", []]);
    expect(saidOf(wish)).toEqual([{ ...adaptive, display: "summarized" }, "high", ["reasoning.summary"]]);
  });

  test("is set by a budget within the answer for earlier models", () => {
    expect(saidOf({ effort: "high" }, messagesWithThinkingBudget)).toEqual([enabled(8_000), undefined, []]);
    expect(saidOf({ effort: "minimal" }, messagesWithThinkingBudget)[0]).toEqual(enabled(1_024));
    expect(saidOf({ maxTokens: 2_000, effort: "low" }, messagesWithThinkingBudget)).toEqual([
      enabled(2_000),
      undefined,
      ["reasoning.effort"],
    ]);
    expect(saidOf({ maxTokens: 20_000 }, messagesWithThinkingBudget)).toEqual([
      enabled(9_999),
      undefined,
      ["reasoning.max_tokens"],
    ]);
    expect(saidOf({ maxTokens: 10 }, messagesWithThinkingBudget)).toEqual([
      enabled(1_024),
      undefined,
      ["reasoning.max_tokens"],
    ]);
    const small = saidOf({ effort: "high" }, messagesWithThinkingBudget, { maxOutputTokens: 1_024 });
    expect(small).toEqual([undefined, undefined, ["reasoning.effort"]]);
    expect(saidOf({ summary: "auto" }, messagesWithThinkingBudget)).toEqual([
      undefined,
      undefined,
      ["reasoning.summary"],
    ]);
  });

  test("is sent as disabled if the endpoint supports it", () => {
    expect(saidOf({ effort: "none" }, messagesWithThinkingBudget)).toEqual([undefined, undefined, []]);
    expect(saidOf({ effort: "none" })).toEqual([undefined, "low", ["reasoning.effort"]]);
    for (const type of ["disabled", "between_tools"]) {
      const at = { ...messagesTarget, supportedParameters: ["reasoning", `thinking.${type}`] };
      expect(saidOf({ effort: "none" }, at)).toEqual([{ type }, undefined, []]);
    }
  });

  test("is set either way for models of 4.6, and an impossible budget becomes an effort", () => {
    const parameters = ["reasoning", "reasoning.effort", "reasoning.max_tokens", "thinking.disabled", "tool_choice"];
    const at = { ...messagesTarget, supportedParameters: parameters };
    expect(saidOf({ effort: "high" }, at)).toEqual([adaptive, "high", []]);
    expect(saidOf({ maxTokens: 3_000 }, at)).toEqual([enabled(3_000), undefined, []]);
    expect(saidOf({ maxTokens: 3_000, effort: "minimal" }, at)).toEqual([enabled(3_000), "low", ["reasoning.effort"]]);
    expect(saidOf({ effort: "none" }, at)).toEqual([{ type: "disabled" }, undefined, []]);
    const forced = { tools: [functionTool()], toolChoice: "required" as const };
    expect(saidOf({ maxTokens: 3_000 }, at, forced)).toEqual([adaptive, undefined, ["reasoning.max_tokens"]]);
  });

  // Sonnet 4, 3.7 and later models are not in the catalogue, so the setting of the client, which knows its model, is sent.
  test("has, for an unknown model, the setting of the Messages client", () => {
    const door = { door: "messages" as const };
    expect(saidOf({ maxTokens: 3_000 }, messagesTarget, door)).toEqual([enabled(3_000), undefined, []]);
    expect(saidOf({ maxTokens: 3_000, effort: "low" }, messagesTarget, door)).toEqual([enabled(3_000), "low", []]);
    expect(saidOf({ effort: "high", enabled: true }, messagesTarget, door)).toEqual([adaptive, "high", []]);
    expect(saidOf({ effort: "none" }, messagesTarget, door)).toEqual([{ type: "disabled" }, undefined, []]);
    const at = { ...messagesTarget, supportedParameters: ["reasoning"] };
    expect(saidOf({ maxTokens: 3_000 }, at, door)).toEqual([adaptive, undefined, ["reasoning.max_tokens"]]);
  });

  test("has no budget with a required call, nor after an unsigned call", () => {
    const forced = { tools: [functionTool()], toolChoice: "required" as const };
    expect(saidOf({ effort: "high" }, messagesTarget, forced)).toEqual([adaptive, "high", []]);
    expect(saidOf({ effort: "high" }, messagesWithThinkingBudget, forced)).toEqual([
      undefined,
      undefined,
      ["reasoning.effort"],
    ]);
    const without = [say("user", "u"), calls("a"), answers("a", "1")];
    expect(saidOf({ effort: "high" }, messagesWithThinkingBudget, { input: without })[2]).toEqual(["reasoning.effort"]);
    const signed = [say("user", "u"), thinks({ signature: "s" }), calls("a"), answers("a", "1")];
    expect(saidOf({ effort: "high" }, messagesWithThinkingBudget, { input: signed })).toEqual([
      enabled(8_000),
      undefined,
      [],
    ]);
  });

  test("is not enabled by an effort in Anthropic's format, which has a separate field for thinking", () => {
    const door = { door: "messages" as const };
    expect(saidOf({ effort: "low" }, messagesTarget, door)).toEqual([undefined, "low", []]);
    expect(saidOf({ effort: "low", enabled: true }, messagesTarget, door)).toEqual([adaptive, "low", []]);
    expect(saidOf({ effort: "low" }, messagesWithThinkingBudget, door)).toEqual([
      undefined,
      undefined,
      ["reasoning.effort"],
    ]);
    expect(saidOf({ effort: "low", enabled: true }, messagesWithThinkingBudget, door)).toEqual([
      enabled(2_000),
      undefined,
      [],
    ]);
  });

  test("changes with a change in the conversation", () => {
    const input = [say("user", "u"), { type: "configuration_update", reasoning: { effort: "low" } }];
    expect(saidOf({ effort: "high" }, messagesTarget, { input })).toEqual([adaptive, "low", []]);
  });

  test("allows only a temperature of 1, and all samplers when it is off", () => {
    const thinking = { reasoning: { effort: "low" } } as const;
    expect(translateToMessages({ ...thinking, temperature: 1 })).toMatchObject({
      body: { temperature: 1 },
      losses: [],
    });
    const off = { reasoning: { effort: "none" }, door: "messages", temperature: 0.2 } as const;
    expect(buildMessagesBody(off)).toMatchObject({ thinking: { type: "disabled" }, temperature: 0.2 });
  });

  test("keeps the samplers that a Messages client has written for a server with other models", () => {
    const samplers = { temperature: 0.5, topP: 0.5 };
    const written = { temperature: 0.5, top_p: 0.5 };
    expect(translateToMessages({ ...samplers, door: "messages" })).toMatchObject({ body: written, losses: [] });
    expect(findMessagesDropped(samplers)).toEqual(["top_p"]);
    const claude = { ...messagesTarget, upstreamModel: "anthropic/claude-opus-4.8" };
    expect(findMessagesDropped({ ...samplers, door: "messages" }, claude)).toEqual(["top_p"]);
  });

  test("has no display with a budget unless the client has written it, and a summary elsewhere", () => {
    const implied = { maxTokens: 2_000, summary: "auto", isSummaryImplied: true } as const;
    expect(
      buildMessagesBody({ reasoning: implied, maxOutputTokens: 10_000 }, messagesWithThinkingBudget).thinking,
    ).toEqual({
      type: "enabled",
      budget_tokens: 2_000,
    });
    expect(buildMessagesBody({ reasoning: implied, maxOutputTokens: 10_000 }).thinking).toEqual({
      type: "adaptive",
      display: "summarized",
    });
  });

  test("excludes samplers, except a high top_p", () => {
    const { body, losses } = translateToMessages({
      reasoning: { effort: "low" },
      temperature: 0.5,
      topK: 3,
      topP: 0.5,
    });
    expect([body.temperature, body.top_k, body.top_p]).toEqual([undefined, undefined, undefined]);
    expect(losses.map(([path]) => path)).toEqual(["temperature", "top_k", "top_p"]);
    expect(buildMessagesBody({ reasoning: { effort: "low" }, topP: 0.97 }).top_p).toBe(0.97);
  });
});

// https://platform.claude.com/docs/en/build-with-claude/prompt-caching
describe("cache marks in the Messages format", () => {
  const mark = { type: "ephemeral" };
  const hour = { type: "ephemeral", ttl: "1h" };
  const marked = (words: string, cache_control: object = mark) => text(words, { cache_control });
  const control = { cacheControl: { ttl: "5m" as const } };

  /** Texts of the marked blocks, in the order of the prefix; results by their id. */
  function marksOf(request: Partial<TurnRequest>): string[] {
    const {
      tools = [],
      system = [],
      messages,
    } = buildMessagesBody(request) as Record<string, Record<string, unknown>[]>;
    const blocks = [...tools, ...system, ...(messages ?? []).flatMap(({ content }) => content as object[])];
    return (blocks as Record<string, unknown>[])
      .filter(({ cache_control: it }) => it !== undefined)
      .map((it) => String(it.text ?? it.name ?? it.tool_use_id));
  }

  test("of the request stay in place, in both forms", () => {
    const other = text("b", { prompt_cache_breakpoint: { mode: "explicit" } });
    const body = buildMessagesBody({ input: [say("user", [marked("a", hour), other])] });
    expect(body.messages).toEqual([user(block("a", { cache_control: hour }), block("b", { cache_control: mark }))]);
    expect(buildMessagesBody({ input: [say("system", [marked("s")]), say("user", "u")] }).system).toEqual([
      block("s", { cache_control: mark }),
    ]);
  });

  test("are refused by name above four", () => {
    const four = [1, 2, 3, 4].map((n) => marked(String(n)));
    const output = [text("x", { prompt_cache_breakpoint: { mode: "explicit" } })];
    const input = [say("user", four), calls("a")];
    expect(refuseMessagesRequest({ input })).toBeUndefined();
    expect(refuseMessagesRequest({ input: [...input, answers("a", output)] })).toEqual({
      path: "input.2.output.0.prompt_cache_breakpoint",
      message: "no provider of this model takes more than 4 marks",
    });
  });

  test("have the longer lifetime first", () => {
    const { body, losses } = translateToMessages({ input: [say("user", [marked("a"), marked("b", hour)])] });
    expect(body.messages).toEqual([user(block("a", { cache_control: mark }), block("b", { cache_control: mark }))]);
    expect(losses.map(([path]) => path)).toEqual(["input.0.content.1.cache_control.ttl"]);
  });

  const turns = (count: number) =>
    Array.from({ length: count }, (_, at) => [say("user", `u${at}`), say("assistant", `a${at}`)]).flat();
  const tool = functionTool({ name: "t" });

  test.each<[string, Partial<TurnRequest>, string[]]>([
    ["one question", { input: [say("user", "u")] }, ["u"]],
    ["the prompt and the end", { instructions: "s", tools: [tool], input: [say("user", "u")] }, ["s", "u"]],
    ["the tools where there is no prompt", { tools: [tool], input: [say("user", "u")] }, ["t", "u"]],
    ["the end of the turn before", { instructions: "s", input: [...turns(2), say("user", "now")] }, ["s", "u1", "now"]],
    ["results of tools", { input: [say("user", "u"), calls("a"), answers("a", "1")] }, ["u", "a"]],
    [
      "what a first question is about",
      { input: [say("user", [text("x".repeat(5_000)), text("?")])] },
      ["x".repeat(5_000)],
    ],
    ["never a thought", { input: [say("user", "u"), thinks({ signature: "s" }), say("assistant", "a")] }, ["a"]],
    [
      "one in between where much lies between",
      {
        instructions: "s",
        input: [
          ...turns(1),
          say("user", "first"),
          say(
            "assistant",
            Array.from({ length: 30 }, (_, n) => text(`b${n}`)),
          ),
          say("user", "now"),
        ],
      },
      ["s", "first", "b12", "now"],
    ],
    [
      "those of the request count first",
      {
        instructions: "s",
        input: [
          say(
            "user",
            ["1", "2", "3"].map((it) => marked(it)),
          ),
          say("assistant", "a"),
          say("user", "now"),
        ],
      },
      ["1", "2", "3", "now"],
    ],
  ])("may be one for a whole request: %s", (_, request, expected) => {
    expect(marksOf({ ...control, ...request })).toEqual(expected);
  });

  test("have a lifetime each", () => {
    const { messages } = buildMessagesBody({ cacheControl: { ttl: "1h" } });
    expect(messages).toEqual([user(block("Hi", { cache_control: hour }))]);
  });
});
