/** The body of POST /responses on its way to a turn: accepted bodies, their turns, and refusals with reasons. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { responsesDoor } from "@sluice/gateway/doors/responses/door.js";
import { prepareTurn, toOpenMessage } from "@sluice/gateway/edge/turns/prepare.js";
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";

const parse = (body: unknown, headers: { sessionId?: string } = {}) => {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return parseRequest(bytes, scanObject(bytes, "body"), { serviceMetadata: false, ...headers });
};

const faultOf = (body: unknown, headers: { sessionId?: string } = {}): Fault => {
  try {
    parse(body, headers);
  } catch (error) {
    return error as Fault;
  }
  throw new Error("accepted");
};

const refusal = (fields: object): string => {
  const fault = faultOf({ model: "a/b", input: "x", ...fields });
  expect(fault.status).toBe(400);
  return fault.message;
};

/** The settings repeated in the answer for a body, parsed from one line of JSON. */
const echoed = (body: unknown): Record<string, unknown> => {
  const { echo } = parse(body);
  const json = `{"instructions":${echo.instructionsJson},${echo.beforeTier},${echo.afterTier}}`;
  expect(json).not.toMatch(/[\r\n]/);
  return JSON.parse(json) as Record<string, unknown>;
};

const bare = { model: "a/b", input: "x" };

