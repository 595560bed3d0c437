/** Requests in the form of Gemini (https://ai.google.dev/api/generate-content), with their dropped fields. */
import { describe, expect, test } from "@jest/globals";
import type { HostedTool, InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { functionTool } from "../../asking.js";
import {
  buildGeminiBody,
  buildConfig,
  findGeminiDropped,
  olderModel,
  refuseGeminiRequest,
  geminiTarget,
  translateToGemini,
} from "./gemini-translation.js";

const say = (role: string, content: unknown): InputItem => ({ type: "message", role, content });
const calls = (call_id: string, json = "{}", name = "f"): InputItem => ({
  type: "function_call",
  id: `fc_${call_id}`,
  call_id,
  name,
  arguments: json,
});
const answers = (call_id: string, output: unknown): InputItem => ({ type: "function_call_output", call_id, output });
const thinks = (fields: object): InputItem => ({
  type: "reasoning",
  id: "rs_1",
  summary: [],
  format: "google-gemini-v1",
  ...fields,
});
const text = (words: string, more: object = {}) => ({ type: "input_text", text: words, ...more });
const user = (...parts: object[]) => ({ role: "user", parts });
const model = (...parts: object[]) => ({ role: "model", parts });
const functionCall = (id: string, args: object = {}, more: object = {}) => ({
  functionCall: { id, name: "f", args },
  ...more,
});
const functionResponse = (id: string, output: string) => ({
  functionResponse: { id, name: "f", response: { output } },
});
/** Google's placeholder for the signature of calls by other models. */
const unsigned = { thoughtSignature: "skip_thought_signature_validator" };
/** Message before a conversation that begins with a call, because the provider refuses this beginning. */
const opening = JSON.stringify({ role: "user", parts: [{ text: "(no message)" }] });
const contentsOf = (input: readonly InputItem[], at = olderModel) =>
  (buildGeminiBody({ input }, at).contents as object[]).filter((content) => JSON.stringify(content) !== opening);
/** A number JavaScript would round, and white space JSON.stringify would not write. */
const schema = '{"type":"object", "properties":{"n":{"const":12345678901234567890,"multipleOf":1.0}}}';

test("a plain question is sent to Gemini as only its contents", () => {
  expect(translateToGemini({})).toMatchObject({ body: { contents: [user({ text: "Hi" })] }, losses: [] });
  expect(Object.keys(buildGeminiBody({}))).toEqual(["contents"]);
});

describe("prompts and roles for Gemini", () => {
  test("keep the last prompt as the question when there is no other message", () => {
    const body = buildGeminiBody({ input: [say("system", "a"), say("developer", "b")] });
    expect([body.systemInstruction, body.contents]).toEqual([{ parts: [{ text: "a" }] }, [user({ text: "b" })]]);
  });

  test("have text of the assistant without its annotations", () => {
    const part = { type: "output_text", text: "x", annotations: [{ type: "url_citation" }] };
    const { body, losses } = translateToGemini({
      input: [say("user", "u"), { ...say("assistant", [part]), phase: "commentary" }],
    });
    expect(body.contents).toEqual([user({ text: "u" }), model({ text: "x" })]);
    expect(losses.map(([path]) => path)).toEqual(["input.1.phase", "input.1.content.0.annotations"]);
  });
});

// https://ai.google.dev/gemini-api/docs/function-calling
describe("calls and results for Gemini", () => {
  test("have results right after the calls, under their names, with their images", () => {
    const input = [
      say("user", "u"),
      say("assistant", "Checking."),
      calls("a", '{"n":12345678901234567890}'),
      calls("b"),
      say("user", "meanwhile"),
      answers("a", "1"),
      answers("b", [text("2"), { type: "input_image", image_url: "data:image/png;base64,AA" }, text("3")]),
    ];
    const { body, text: json } = translateToGemini({ input }, olderModel);
    expect(body.contents).toEqual([
      user({ text: "u" }),
      model({ text: "Checking." }, functionCall("a", { n: expect.any(Number) }), functionCall("b")),
      user(functionResponse("a", "1"), functionResponse("b", "2\n3"), {
        inlineData: { mimeType: "image/png", data: "AA" },
      }),
      user({ text: "meanwhile" }),
    ]);
    expect(json).toContain('"args":{"n":12345678901234567890}');
  });

  test("keep the results of each round of calls together, in any order of arrival", () => {
    const input = [calls("a"), calls("b"), answers("a", "1"), calls("c"), answers("c", "3"), answers("b", "2")];
    expect(contentsOf(input)).toEqual([
      model(functionCall("a"), functionCall("b")),
      user(functionResponse("a", "1"), functionResponse("b", "2")),
      model(functionCall("c")),
      user(functionResponse("c", "3")),
    ]);
  });

  test("have text of the user after the results as a separate message", () => {
    expect(contentsOf([calls("a"), answers("a", ""), say("user", "u"), say("user", "v")])).toEqual([
      model(functionCall("a")),
      user(functionResponse("a", "")),
      user({ text: "u" }, { text: "v" }),
    ]);
  });

  test("wrap arguments other than an object", () => {
    expect(contentsOf([calls("a", '{"a":'), answers("a", "x"), calls("b", ""), answers("b", "y")])).toEqual([
      model(functionCall("a", { arguments: '{"a":' })),
      user(functionResponse("a", "x")),
      model(functionCall("b")),
      user(functionResponse("b", "y")),
    ]);
  });
});

// https://ai.google.dev/gemini-api/docs/thought-signatures
describe("signatures for Gemini", () => {
  const conversation = (...thoughts: InputItem[]) => [say("user", "u"), ...thoughts, calls("a"), answers("a", "1")];
  const answered = user(functionResponse("a", "1"));

  test("stay on their part: a call, or a text", () => {
    expect(contentsOf(conversation(thinks({ signature: "S" })), geminiTarget)).toEqual([
      user({ text: "u" }),
      model(functionCall("a", {}, { thoughtSignature: "S" })),
      answered,
    ]);
    const said = [say("user", "u"), thinks({ encrypted_content: "S" }), say("assistant", "x"), say("user", "v")];
    expect(contentsOf(said)).toEqual([
      user({ text: "u" }),
      model({ text: "x", thoughtSignature: "S" }),
      user({ text: "v" }),
    ]);
  });

  test("are a separate part, unchanged, without a successor", () => {
    const alone = (value: string) => ({ text: "", thoughtSignature: value });
    const said = [say("assistant", "x"), thinks({ encrypted_content: "S" }), say("user", "v")];
    expect(contentsOf(said)).toEqual([model({ text: "x" }, alone("S")), user({ text: "v" })]);
    const two = [say("assistant", "x"), thinks({ signature: "S" }), thinks({ signature: "T" }), calls("a")];
    expect(contentsOf(two)).toEqual([
      model({ text: "x" }, alone("S"), functionCall("a", {}, { thoughtSignature: "T" })),
    ]);
    expect(findGeminiDropped({ input: [say("user", "u"), thinks({ signature: "S" }), say("user", "v")] })).toEqual([
      "input.1",
    ]);
  });

  test("are sent on the first of parallel calls, and left out when of another model family", () => {
    const input = [say("user", "u"), thinks({ signature: "S", format: "anthropic-claude-v1" }), calls("a"), calls("b")];
    const { body, losses } = translateToGemini({ input });
    expect(body.contents).toEqual([user({ text: "u" }), model(functionCall("a", {}, unsigned), functionCall("b"))]);
    expect(losses).toEqual([["input.1", "the provider only reads reasoning of its own models"]]);
  });

  test("are not needed for calls before Gemini 3, and unsigned reasoning is left out", () => {
    const input = conversation(thinks({ summary: [{ type: "summary_text", text: "hm" }] }));
    const { body, losses } = translateToGemini({ input }, olderModel);
    expect([body.contents, losses]).toEqual([[user({ text: "u" }), model(functionCall("a")), answered], []]);
  });

  test.each([
    ["gemini-3-pro-preview", true],
    ["gemini-10-flash", true],
    ["gemini-flash-latest", true],
    ["models/gemini-3.6-flash", true],
    ["gemini-2.5-pro", false],
    ["gemma-4-27b-it", false],
  ])("are required for calls by %s: %s", (upstreamModel, wanted) => {
    const contents = contentsOf(conversation(), { ...geminiTarget, upstreamModel });
    expect(contents).toEqual([user({ text: "u" }), model(functionCall("a", {}, wanted ? unsigned : {})), answered]);
  });
});

// https://ai.google.dev/gemini-api/docs/file-input-methods
describe("media for Gemini", () => {
  const partsOf = (...content: object[]) => (contentsOf([say("user", content)]) as { parts: unknown[] }[])[0]?.parts;

  test("are sent inline, or as addresses that the provider fetches", () => {
    expect(
      partsOf(
        { type: "input_image", image_url: "data:image/jpeg;base64,AA", detail: "auto" },
        { type: "input_image", image_url: "https://a.example/cat.PNG?x=1", detail: "auto" },
        { type: "input_image", image_url: "https://a.example/cat", detail: "auto" },
        { type: "input_file", file_data: "data:application/pdf;base64,JVBERAA" },
        { type: "input_file", file_data: "JVBERAA" },
        { type: "input_file", file_data: "data:application/json;charset=utf-8;base64,e30=" },
        { type: "input_file", file_url: "https://a.example/a.pdf" },
        { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
        { type: "input_video", video_url: "data:video/mp4;base64,AA" },
        { type: "input_video", video_url: "https://www.youtube.com/watch?v=1" },
      ),
    ).toEqual([
      { inlineData: { mimeType: "image/jpeg", data: "AA" } },
      { fileData: { mimeType: "image/png", fileUri: "https://a.example/cat.PNG?x=1" } },
      { fileData: { fileUri: "https://a.example/cat" } },
      { inlineData: { mimeType: "application/pdf", data: "JVBERAA" } },
      { inlineData: { mimeType: "application/pdf", data: "JVBERAA" } },
      { inlineData: { mimeType: "text/plain", data: "e30=" } },
      { fileData: { mimeType: "application/pdf", fileUri: "https://a.example/a.pdf" } },
      { inlineData: { mimeType: "audio/wav", data: "AA" } },
      { inlineData: { mimeType: "video/mp4", data: "AA" } },
      { fileData: { fileUri: "https://www.youtube.com/watch?v=1" } },
    ]);
  });

  test("lose their texts, which are named as not sent, and cannot be in the system prompt", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,AA", detail: "high" };
    const file = { type: "input_file", file_data: "JVBERAA", filename: "a.pdf" };
    const video = { type: "input_video", video_url: "https://a.example/a.mp4", processing: "static" };
    const { body, losses } = translateToGemini({ input: [say("system", [image]), say("user", [file, video])] });
    expect(body.systemInstruction).toBeUndefined();
    expect(losses.map(([path]) => path)).toEqual([
      "input.0.content.0.detail",
      "input.0.role",
      "input.1.content.0.filename",
      "input.1.content.1.processing",
    ]);
  });

  test("include a screenshot next to its result", () => {
    const input: InputItem[] = [
      { type: "computer_call", id: "c", call_id: "c", action: { type: "screenshot" } },
      { type: "computer_call_output", call_id: "c", output: { image_url: "data:image/png;base64,AA" } },
    ];
    expect((contentsOf(input) as { parts: object[] }[])[1]?.parts).toEqual([
      { functionResponse: { id: "c", name: "computer", response: { output: "" } } },
      { inlineData: { mimeType: "image/png", data: "AA" } },
    ]);
  });

  test.each<[object, string]>([
    [{ type: "input_image", file_id: "f" }, "no provider of this model takes images by file_id"],
    [{ type: "input_file", file_id: "f" }, "no provider of this model takes files by file_id"],
    [{ type: "input_file", file_data: "AAAA" }, "no provider of this model takes files of type unknown"],
    [
      { type: "input_file", file_data: "data:application/zip;base64,AA" },
      "no provider of this model takes files of type application/zip",
    ],
    [
      { type: "input_video", video_url: "file:///etc/passwd" },
      "no provider of this model takes videos that are neither data URLs nor http URLs",
    ],
    [{ type: "encrypted_content", encrypted_content: "x" }, "no provider of this model takes encrypted content"],
  ])("of a media part in the form %j are refused", (part, message) => {
    const path = "input.0.content.1";
    expect(refuseGeminiRequest({ input: [say("user", [text("x"), part])] })).toEqual({ path, message });
  });

  test("are refused as a screenshot by id, as is a sealed history", () => {
    const sealed = { type: "compaction", encrypted_content: "x" };
    expect(refuseGeminiRequest({ input: [sealed] })?.path).toBe("input.0");
    const shot = { type: "computer_call_output", call_id: "c", output: { file_id: "f" } };
    expect(refuseGeminiRequest({ input: [shot] })?.path).toBe("input.0.output");
  });
});

describe("tools for Gemini", () => {
  const weather = functionTool({ name: "get_weather", description: "Tells", parametersJson: schema });

  test("are sent with their schemas unchanged", () => {
    const { body, text: json } = translateToGemini({ tools: [weather, functionTool({ name: "now" })] });
    expect(body.tools).toEqual([
      {
        functionDeclarations: [
          { name: "get_weather", description: "Tells", parametersJsonSchema: expect.any(Object) },
          { name: "now" },
        ],
      },
    ]);
    expect(body.toolConfig).toBeUndefined();
    expect(json).toContain(`"parametersJsonSchema":${schema}`);
  });

  const tools = [weather, functionTool({ name: "now" })];

  test("are allowed by the choice of their namespace", () => {
    const crm = { type: "namespace" as const, name: "crm", description: "", tools: [weather], json: "{}" };
    const body = buildGeminiBody({
      tools: [crm, ...tools],
      toolChoice: { type: "tool", tool: { type: "namespace", name: "crm" } },
    });
    expect(body.toolConfig).toEqual({ functionCallingConfig: { mode: "ANY" } });
    expect(body.tools).toMatchObject([{ functionDeclarations: [{ name: "crm__get_weather" }] }]);
  });

  test("are held to their schemas by the model if one function is strict", () => {
    const strict = [functionTool({ strict: true })];
    expect(buildGeminiBody({ tools: strict }).toolConfig).toEqual({ functionCallingConfig: { mode: "VALIDATED" } });
    expect(buildGeminiBody({ tools: strict, toolChoice: "required" }).toolConfig).toEqual({
      functionCallingConfig: { mode: "ANY" },
    });
  });

  test("cannot be limited to one call at a time", () => {
    expect(findGeminiDropped({ tools, parallelToolCalls: false })).toEqual(["parallel_tool_calls"]);
    expect(findGeminiDropped({ tools, parallelToolCalls: true })).toEqual([]);
  });
});

// https://ai.google.dev/gemini-api/docs/google-search, https://ai.google.dev/gemini-api/docs/url-context
describe("tools of Gemini itself", () => {
  const hosted = (kind: string, more: object = {}): HostedTool => ({
    type: "hosted",
    kind,
    spelling: kind,
    json: JSON.stringify({ type: kind, ...more }),
  });
  const listing = (...names: string[]) => ({ ...geminiTarget, nativeTools: new Set(names) });

  test("include a search under any of its names, and page fetches if the operator lists the tool", () => {
    expect(buildGeminiBody({ tools: [hosted("web_search_preview")] }).tools).toEqual([{ googleSearch: {} }]);
    const both = [hosted("web_search"), hosted("service:web_fetch"), hosted("service:web_search")];
    const all = listing("web_search", "service:web_fetch", "service:web_search");
    expect(buildGeminiBody({ tools: both }, all).tools).toEqual([{ googleSearch: {} }, { urlContext: {} }]);
    expect(refuseGeminiRequest({ tools: both })).toEqual({
      path: "tools.1",
      message: "no provider of this model runs tools of type service:web_fetch",
    });
    expect(refuseGeminiRequest({ tools: [hosted("web_search")] }, listing("service:web_fetch"))?.path).toBe("tools.0");
  });

  test("have unsupported search settings named, and domain filters refused", () => {
    const search = hosted("web_search", { search_context_size: "high", max_uses: 2, filters: {}, user_location: null });
    expect(findGeminiDropped({ tools: [search] })).toEqual(["tools.0.search_context_size", "tools.0.max_uses"]);
    const filtered = hosted("web_search", { filters: { allowed_domains: ["a.example"] } });
    expect(refuseGeminiRequest({ tools: [filtered] })?.path).toBe("tools.0.filters.allowed_domains");
    const pages = hosted("service:web_fetch", { parameters: { max_uses: 1, blocked_domains: ["a.example"] } });
    expect(refuseGeminiRequest({ tools: [pages] }, listing("service:web_fetch"))?.path).toBe(
      "tools.0.parameters.blocked_domains",
    );
    const limited = hosted("service:web_fetch", { parameters: { max_uses: 1 } });
    expect(findGeminiDropped({ tools: [limited] }, listing("service:web_fetch"))).toEqual([
      "tools.0.parameters.max_uses",
    ]);
  });

  test("are refused together with functions, when required, and when calls are forbidden", () => {
    const search = hosted("web_search");
    expect(refuseGeminiRequest({ tools: [functionTool(), search] })?.path).toBe("tools.1");
    expect(findGeminiDropped({ tools: [search], toolChoice: "required" })).toEqual(["tool_choice"]);
    expect(findGeminiDropped({ tools: [search], toolChoice: { type: "tool", tool: { type: "web_search" } } })).toEqual([
      "tool_choice",
    ]);
    expect(buildGeminiBody({ tools: [search], toolChoice: "none" }).tools).toBeUndefined();
  });

  test("exclude other tools, which are refused", () => {
    expect(refuseGeminiRequest({ tools: [hosted("code_interpreter")] })).toEqual({
      path: "tools.0",
      message: "no provider of this model runs tools of type code_interpreter",
    });
    expect(
      refuseGeminiRequest({ tools: [functionTool()], toolChoice: { type: "tool", tool: { type: "mcp" } } })?.path,
    ).toBe("tool_choice");
    expect(findGeminiDropped({ tools: [functionTool(), hosted("tool_search")] })).toEqual(["tools.1"]);
  });
});

// https://ai.google.dev/gemini-api/docs/generate-content/thinking
describe("thinking of Gemini", () => {
  const thinkingOf = (reasoning: TurnRequest["reasoning"], at = geminiTarget) => {
    const { config, losses } = translateToGemini({ ...(reasoning && { reasoning }) }, at);
    return [config?.thinkingConfig, losses.map(([path, reason]) => `${path}: ${reason}`)];
  };
  const shows = { includeThoughts: true };

  test.each<[string, object, string[]]>([
    ["low", { thinkingLevel: "LOW", ...shows }, []],
    ["medium", { thinkingLevel: "MEDIUM", ...shows }, []],
    ["high", { thinkingLevel: "HIGH", ...shows }, []],
    ["max", { thinkingLevel: "HIGH", ...shows }, ["reasoning.effort: sent as high"]],
    ["minimal", { thinkingLevel: "LOW", ...shows }, ["reasoning.effort: sent as low"]],
    ["none", { thinkingLevel: "LOW" }, ["reasoning.effort: sent as low"]],
  ])("has an effort of %s as a level", (effort, wanted, losses) => {
    expect(thinkingOf({ effort })).toEqual([wanted, losses]);
  });

  test("has the minimal level only if the operator declares it for the model", () => {
    const least = { ...geminiTarget, supportedParameters: ["reasoning", "thinking.minimal"] };
    expect(thinkingOf({ effort: "minimal" }, least)).toEqual([{ thinkingLevel: "MINIMAL", ...shows }, []]);
    expect(thinkingOf({ effort: "none" }, least)).toEqual([
      { thinkingLevel: "MINIMAL" },
      ["reasoning.effort: sent as minimal"],
    ]);
  });

  test.each<[string, string, object, number]>([
    ["gemini-2.5-flash", "none", { thinkingBudget: 0 }, 0],
    ["gemini-2.5-pro", "none", { thinkingBudget: 128 }, 1],
    ["gemini-2.5-flash", "minimal", { thinkingBudget: 1_024, ...shows }, 1],
    ["gemini-2.5-flash", "medium", { thinkingBudget: 8_192, ...shows }, 0],
    ["gemini-2.5-pro", "high", { thinkingBudget: 24_576, ...shows }, 0],
    ["gemini-2.5-flash", "xhigh", { thinkingBudget: 24_576, ...shows }, 1],
  ])("has, for %s, an effort of %s as a budget", (upstreamModel, effort, wanted, losses) => {
    const { config, losses: lost } = translateToGemini({ reasoning: { effort } }, { ...geminiTarget, upstreamModel });
    expect([config?.thinkingConfig, lost.length]).toEqual([wanted, losses]);
  });

  test("has a budget that fits the model, or the difference is named", () => {
    const lite = { ...geminiTarget, upstreamModel: "gemini-2.5-flash-lite" };
    expect(thinkingOf({ maxTokens: 1 }, lite)).toEqual([
      { thinkingBudget: 512, ...shows },
      ["reasoning.max_tokens: sent as a budget of 512: the model takes 512 to 24576"],
    ]);
    expect(thinkingOf({ maxTokens: 5_000, effort: "high" }, olderModel)).toEqual([
      { thinkingBudget: 5_000, ...shows },
      ["reasoning.effort: reasoning.max_tokens counts instead"],
    ]);
    expect(thinkingOf({ maxTokens: 5_000 })).toEqual([shows, ["reasoning.max_tokens: the endpoint takes no budget"]]);
  });

  test("is shown with a summary of its only kind, and other settings are named", () => {
    expect(thinkingOf(undefined)).toEqual([undefined, []]);
    expect(thinkingOf({ summary: "auto" })).toEqual([shows, []]);
    expect(thinkingOf({ summary: "detailed", context: "all_turns", mode: "pro" })).toEqual([
      shows,
      [
        "reasoning.context: the format has no field for it",
        "reasoning.mode: the format has no field for it",
        "reasoning.summary: there is only one kind of summary",
      ],
    ]);
    expect(thinkingOf({ summary: "auto" }, olderModel)).toEqual([shows, []]);
  });

  test("has an effort changed in the conversation from there on", () => {
    const input = [say("user", "u"), { type: "configuration_update", reasoning: { effort: "low" } }];
    expect(buildConfig({ input, reasoning: { effort: "high" } })?.thinkingConfig).toEqual({
      thinkingLevel: "LOW",
      ...shows,
    });
  });
});

describe("settings for Gemini", () => {
  test("include the samplers and the limit", () => {
    const settings = { temperature: 1.5, topP: 0.9, topK: 40, maxOutputTokens: 100 };
    expect(translateToGemini(settings)).toMatchObject({ config: settings, losses: [] });
  });

  test("include those that most models reject if the operator declares them for the endpoint", () => {
    const settings = { frequencyPenalty: 1, presencePenalty: 0.5, topLogprobs: 3 };
    expect(translateToGemini(settings)).toMatchObject({
      config: undefined,
      losses: [["frequency_penalty"], ["presence_penalty"], ["top_logprobs"]].map(([path]) => [
        path,
        "the endpoint does not support it",
      ]),
    });
    const knows = { ...geminiTarget, supportedParameters: ["frequency_penalty", "presence_penalty", "top_logprobs"] };
    expect(buildConfig(settings, knows)).toEqual({
      frequencyPenalty: 1,
      presencePenalty: 0.5,
      responseLogprobs: true,
      logprobs: 3,
    });
    const included = { include: ["x", "message.output_text.logprobs"] };
    expect(findGeminiDropped(included)).toEqual(["include.1"]);
    expect(buildConfig(included, knows)).toEqual({ responseLogprobs: true });
  });

  // https://ai.google.dev/gemini-api/docs/structured-output
  test("include the form of the answer", () => {
    const format = { type: "json_schema" as const, name: "n", schemaJson: schema, strict: true };
    const { config, text: json } = translateToGemini({ textFormat: format });
    expect(config?.responseMimeType).toBe("application/json");
    expect(json).toContain(`"responseJsonSchema":${schema}`);
    expect(findGeminiDropped({ textFormat: { ...format, description: "d" } })).toEqual(["text.format.description"]);
    expect(buildConfig({ textFormat: { type: "json_object" } })).toEqual({ responseMimeType: "application/json" });
    expect(buildConfig({ textFormat: { type: "text" } })).toBeUndefined();
  });

  // https://ai.google.dev/gemini-api/docs/image-generation
  test("can request images", () => {
    const imageConfigJson = '{"aspect_ratio":"16:9","image_size":"2K","quality":"high"}';
    const { config, losses } = translateToGemini({ outputModalities: ["image", "text"], imageConfigJson });
    expect(config).toEqual({
      responseModalities: ["IMAGE", "TEXT"],
      imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
    });
    expect(losses.map(([path]) => path)).toEqual(["image_config.quality"]);
    expect(buildConfig({ outputModalities: ["text"] })).toBeUndefined();
    expect(findGeminiDropped({ imageConfigJson })).toEqual(["image_config"]);
  });

  test("include the vendor's service tiers", () => {
    expect(buildGeminiBody({}, { ...geminiTarget, tier: "flex" }).serviceTier).toBe("flex");
    expect(buildGeminiBody({}, { ...geminiTarget, tier: "priority" }).serviceTier).toBe("priority");
    expect(findGeminiDropped({}, { ...geminiTarget, tier: "scale" })).toEqual(["service_tier"]);
  });

  test("exclude cache marks, which are named as not sent", () => {
    const marked = { input: [say("user", [text("x", { cache_control: { type: "ephemeral" } })])] };
    expect(findGeminiDropped(marked)).toEqual(["input.0.content.0.cache_control"]);
    expect(findGeminiDropped({ cacheControl: { ttl: "5m" } })).toEqual(["cache_control"]);
  });
});
