/** Requests in the form of Responses, for the format's vendor and for others, with their dropped fields. */
import { describe, expect, test } from "@jest/globals";
import type { InputItem, Tool, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { findReasoningFormat } from "@sluice/inference-svc/models/upstream/translate/reasoning-format.js";
import { refuseResponses } from "@sluice/inference-svc/models/upstream/responses/native-tools.js";
import { responsesBody } from "@sluice/inference-svc/models/upstream/responses/request.js";
import { testRequest, functionTool } from "../../asking.js";

const other: Target = { upstreamModel: "m", tier: "default", original: false };
const vendor: Target = { ...other, original: true, reasoningFormat: "openai-responses-v1" };

function said(request: Partial<TurnRequest>, target = other) {
  const losses: string[] = [];
  const text = responsesBody(testRequest(request), target, (path) => void losses.push(path));
  return { text, body: JSON.parse(text) as Record<string, unknown>, losses };
}

const bodyOf = (request: Partial<TurnRequest>, target = other) => said(request, target).body;
const hosted = (json: string, kind?: string): Tool => {
  const { type } = JSON.parse(json) as { type: string };
  return { type: "hosted", kind: kind ?? type, spelling: type, json };
};
const say = (role: string, content: unknown): InputItem => ({ type: "message", role, content });
/** A number JavaScript would round, and white space JSON.stringify would not write. */
const schema = '{"type":"object", "properties":{"n":{"const":12345678901234567890,"multipleOf":1.0}}}';

describe("system messages for the Responses format", () => {
  const parts = [{ type: "input_text", text: "d" }];
  const input = [say("system", "s"), say("developer", parts), say("user", "u"), say("developer", "late")];

  test("stay in their places at vendors with servers of their own", () => {
    for (const target of [vendor, { ...other, vendor: "xai" }]) {
      const { body, losses } = said({ instructions: "i", input }, target);
      expect([body["instructions"], body["input"], losses]).toEqual(["i", input, []]);
    }
  });

  test("are joined with the instructions at a server of no known vendor, and later ones are the user's", () => {
    const { body, losses } = said({ instructions: "i", input });
    expect(body).toMatchObject({ instructions: "i\n\ns\n\nd", input: [say("user", "u"), say("user", "late")] });
    expect(losses).toEqual(["input.0", "input.1", "input.3.role"]);
    expect(bodyOf({ input: input.slice(0, 3) })).toMatchObject({ instructions: "s\n\nd", input: [say("user", "u")] });
  });

  test("stay when there is one, and the last becomes the question without another message", () => {
    expect(bodyOf({ input: [say("system", "s"), say("user", "u")] })).toMatchObject({
      input: [say("system", "s"), say("user", "u")],
    });
    expect(bodyOf({ input: input.slice(0, 2) })).toMatchObject({ input: [say("system", "s"), say("user", parts)] });
    const picture = say("system", [{ type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" }]);
    const { body } = said({ instructions: "i", input: [picture, say("user", "u")] });
    expect(body).toMatchObject({ instructions: "i", input: [{ ...picture, role: "user" }, say("user", "u")] });
  });
});

describe("settings for the Responses format", () => {
  const everything: Partial<TurnRequest> = {
    instructions: "i",
    maxOutputTokens: 16,
    temperature: 0,
    topP: 0.5,
    topLogprobs: 2,
    verbosity: "low",
    promptCacheKey: "k",
    promptCacheOptionsJson: '{"mode":"explicit", "ttl":"30m"}',
    maxToolCalls: 3,
    truncation: "auto",
    reasoning: { effort: "low", summary: "auto", context: "all_turns", mode: "pro", maxTokens: 1024 },
    include: ["reasoning.encrypted_content"],
    textFormat: { type: "json_object" },
    topK: 3,
    frequencyPenalty: 1,
    presencePenalty: -1,
    cacheControl: { ttl: "1h" },
    imageConfigJson: '{"size":"1024x1024"}',
    outputModalities: ["text", "image"],
    identityHash: "hash",
  };
  const both = {
    model: "m",
    input: [say("user", "Hi")],
    stream: true,
    store: false,
    instructions: "i",
    max_output_tokens: 16,
    temperature: 0,
    top_p: 0.5,
    top_logprobs: 2,
    text: { format: { type: "json_object" }, verbosity: "low" },
    prompt_cache_key: "k",
    prompt_cache_options: { mode: "explicit", ttl: "30m" },
    max_tool_calls: 3,
    truncation: "auto",
    include: ["reasoning.encrypted_content"],
    service_tier: "priority",
  };

  test("are not sent when they are unset, and storing is disabled", () => {
    for (const target of [other, vendor]) {
      expect(said({}, target)).toMatchObject({
        body: { model: "m", input: [say("user", "Hi")], stream: true, store: false },
        losses: [],
      });
      expect(Object.keys(bodyOf({}, target))).toHaveLength(4);
    }
  });

  test("are all sent to the vendor of the format, except unknown ones, which are named as not sent", () => {
    const { body, losses } = said(everything, { ...vendor, tier: "priority" });
    expect(body).toEqual({
      ...both,
      reasoning: { effort: "low", summary: "auto", context: "all_turns", mode: "pro" },
      safety_identifier: "hash",
    });
    expect(losses).toEqual([
      "top_k",
      "frequency_penalty",
      "presence_penalty",
      "reasoning.max_tokens",
      "cache_control",
      "image_config",
      "modalities",
    ]);
  });

  test("are all sent to other servers", () => {
    const { body, losses } = said(everything, { ...other, tier: "priority" });
    expect(body).toEqual({
      ...both,
      reasoning: { effort: "low", summary: "auto", context: "all_turns", mode: "pro", max_tokens: 1024 },
      top_k: 3,
      frequency_penalty: 1,
      presence_penalty: -1,
      cache_control: { type: "ephemeral", ttl: "1h" },
      image_config: { size: "1024x1024" },
      modalities: ["text", "image"],
    });
    expect(losses).toEqual([]);
  });

  test("exclude plain text, the vendor's default", () => {
    expect(said({ outputModalities: ["text"] }, vendor).losses).toEqual([]);
  });

  test("include a schema as it was written", () => {
    const { text } = said({ textFormat: { type: "json_schema", name: "n", schemaJson: schema } });
    expect(text).toContain(`"text":{"format":{"type":"json_schema","name":"n","schema":${schema}}}`);
  });
});

describe("tools for the Responses format", () => {
  const custom: Tool = {
    type: "custom",
    name: "sql",
    async: true,
    json: '{"type":"custom", "name":"sql","async":true,"format":{"type":"text"}}',
  };

  test("are sent as written; without strict only if the client's format has the same default", () => {
    const plain = functionTool({ name: "a", parametersJson: schema });
    const unset = { ...functionTool({ name: "b" }), json: '{"type":"function","name":"b","strict":null}' };
    const strict = {
      ...functionTool({ name: "c", strict: true }),
      json: '{"strict":true,"type":"function","name":"c"}',
    };
    // The word `strict` is in the schema here, not in the tool.
    const inSchema = { ...functionTool({ name: "d" }), json: '{"name":"d","parameters":{"required":["strict"]}}' };
    const tools = [plain, unset, strict, inSchema, custom];
    expect(bodyOf({ tools }).tools).toEqual(tools.map(({ json }) => JSON.parse(json) as unknown));
    const { text, body } = said({ door: "chat", tools, parallelToolCalls: true });
    expect(text).toContain(`"parameters":${schema},"strict":false}`);
    expect(body).toMatchObject({
      tools: [
        { name: "a", strict: false },
        { type: "function", name: "b", strict: false },
        { name: "c", strict: true },
        { name: "d", parameters: { required: ["strict"] }, strict: false },
        { type: "custom", name: "sql", async: true, format: { type: "text" } },
      ],
      parallel_tool_calls: true,
    });
  });

  test("of a namespace are sent as functions", () => {
    const inner = functionTool({ name: "find", parametersJson: schema });
    const { text, body } = said({
      tools: [
        {
          type: "namespace",
          name: "crm",
          description: "d",
          tools: [inner, custom],
          json: '{"type":"namespace","name":"crm","description":"d","x":1,"tools":[]}',
        },
      ],
    });
    expect(text).toContain(schema);
    expect(body.tools).toMatchObject([
      {
        type: "namespace",
        name: "crm",
        description: "d",
        x: 1,
        tools: [{ name: "find" }, { name: "sql" }],
      },
    ]);
  });

  const kinds = [
    '{"type":"web_search","search_context_size":"low"}',
    '{"type":"web_search_2025_08_26"}',
    '{"type":"web_search_preview","user_location":{"type":"approximate"}}',
    '{"type":"web_search_preview_2025_03_11"}',
    '{"type":"file_search","vector_store_ids":["vs_1"],"filters":{"type":"eq","key":"k","value":1.0}}',
    '{"type":"computer_use_preview","display_width":1,"display_height":1,"environment":"linux"}',
    '{"type":"computer"}',
    '{"type":"code_interpreter","container":{"type":"auto"}}',
    '{"type":"mcp","server_label":"s","server_url":"https://a.example/"}',
    '{"type":"image_generation","partial_images":2}',
    '{"type":"local_shell"}',
    '{"type":"shell"}',
    '{"type":"apply_patch"}',
    '{"type":"tool_search"}',
  ];

  test.each(kinds)("of the format itself are sent unchanged: %s", (json) => {
    for (const target of [other, vendor]) {
      const request = { tools: [hosted(json)] };
      expect(refuseResponses(testRequest(request), target)).toBeUndefined();
      expect(said(request, target).text).toContain(`"tools":[${json}]`);
      expect(said(request, target).losses).toEqual([]);
    }
  });

  const datetime = hosted('{"type":"vendor:datetime","parameters":{"timezone":"Europe/Oslo"}}', "service:datetime");

  test("of Sluice stay native only if the operator lists them for the provider, in the client's spelling", () => {
    const request = { tools: [functionTool(), datetime] };
    const refusal = { path: "tools.1", message: "no provider of this model runs tools of type vendor:datetime" };
    expect(refuseResponses(testRequest(request), other)).toEqual(refusal);
    for (const name of ["service:datetime", "vendor:datetime"]) {
      const target = { ...other, nativeTools: new Set([name]) };
      expect(refuseResponses(testRequest(request), target)).toBeUndefined();
      expect(said(request, target).text).toContain(
        '{"type":"vendor:datetime","parameters":{"timezone":"Europe/Oslo"}}',
      );
    }
    expect(refuseResponses(testRequest(request), { ...other, nativeTools: new Set(["web_search"]) })).toEqual(refusal);
  });

  test("of the format are refused if the operator lists only others", () => {
    const request = testRequest({ tools: [hosted('{"type":"web_search"}')] });
    expect(refuseResponses(request, { ...other, nativeTools: new Set() })).toMatchObject({ path: "tools.0" });
    expect(refuseResponses(request, { ...other, nativeTools: new Set(["web_search"]) })).toBeUndefined();
  });

  test.each(["additional_tools", "tool_search_output"])("defined in the input by %s are sent", (itemType) => {
    const joining = (tool: object): InputItem => ({ type: itemType, tools: [{ type: "custom", name: "x" }, tool] });
    const request = (type: string) => testRequest({ input: [say("user", "Hi"), joining({ type })] });
    expect(refuseResponses(request("function"), other)).toBeUndefined();
    expect(refuseResponses(request("mcp"), other)).toBeUndefined();
    expect(refuseResponses(request("service:datetime"), other)).toEqual({
      path: "input.1.tools.1",
      message: "no provider of this model runs tools of type service:datetime",
    });
  });

  test("defined in the input may be required", () => {
    const joining = { type: "additional_tools", role: "developer", tools: [{ type: "shell" }] };
    expect(bodyOf({ input: [joining], toolChoice: "required" })).toMatchObject({ tool_choice: "required" });
  });

  test("lose the contract's own fields of a search and a call at the vendor, which are named", () => {
    const search = hosted(
      '{"type":"web_search","engine":"exa","max_uses":1,"filters":{"allowed_domains":["a.example"]}}',
    );
    const { body, losses } = said({ tools: [search, custom, functionTool()] }, vendor);
    expect(body.tools).toMatchObject([
      { type: "web_search", filters: { allowed_domains: ["a.example"] } },
      { type: "custom", name: "sql" },
      { type: "function" },
    ]);
    expect(JSON.stringify(body.tools)).not.toMatch(/engine|max_uses|async/);
    expect(losses).toEqual(["tools.0.engine", "tools.0.max_uses", "tools.1.async"]);
    expect(said({ tools: [search, custom] }).losses).toEqual([]);
  });

  test("lose cache marks and Anthropic's form at the vendor, which are named", () => {
    const json =
      '{"type":"function","name":"bash","cache_control":{"type":"ephemeral"},"anthropic_tool":{"type":"bash_1"}}';
    const bash = functionTool({
      name: "bash",
      cacheControl: { type: "ephemeral" },
      anthropicJson: '{"type":"bash_1"}',
      json,
    });
    const { body, losses } = said({ tools: [bash] }, vendor);
    expect(body.tools).toEqual([{ type: "function", name: "bash" }]);
    expect(losses).toEqual(["tools.0.cache_control", "tools.0.anthropic_tool"]);
  });

  test.each<[string, TurnRequest["toolChoice"], unknown]>([
    ["a word", "required", "required"],
    ["a function", { type: "tool", tool: { type: "function", name: "f" } }, { type: "function", name: "f" }],
    ["a custom tool", { type: "tool", tool: { type: "custom", name: "sql" } }, { type: "custom", name: "sql" }],
    ["a kind", { type: "tool", tool: { type: "web_search" } }, { type: "web_search" }],
    [
      "a server of tools",
      { type: "tool", tool: { type: "mcp", server_label: "s", name: "find" } },
      { type: "mcp", server_label: "s", name: "find" },
    ],
    ["a kind by its alias", { type: "tool", tool: { type: "service:datetime" } }, { type: "vendor:datetime" }],
    [
      "some of them",
      {
        type: "allowed_tools",
        mode: "required",
        tools: [{ type: "function", name: "f" }, { type: "service:datetime" }],
      },
      {
        type: "allowed_tools",
        mode: "required",
        tools: [{ type: "function", name: "f" }, { type: "vendor:datetime" }],
      },
    ],
  ])("keep the choice of %s", (_, toolChoice, expected) => {
    expect(
      bodyOf({ tools: [functionTool(), datetime], toolChoice: toolChoice as NonNullable<typeof toolChoice> })
        .tool_choice,
    ).toEqual(expected);
  });
});

describe("input items for the Responses format", () => {
  const items: readonly InputItem[] = [
    say("user", [{ type: "input_image", image_url: "data:image/png;base64,AA", detail: "original" }]),
    say("user", [{ type: "input_audio", input_audio: { data: "AA", format: "mp3" } }]),
    say("user", [{ type: "input_video", video_url: "https://a.example/v.mp4" }]),
    say("user", [{ type: "input_text", text: "t", prompt_cache_breakpoint: { mode: "explicit" } }]),
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      phase: "commentary",
      content: [{ type: "output_text", text: "t", annotations: [{ type: "file_path", file_id: "f", index: 0 }] }],
    },
    { type: "function_call", call_id: "a", name: "f", arguments: "{}", namespace: "crm", status: "completed" },
    { type: "function_call_output", call_id: "a", output: [{ type: "input_text", text: "t" }] },
    { type: "custom_tool_call", call_id: "b", name: "sql", input: "select 1" },
    { type: "custom_tool_call_output", call_id: "b", output: "1" },
    { type: "apply_patch_call", call_id: "c", operation: { type: "delete_file", path: "a" }, status: "completed" },
    { type: "apply_patch_call_output", call_id: "c", status: "failed", output: "no" },
    {
      type: "local_shell_call",
      id: "l",
      call_id: "d",
      action: { type: "exec", command: ["ls"], env: {} },
      status: "completed",
    },
    { type: "local_shell_call_output", id: "d", output: "{}" },
    { type: "shell_call", call_id: "e", action: { commands: ["ls"] } },
    { type: "shell_call_output", call_id: "e", output: [{ stdout: "", stderr: "", outcome: { type: "timeout" } }] },
    { type: "mcp_list_tools", id: "msg_m", server_label: "s", tools: [{ name: "t", input_schema: {} }] },
    { type: "mcp_approval_request", id: "m2", name: "t", arguments: "{}", server_label: "s" },
    { type: "mcp_approval_response", approval_request_id: "m2", approve: true },
    { type: "mcp_call", id: "m3", name: "t", arguments: "{}", server_label: "s", output: "o", error: null },
    { type: "web_search_call", id: "w", status: "completed", action: { type: "search", query: "q" } },
    { type: "file_search_call", id: "fs", status: "completed", queries: ["q"] },
    { type: "image_generation_call", id: "ig", status: "completed", result: "AA" },
    { type: "code_interpreter_call", id: "ci", status: "completed", code: "1", container_id: "c", outputs: null },
    {
      type: "computer_call",
      id: "cu",
      call_id: "g",
      status: "completed",
      action: { type: "screenshot" },
      pending_safety_checks: [],
    },
    { type: "computer_call_output", call_id: "g", output: { type: "computer_screenshot", file_id: "f" } },
    { type: "compaction", id: "cmp", encrypted_content: "b64" },
    { type: "context_compaction", encrypted_content: null },
    { type: "additional_tools", role: "developer", tools: [{ type: "function", name: "f", parameters: {} }] },
    {
      type: "agent_message",
      author: "a",
      recipient: "b",
      content: [{ type: "encrypted_content", encrypted_content: "b64" }],
    },
    { type: "configuration_update", reasoning: { effort: "low" } },
    { type: "tool_search_call", id: "ts", call_id: null, arguments: {}, execution: "server", status: "completed" },
    { type: "tool_search_output", id: "to", call_id: null, tools: [], execution: "server", status: "completed" },
  ];

  test.each(items.map((item) => [item.type, item] as const))("of the kind %s are sent unchanged", (_, item) => {
    for (const target of [other, vendor]) {
      expect(said({ input: [item] }, target)).toMatchObject({ body: { input: [item] }, losses: [] });
    }
  });

  test.each(items.filter(({ type }) => ["mcp_list_tools", "mcp_approval_request", "compaction"].includes(type)))(
    "in the form %j are sent without the clients' status",
    (item) => {
      expect(said({ input: [{ ...item, status: "completed" }] })).toMatchObject({ losses: [] });
      expect(bodyOf({ input: [{ ...item, status: "completed" }] }).input).toEqual([item]);
    },
  );

  test("of server tools go to providers with the tools, and are text for others", () => {
    const item = { type: "vendor:datetime", id: "st", status: "completed", datetime: "d", timezone: "t" };
    const message = { type: "message", role: "assistant", content: '[datetime] {"datetime":"d","timezone":"t"}' };
    expect(said({ input: [item] })).toMatchObject({ body: { input: [message] }, losses: [] });
    const target = { ...other, nativeTools: new Set(["service:datetime"]) };
    expect(said({ input: [item] }, target)).toMatchObject({ body: { input: [item] }, losses: [] });
  });

  test("that are referenced are sent once", () => {
    const call: InputItem = { type: "function_call", id: "fc", call_id: "c", name: "f", arguments: "{}" };
    const output: InputItem = { type: "function_call_output", call_id: "c", output: "o" };
    const input = [call, { type: "item_reference", id: "fc" }, output];
    expect(said({ input }).losses).toEqual([]);
    expect(bodyOf({ input })["input"]).toEqual([call, output]);
  });

  test("lose the model of a message", () => {
    const message = { type: "message", id: "msg_m", role: "assistant", content: "t" };
    expect(said({ input: [{ ...message, model: "acme/large-2" }] })).toMatchObject({ losses: [] });
    expect(bodyOf({ input: [{ ...message, model: "acme/large-2" }] }).input).toEqual([message]);
  });

  test("lose marks of another cache and state of subagents at the vendor, which are named", () => {
    const marked = { type: "input_text", text: "t", cache_control: { type: "ephemeral" } };
    const call = { type: "function_call", call_id: "a", name: "f", arguments: "{}" };
    const input: InputItem[] = [
      say("user", [{ type: "input_text", text: "s" }, marked]),
      { ...call, subagent_id: "s", subagent_items: [], async: true, cache_control: { type: "ephemeral" } },
      { type: "function_call_output", call_id: "a", output: [marked] },
    ];
    expect(said({ input })).toMatchObject({ body: { input }, losses: [] });
    const { body, losses } = said({ input }, vendor);
    const bare = { type: "input_text", text: "t" };
    expect(body.input).toEqual([
      say("user", [{ type: "input_text", text: "s" }, bare]),
      call,
      { type: "function_call_output", call_id: "a", output: [bare] },
    ]);
    expect(losses).toEqual([
      "input.0.content.1.cache_control",
      "input.1.async",
      "input.1.subagent_id",
      "input.1.subagent_items",
      "input.1.cache_control",
      "input.2.output.0.cache_control",
    ]);
  });
});

describe("reasoning goes back to providers of Responses that can read it", () => {
  const item = (more: object): InputItem => ({
    type: "reasoning",
    id: "rs_r",
    summary: [],
    signature: "s",
    status: "completed",
    ...more,
  });
  // OpenAI answers 400 to the status of a reasoning item; other servers send a status, and get it back.
  const status = "completed";
  const sealed = { type: "reasoning", id: "rs_r", summary: [], encrypted_content: "b64" };
  const open = { type: "reasoning", id: "rs_r", summary: [], content: [{ type: "reasoning_text", text: "x" }] };

  test.each<[string, object, Target, object | undefined]>([
    ["sealed by the vendor, to it", { ...sealed, format: "openai-responses-v1" }, vendor, sealed],
    [
      "sealed by the vendor, its text is in the seal",
      { ...open, ...sealed, format: "openai-responses-v1" },
      vendor,
      sealed,
    ],
    ["sealed by nobody knows whom", sealed, vendor, sealed],
    ["sealed elsewhere", { ...sealed, format: "azure-openai-responses-v1" }, vendor, undefined],
    ["sealed by a stranger", { ...sealed, format: "unknown" }, vendor, undefined],
    ["open, to the vendor", open, vendor, undefined],
    ["sealed by a stranger, to a stranger", { ...sealed, format: "unknown" }, other, { ...sealed, status }],
    ["of the vendor, to a stranger", { ...sealed, format: "openai-responses-v1" }, other, undefined],
    ["open, to a stranger", { ...open, format: "unknown" }, other, { ...open, status }],
    ["open and sealed, to a stranger", { ...open, ...sealed }, other, { ...open, ...sealed, status }],
    ["empty", { content: [], encrypted_content: null }, other, undefined],
    ["of another kind of model", { ...open, format: "anthropic-claude-v1" }, other, undefined],
  ])("when it is %s", (_, fields, target, expected) => {
    const { body, losses } = said({ input: [say("user", "Hi"), item(fields)] }, target);
    expect(body.input).toEqual([say("user", "Hi"), ...(expected ? [expected] : [])]);
    expect(losses).toEqual(expected ? [] : ["input.1"]);
  });

  test.each([
    ["api.openai.com", "m", "openai-responses-v1"],
    ["eu.api.openai.com", "m", "openai-responses-v1"],
    ["acme.openai.azure.com", "m", "azure-openai-responses-v1"],
    ["acme.services.ai.azure.com", "m", "azure-openai-responses-v1"],
    ["api.x.ai", "m", "xai-responses-v1"],
    ["bedrock-runtime.us-west-2.amazonaws.com", "openai.gpt-oss-120b-1:0", "bedrock-openai-responses-v1"],
    ["bedrock-mantle.us-west-2.api.aws", "us.xai.grok", "bedrock-xai-responses-v1"],
    ["api.openai.com.example.org", "m", undefined],
    ["127.0.0.1", "m", undefined],
  ])("in the provider's own format of seals for the host %s", (hostname, model, format) => {
    expect(findReasoningFormat(hostname)?.(model)).toBe(format);
  });
});