describe("a request body", () => {
  test("is the same turn with null in every field that it does not set", () => {
    const names = Object.keys(requestShape.fields).filter((name) => !Object.hasOwn(bare, name));
    expect(names.length).toBeGreaterThan(30);
    const nulls = Object.fromEntries(names.map((name) => [name, null]));
    expect(parse({ ...nulls, ...bare })).toEqual(parse(bare));
    expect(parse({ ...bare, debug: { echo_upstream_body: null } }).request.echoUpstreamBody).toBe(false);
    expect(parse({ model: null, models: ["a/b"], input: "x" }).request).toMatchObject({ model: "", models: ["a/b"] });
  });

  test("becomes a turn with all its fields", () => {
    const body = {
      model: "acme/large-2",
      models: ["acme/small-1"],
      input: [{ role: "user", content: "é" }],
      instructions: "Be brief.",
      stream: true,
      max_output_tokens: 64,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      frequency_penalty: -0.5,
      presence_penalty: 0.5,
      top_logprobs: 3,
      parallel_tool_calls: false,
      tools: [{ type: "function", name: "f", parameters: { type: "object" } }],
      tool_choice: { type: "function", name: "f" },
      text: { verbosity: "low", format: { type: "json_object" } },
      reasoning: { effort: "low" },
      include: ["reasoning.encrypted_content"],
      max_tool_calls: 5,
      metadata: { ticket: "4711" },
      modalities: ["text"],
      user: "employee_123",
      safety_identifier: "s-1",
      session_id: "sess-9",
      prompt_cache_key: "k",
      service_tier: "flex",
      debug: { echo_upstream_body: true },
      truncation: { type: "auto" },
      image_config: { size: "1024x1024" },
      cache_control: { type: "ephemeral", ttl: "1h" },
      prompt_cache_options: { mode: "explicit" },
      trace: { trace_id: "t" },
      stop_server_tools_when: { type: "step_count_is", step_count: 3 },
      stop: "END",
      seed: -5,
      logit_bias: { "50256": -100 },
      prediction: { type: "content", content: "draft" },
      anthropic_betas: ["effort-2025-11-24"],
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    };
    const { request } = parse(body);
    const received = fromBinary(RunTurnRequestSchema, toBinary(RunTurnRequestSchema, request));
    const json = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());
    expect(json(received.inputJson)).toEqual(body.input);
    expect(json(received.toolsJson)).toEqual(body.tools);
    expect(json(received.toolChoiceJson)).toEqual(body.tool_choice);
    expect(json(received.textFormatJson)).toEqual(body.text.format);
    expect(json(received.reasoningJson)).toEqual(body.reasoning);
    expect(json(received.imageConfigJson)).toEqual(body.image_config);
    expect(json(received.promptCacheOptionsJson)).toEqual(body.prompt_cache_options);
    expect(json(received.traceJson)).toEqual(body.trace);
    expect(json(received.stopServerToolsWhenJson)).toEqual(body.stop_server_tools_when);
    expect(json(received.predictionJson)).toEqual(body.prediction);
    expect(json(received.contextManagementJson)).toEqual(body.context_management);
    expect(received).toMatchObject({
      stop: ["END"],
      seed: -5n,
      logitBias: { "50256": -100 },
      anthropicBetas: ["effort-2025-11-24"],
      door: "",
      model: "acme/large-2",
      models: ["acme/small-1"],
      instructions: "Be brief.",
      stream: true,
      maxOutputTokens: 64,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      frequencyPenalty: -0.5,
      presencePenalty: 0.5,
      topLogprobs: 3,
      parallelToolCalls: false,
      textVerbosity: "low",
      include: ["reasoning.encrypted_content"],
      maxToolCalls: 5,
      metadata: { ticket: "4711" },
      modalities: ["text"],
      user: "employee_123",
      safetyIdentifier: "s-1",
      sessionId: "sess-9",
      promptCacheKey: "k",
      serviceTier: "flex",
      echoUpstreamBody: true,
      serviceMetadata: false,
      truncation: "auto",
      cacheControl: { ttl: "1h" },
    });
  });

  test("with null as its format is the same as without a format", () => {
    const { request } = parse({ ...bare, text: { format: null, verbosity: "low" } });
    expect([request.textFormatJson.length, request.textVerbosity]).toEqual([0, "low"]);
  });

  test("leaves absent and null fields unset", () => {
    const nulls = [
      "background",
      "conversation",
      "frequency_penalty",
      "include",
      "instructions",
      "max_output_tokens",
      "max_tool_calls",
    ]
      .concat(["metadata", "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt", "route"])
      .concat([
        "prompt_cache_key",
        "prompt_cache_options",
        "provider",
        "reasoning",
        "safety_identifier",
        "service_tier",
      ])
      .concat(["context_management", "logit_bias", "prediction", "seed", "stop"])
      .concat(["store", "stream", "temperature", "top_logprobs", "top_p", "truncation"]);
    const { request } = parse({ ...bare, ...Object.fromEntries(nulls.map((name) => [name, null])) });
    expect(request).toEqual(parse(bare).request);
    expect(request).toMatchObject({ stream: false, temperature: undefined, models: [], include: [], metadata: {} });
    for (const bytes of [request.toolsJson, request.toolChoiceJson, request.textFormatJson, request.reasoningJson]) {
      expect(bytes).toHaveLength(0);
    }
  });

  test("keeps its JSON subtrees byte for byte, without copying them", () => {
    const input = '[ {"role":"user", "content":"caf\\u00e9 1e2 \\/"} ]';
    const tools = '[{"type":"function","name":"f","parameters":{"maximum":12345678901234567890,"x":1.0}}]';
    const body = Buffer.from(`{"tools":${tools} , "model":"a/b","input":${input}}`);
    const { request } = parseRequest(body, scanObject(body, "body"), { serviceMetadata: true });
    expect(Buffer.from(request.inputJson).toString()).toBe(input);
    expect(Buffer.from(request.toolsJson).toString()).toBe(tools);
    expect(request.inputJson.buffer).toBe(body.buffer);
    expect(request.serviceMetadata).toBe(true);
  });

  test("may hold unknown fields", () => {
    const { unknownFields, extraJson, ...request } = parse({ ...bare, frobnicate: { deep: [1, 2] } }).request;
    expect({ ...request, unknownFields: [], extraJson: new Uint8Array() }).toEqual(parse(bare).request);
    expect(Buffer.from(extraJson).toString()).toBe('{"frobnicate":{"deep":[1,2]}}');
    expect(unknownFields).toMatchObject([{ name: "frobnicate", didYouMean: "" }]);
  });

  test.each([1, "1.0", "1e0", "-0"])("accepts %s as an integer", (number) => {
    const { request } = parse(`{"model":"a/b","input":"x","top_k":${number}}`);
    expect(request.topK).toBe(number === "-0" ? 0 : 1);
  });

  test("changes no prototype", () => {
    parse('{"model":"a/b","input":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    expect(faultOf('{"model":"a/b","input":"x","metadata":{"__proto__":"x"}}').message).toMatch(
      /^metadata\.__proto__: /,
    );
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe("the session of a request", () => {
  test.each([
    [{}, "from-header", "from-header"],
    [{ session_id: "from-body" }, "from-header", "from-body"],
    [{ session_id: "from-body" }, "h".repeat(257), "from-body"],
    [{}, "h".repeat(256), "h".repeat(256)],
    [{}, Buffer.from("é").toString("latin1").repeat(256), "é".repeat(256)],
    [{}, "", undefined],
  ])("is read from the body %j and the header %s", (fields, sessionId, expected) => {
    expect(parse({ ...bare, ...fields }, { sessionId }).request.sessionId).toBe(expected);
  });

  test.each([
    ["h".repeat(257), "x-session-id: at most 256 characters"],
    ["\xff\xfe", "x-session-id: must be valid UTF-8"],
  ])("is refused from the header %s", (sessionId, message) => {
    expect(faultOf(bare, { sessionId }).message).toBe(message);
  });
});

describe("a request is refused with", () => {
  test.each<[object, string]>([
    [{ input: undefined }, "input: required"],
    [{ input: null }, "input: required"],
    [
      { input: undefined, messages: [{ role: "user", content: "Hi" }] },
      "input: required here; a body with messages belongs to POST /api/v1/chat/completions (OpenAI's format) or POST /api/v1/messages (Anthropic's format)",
    ],
    [{ input: 5 }, "input: must be a string or an array of items"],
    [{ input: {} }, "input: must be a string or an array of items"],
    [{ model: undefined }, "model or models is required"],
    [{ model: 5 }, "model: must be a string"],
    [{ models: "a/b" }, "models: must be an array"],
    [{ models: ["a/b", 5] }, "models.1: must be a string"],
    [{ instructions: 5 }, "instructions: must be a string or null"],
    [{ stream: "true" }, "stream: must be true or false or null"],
    [{ temperature: "1" }, "temperature: must be a number or null"],
    [{ temperature: 2.1 }, "temperature: must be between 0 and 2"],
    [{ max_output_tokens: 1.5 }, "max_output_tokens: must be an integer or null"],
    [{ max_output_tokens: 0 }, "max_output_tokens: must be at least 1"],
    [{ max_output_tokens: 2 ** 31 }, "max_output_tokens: must be at most 2147483647"],
    [{ max_tool_calls: 31 }, "max_tool_calls: must be between 1 and 30"],
    [{ top_k: "4" }, "top_k: must be an integer"],
    [{ metadata: [] }, "metadata: must be an object or null"],
    [{ metadata: { a: 1 } }, "metadata.a: must be a string"],
    [{ metadata: { "": "x" } }, "metadata: keys must have at least 1 character"],
    [{ user: "\0" }, "user: must not contain NUL"],
    [{ session_id: "s".repeat(257) }, "session_id: at most 256 characters"],
    [{ tools: {} }, "tools: must be an array"],
    [{ tool_choice: 5 }, "tool_choice: must be a string or an object"],
    [{ text: "x" }, "text: must be an object"],
    [{ text: { format: "text" } }, "text.format: must be an object or null"],
    [{ text: { verbosity: "loud" } }, "text.verbosity: must be one of low, medium, high, xhigh, max"],
    [{ reasoning: "high" }, "reasoning: must be an object or null"],
    [{ service_tier: "gold" }, "service_tier: must be one of auto, default, fast, flex, priority, scale, ultrafast"],
    [{ debug: { echo_upstream_body: 1 } }, "debug.echo_upstream_body: must be true or false"],
    [{ conversation: "conv_1" }, "conversation is not supported; send the full history in input"],
    [{ conversation: { id: "conv_1" } }, "conversation is not supported; send the full history in input"],
    [{ previous_response_id: "resp_1" }, "previous_response_id is not supported; send the full history in input"],
    [{ store: true }, "store: must be false: responses are not stored"],
    [{ background: true }, "background: must be false: responses are not stored"],
    [{ service_tier: "" }, "service_tier: must be one of auto, default, fast, flex, priority, scale, ultrafast"],
    [{ prompt: "pmpt_1" }, "prompt: must be an object or null"],
    [{ prompt: {} }, "prompt.id: required"],
    [{ trace: { trace_id: 5 } }, "trace.trace_id: must be a string"],
    [{ trace: [] }, "trace: must be an object"],
    [{ cache_control: {} }, "cache_control.type: required"],
    [{ cache_control: { type: "ephemeral", ttl: "2h" } }, "cache_control.ttl: must be one of 5m, 1h"],
    [{ prompt_cache_options: {} }, "prompt_cache_options.mode: required"],
    [{ stop_server_tools_when: [] }, "stop_server_tools_when: at least 1 condition"],
    [{ stop_server_tools_when: { type: "never" } }, /^stop_server_tools_when\.type: must be one of / as never],
    [{ plugins: [{ id: "foo" }] }, "plugins.0.id: unknown plugin foo"],
    [{ plugins: [{ id: "foo", enabled: false }] }, "plugins.0.id: unknown plugin foo"],
    [
      {
        plugins: [
          { id: "alignment", rules: ["r"] },
          { id: "alignment", rules: ["r"] },
        ],
      },
      "plugins.1: plugin alignment is given twice",
    ],
    [{ plugins: [{ id: "alignment", enabled: false }] }, "plugins.0.rules: required (and 1 more)"],
    [{ plugins: [{ id: "fusion" }, {}] }, "plugins.1.id: required"],
    [{ provider: { order: [""] } }, "provider.order.0: at least 1 character"],
    [{ provider: { colour: "red" } }, "provider.colour: unknown field"],
    [{ provider: { order: "a" } }, "provider.order: must be an array or null"],
    [{ image_config: { size: {} } }, "image_config.size: must be a string, a number or an array"],
    [{ truncation: { type: "middle" } }, "truncation.type: must be one of auto, disabled"],
    [{ stop: 5 }, "stop: must be a string, an array of strings or null"],
    [{ stop: "" }, "stop: at least 1 character"],
    [{ stop: ["a", 5] }, "stop.1: must be a string"],
    [{ seed: 1.5 }, "seed: must be an integer or null"],
    [{ seed: 2 ** 53 }, "seed: must be between -9007199254740991 and 9007199254740991"],
    [{ logit_bias: [] }, "logit_bias: must be an object or null"],
    [{ logit_bias: { "1": "2" } }, "logit_bias.1: must be a number"],
    [{ prediction: { type: "content" } }, "prediction.content: required"],
    [{ prediction: { type: "content", content: [{ type: "text" }] } }, "prediction.content.0.text: required"],
    [{ anthropic_betas: ["a b"] }, "anthropic_betas.0: 1 to 128 visible ASCII characters without commas"],
    [{ context_management: {} }, "context_management.edits: required"],
    [{ context_management: [{}] }, "context_management.0.type: required"],
    [{ truncation: "middle" }, "truncation: must be one of auto, disabled"],
  ])("the body %j", (fields, message) => {
    expect(refusal(fields)).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
  });

  test("a number that is in range only after rounding", () => {
    const fault = faultOf('{"model":"a/b","input":"x","max_output_tokens":12345678901234567890}');
    expect(fault.message).toBe("max_output_tokens: must be at most 2147483647");
  });

  test("a stored prompt, by 404", () => {
    const fault = faultOf({ ...bare, prompt: { id: "pmpt_1" } });
    expect(fault.status).toBe(404);
    expect(fault.message).toBe("prompt pmpt_1 not found: no prompts are stored");
    expect(faultOf({ model: "a/b", prompt: { id: "pmpt_1" } }).status).toBe(404);
  });

  test("all its errors in one answer", () => {
    const fault = faultOf({
      input: "x",
      temperature: 3,
      top_p: "1",
      plugins: [{ id: "fusion", tools: 1 }],
      store: true,
    });
    const issues = fault.metadata?.["issues"] as { path: string }[];
    expect(issues.map(({ path }) => path).sort()).toEqual([
      "model",
      "plugins.0.tools",
      "store",
      "temperature",
      "top_p",
    ]);
  });

  test("a body that the scanner refuses", () => {
    expect(faultOf('{"model":"a","model":"b","input":"x"}').message).toBe('body: duplicate key "model" at byte 13');
  });
});

test("settings of a request without an effect are accepted", () => {
  parse({
    ...bare,
    store: false,
    background: false,
    truncation: { type: "disabled" },
    route: { anything: 1 },
    trace: { trace_id: "t", anything: 1 },
    cache_control: { type: "ephemeral", ttl: "1h" },
    prompt_cache_options: { mode: "explicit", ttl: "30m" },
    stop_server_tools_when: [{ type: "step_count_is", step_count: 3 }],
    plugins: [
      { id: "auto-router", enabled: false },
      { id: "web", enabled: false },
    ],
    provider: { order: null, zdr: null },
  });
});

describe("the request's settings repeated in a response", () => {
  const defaults = {
    instructions: null,
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: null,
    temperature: null,
    top_p: null,
    frequency_penalty: null,
    presence_penalty: null,
    top_logprobs: 0,
    truncation: "disabled",
    text: { format: { type: "text" } },
    reasoning: { effort: null, summary: null },
    store: false,
    background: false,
    user: null,
    previous_response_id: null,
    prompt_cache_key: null,
    safety_identifier: null,
  };

  test("are, for a bare request, the defaults in the contract's order", () => {
    const echo = echoed(bare);
    expect(echo).toEqual(defaults);
    expect(Object.keys(echo)).toEqual(Object.keys(defaults));
  });

  test("include the sent values", () => {
    const sent = {
      instructions: 'Say "hi"\n',
      parallel_tool_calls: false,
      tool_choice: { type: "function", name: "f" },
      tools: [{ type: "function", name: "f", parameters: {} }],
      max_output_tokens: 64,
      max_tool_calls: 3,
      metadata: { ticket: "4711" },
      temperature: 0.5,
      top_p: 0.25,
      frequency_penalty: 1,
      presence_penalty: -1,
      top_logprobs: 2,
      text: { format: { type: "json_schema", name: "n", schema: { type: "object" } }, verbosity: "low" },
      reasoning: { effort: "low", summary: "auto", max_tokens: 100 },
      user: "u",
      prompt_cache_key: "k",
      safety_identifier: "s",
    };
    expect(echoed({ ...bare, ...sent })).toEqual({ ...defaults, ...sent });
  });

  test("include ignored values", () => {
    const stop_server_tools_when = { type: "step_count_is", step_count: 3 };
    const sent = { max_tool_calls: 31 };
    expect(echoed({ ...bare, ...sent, stop_server_tools_when })).toEqual({ ...defaults, ...sent });
  });

  test("keep an empty map of metadata distinct from an absent one", () => {
    expect(echoed({ ...bare, metadata: {} })).toEqual({ ...defaults, metadata: {} });
    expect(echoed({ ...bare, metadata: null })).toEqual(defaults);
  });

  test("show repeated tools as in the first answer, and never their credentials", () => {
    const shown = { type: "mcp", server_label: "a", server_url: "https://a.example/mcp" };
    const plain = { type: "function", name: "f", parameters: null };
    const tools = [{ ...shown, authorization: "secret", headers: { "x-key": "secret" } }, plain];
    const lists = [[plain], tools, [plain], tools].map((list) => echoed({ ...bare, tools: list })["tools"]);
    expect(lists).toEqual([[plain], [shown, plain], [plain], [shown, plain]]);
  });

  test("stand on one line without rounding, even for a body of many lines", () => {
    const body = `{
      "model": "a/b",\r
      "input": "x",
      "tools": [
        {"type": "function", "name": "f", "description": "a \\n b  c",
         "parameters": {"maximum": 12345678901234567890}}
      ],
      "text": {
        "format": {\r"type": "text"}
      }
    }`;
    const { echo } = parse(body);
    expect(echo.beforeTier).toContain(
      '"tools":[{"type":"function","name":"f","description":"a \\n b  c","parameters":{"maximum":12345678901234567890}}]',
    );
    expect(echoed(body)).toMatchObject({ text: { format: { type: "text" } } });
  });
});

describe("the time limit of a turn", () => {
  const limits = { turn_ms: 2_000, stream_ms: 5_000 };
  const compat = { tool_type_aliases: [], fill_defaults: false, emit_metadata_alias: null };
  const asker = { keyHash: "h", requestId: "r", trace: { traceparent: "", tracestate: "" } };

  const limitOf = (stream: boolean, said?: string): number => {
    const body = Buffer.from(JSON.stringify({ ...bare, stream }));
    const headers = said === undefined ? {} : { "x-request-timeout-ms": said };
    const asked = prepareTurn({ compat }, responsesDoor, headers, { body, members: scanObject(body, "body") });
    return toOpenMessage({ access: { generation: 1n }, limits } as Parameters<typeof toOpenMessage>[0], asker, asked)
      .deadlineMs;
  };

  test("is the operator's by default", () => {
    expect([limitOf(false), limitOf(true)]).toEqual([2_000, 5_000]);
  });

  test("is the client's if it is shorter", () => {
    expect([limitOf(false, "300"), limitOf(true, "4999")]).toEqual([300, 4_999]);
    expect([limitOf(false, "2001"), limitOf(true, "9999999999")]).toEqual([2_000, 5_000]);
  });

  test.each(["", "0", "-1", "1.5", "soon", "0x10", "1e3", "99999999999999"])("ignores %j", (said) => {
    expect(limitOf(false, said)).toBe(2_000);
  });
});
