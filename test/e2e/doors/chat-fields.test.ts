/** Every field of chat completions, as the clients' own types list them: it reaches the provider, is named as not sent, or is refused by name. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { ChatRequest$Outbound } from "@openrouter/sdk/models/chatrequest.js";
import type OpenAI from "openai-7";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatAnswer, responsesAnswer, startUpstream } from "../../support/providers/upstream.ts";

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;
type FieldOfChat = Exclude<keyof Params | keyof ChatRequest$Outbound, "messages" | "model">;

/** Whether the field changes the provider's request, or acts only in the gateway. */
type Effect = "provider" | "gateway";

interface Row {
  readonly fields: object;
  readonly effect: Effect;
  /** The beginning of the field's refusal message. */
  readonly refused?: string;
}

const row = (fields: object, effect: Effect = "provider"): Row => ({ fields, effect });
const inGateway = (fields: object): Row => row(fields, "gateway");
const refused = (fields: object, message: string): Row => ({ fields, effect: "gateway", refused: message });

const parameters = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };
const find = { name: "find", description: "Finds.", parameters };
const functionTool = { type: "function", function: find };
const grammar = { type: "grammar", grammar: { syntax: "lark", definition: 'start: "a"' } };
const customTool = { type: "custom", custom: { name: "run", description: "Runs.", format: grammar } };
const location = { type: "approximate", approximate: { city: "Oslo", country: "NO" } };

const rows: Readonly<Record<FieldOfChat | "transforms" | "include_reasoning", readonly Row[]>> = {
  audio: [refused({ audio: { voice: "alloy", format: "mp3" } }, "audio: sound of the model is not supported")],
  cache_control: [row({ cache_control: { type: "ephemeral" } })],
  debug: [inGateway({ debug: { echo_upstream_body: true } })],
  frequency_penalty: [row({ frequency_penalty: 0.5 })],
  function_call: [
    row({ functions: [find], function_call: { name: "find" } }),
    row({ functions: [find], function_call: "none" }),
  ],
  functions: [
    row({ functions: [find] }),
    refused({ functions: [find], tools: [functionTool] }, "functions: is the old form of tools"),
  ],
  image_config: [row({ image_config: { aspect_ratio: "1:1" } })],
  logit_bias: [row({ logit_bias: { "50256": -100 } })],
  logprobs: [row({ logprobs: true })],
  max_completion_tokens: [row({ max_completion_tokens: 77 })],
  max_tokens: [row({ max_tokens: 77 }), refused({ max_tokens: 7, max_completion_tokens: 8 }, "max_tokens: must be")],
  metadata: [inGateway({ metadata: { ticket: "4711" } })],
  min_p: [row({ min_p: 0.1 })],
  modalities: [
    inGateway({ modalities: ["text"] }),
    refused({ modalities: ["text", "audio"] }, "modalities.1: must be one of"),
  ],
  models: [inGateway({ models: ["far/chat"] })],
  moderation: [row({ moderation: { model: "omni" } })],
  n: [inGateway({ n: 1 }), refused({ n: 2 }, "n: must be 1")],
  parallel_tool_calls: [row({ tools: [functionTool], parallel_tool_calls: false })],
  plugins: [inGateway({ plugins: [] })],
  prediction: [row({ prediction: { type: "content", content: "draft" } })],
  presence_penalty: [row({ presence_penalty: 0.5 })],
  prompt_cache_key: [row({ prompt_cache_key: "k" })],
  prompt_cache_options: [row({ prompt_cache_options: { mode: "explicit", ttl: "30m" } })],
  prompt_cache_retention: [row({ prompt_cache_retention: "24h" })],
  provider: [inGateway({ provider: { allow_fallbacks: false } })],
  reasoning: [row({ reasoning: { effort: "low" } }), row({ reasoning: { max_tokens: 2_000 } })],
  reasoning_effort: [
    row({ reasoning_effort: "low" }),
    refused({ reasoning_effort: "low", reasoning: { effort: "high" } }, "reasoning_effort: must be the same"),
  ],
  include_reasoning: [inGateway({ include_reasoning: false })],
  repetition_penalty: [row({ repetition_penalty: 1.1 })],
  response_format: [
    row({ response_format: { type: "json_object" } }),
    row({ response_format: { type: "json_schema", json_schema: { name: "x", schema: parameters, strict: true } } }),
    refused({ response_format: { type: "grammar", grammar: "x" } }, "response_format.type: must be"),
    refused({ response_format: { type: "python" } }, "response_format.type: must be"),
  ],
  safety_identifier: [row({ safety_identifier: "s-1" })],
  seed: [row({ seed: 7 })],
  service_tier: [inGateway({ service_tier: "default" }), row({ service_tier: "flex" })],
  session_id: [inGateway({ session_id: "s1" })],
  stop: [row({ stop: "END" }), row({ stop: ["END", "STOP"] })],
  stop_server_tools_when: [inGateway({ stop_server_tools_when: [{ type: "step_count_is", step_count: 3 }] })],
  store: [inGateway({ store: false }), refused({ store: true }, "store: must be false")],
  stream: [inGateway({ stream: false })],
  stream_options: [inGateway({ stream_options: { include_usage: true } })],
  temperature: [row({ temperature: 0.5 })],
  tool_choice: [
    row({ tools: [functionTool, customTool], tool_choice: { type: "function", function: { name: "find" } } }),
    row({ tools: [functionTool, customTool], tool_choice: { type: "custom", custom: { name: "run" } } }),
    row({
      tools: [functionTool, customTool],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "find" } }] },
      },
    }),
  ],
  tools: [row({ tools: [functionTool] }), row({ tools: [customTool] })],
  top_a: [row({ top_a: 0.1 })],
  top_k: [row({ top_k: 5 })],
  top_logprobs: [
    row({ logprobs: true, top_logprobs: 2 }),
    refused({ top_logprobs: 2 }, "top_logprobs: needs logprobs: true"),
  ],
  top_p: [row({ top_p: 0.5 })],
  trace: [inGateway({ trace: { trace_id: "t" } })],
  transforms: [inGateway({ transforms: ["middle-out"] }), inGateway({ transforms: [] })],
  user: [row({ user: "employee_123" })],
  verbosity: [row({ verbosity: "low" })],
  web_search_options: [row({ web_search_options: { search_context_size: "low", user_location: location } })],
};

const mark = { cache_control: { type: "ephemeral" } };
const call = { id: "call_1", type: "function", function: { name: "find", arguments: "{}" } };
const result = { role: "tool", tool_call_id: "call_1", content: "Phobos" };
const asked = { role: "user", content: "Hi" };
const said = { role: "assistant", content: "Sure." };
/** A conversation with a call in it. */
const called = (answer: object, output: object): object => ({
  tools: [functionTool],
  messages: [asked, { role: "assistant", content: null, tool_calls: [call], ...answer }, { ...result, ...output }],
});

/** Fields within messages, parts and tools, by their paths in warnings and errors. */
const nested: readonly (readonly [path: string, fields: object, without: object])[] = [
  ["messages.0.content", { messages: [{ ...asked, ...mark }] }, { messages: [asked] }],
  ["messages.1.content", { messages: [asked, { ...said, ...mark }, asked] }, { messages: [asked, said, asked] }],
  ["messages.1.cache_control", called(mark, {}), called({}, {})],
  ["messages.2.content", called({}, mark), called({}, {})],
  ["messages.2.name", called({}, { name: "find" }), called({}, {})],
  ["messages.0.zz", { messages: [{ ...asked, zz: 1 }] }, { messages: [asked] }],
  [
    "messages.0.content.0.zz",
    { messages: [{ role: "user", content: [{ type: "text", text: "Hi", zz: 1 }] }] },
    { messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }] },
  ],
  ["messages.1.tool_calls.0.zz", called({ tool_calls: [{ ...call, zz: 1 }] }, {}), called({}, {})],
  ["messages.1.thinking_blocks", called({ thinking_blocks: [{ type: "thinking" }] }, {}), called({}, {})],
  ["messages.1.annotations", called({ annotations: [{ type: "url_citation" }] }, {}), called({}, {})],
  ["tools.0.cache_control", { tools: [{ ...functionTool, ...mark }] }, { tools: [functionTool] }],
  [
    "tools.0.cache_control",
    { tools: [{ ...functionTool, function: { ...find, ...mark } }] },
    { tools: [functionTool] },
  ],
  ["tools.0.zz", { tools: [{ ...functionTool, zz: 1 }] }, { tools: [functionTool] }],
  ["tools.0.function.zz", { tools: [{ ...functionTool, function: { ...find, zz: 1 } }] }, { tools: [functionTool] }],
];

const anthropicAnswer = {
  chunks: [
    {
      json: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: "Fine." }],
        stop_reason: "end_turn",
        usage: { input_tokens: 3, output_tokens: 2 },
      },
    },
  ],
};
const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Fine." }] };
const replies = {
  chat: chatAnswer({ role: "assistant", content: "Fine." }),
  messages: anthropicAnswer,
  responses: responsesAnswer({ ...message, id: "msg_1", status: "completed" }),
};
type Dialect = keyof typeof replies;
const dialects = Object.keys(replies) as Dialect[];

interface Asked {
  readonly status: number;
  readonly error: string | undefined;
  /** The body sent to the provider; undefined without a call. */
  readonly sent: string | undefined;
  /** Names of fields in the receipt and in the warnings of the answer. */
  readonly notes: string;
}

describe("a field of a chat completion request", () => {
  const upstreams = {} as Record<Dialect, Upstream>;
  let installation: Installation;

  beforeAll(async () => {
    for (const dialect of dialects) upstreams[dialect] = await startUpstream([replies[dialect]]);
    installation = await startInstallation({
      config: `
providers:
${dialects.map((id) => `  - {id: ${id}, dialect: ${id}, base_url: "${upstreams[id].url}/v1"}`).join("\n")}
models:
${dialects.map((id) => `  - {id: far/${id}, endpoints: [{provider: ${id}}]}`).join("\n")}
  - {id: far/marked, endpoints: [{provider: chat, supported_parameters: [tools, cache_control]}]}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await Promise.all(Object.values(upstreams).map((upstream) => upstream.stop()));
  });

  async function sendRequest(dialect: Dialect, fields: object, model: string = dialect): Promise<Asked> {
    const before = upstreams[dialect].requests.length;
    const answer = await fetch(`${installation.baseUrl}/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${installation.apiKey}`,
        "content-type": "application/json",
        "x-service-metadata": "enabled",
      },
      body: JSON.stringify({ model: `far/${model}`, messages: [{ role: "user", content: "Hi" }], ...fields }),
    });
    const body = (await answer.json()) as {
      error?: { message: string };
      service_metadata?: { params?: { not_sent?: unknown; unknown_fields?: unknown } };
    };
    const { not_sent: notSent = [], unknown_fields: unknown = [] } = body.service_metadata?.params ?? {};
    return {
      status: answer.status,
      error: body.error?.message,
      sent: upstreams[dialect].requests[before]?.body,
      notes: JSON.stringify([notSent, unknown]),
    };
  }

  const inner = nested.flatMap((each) => dialects.map((dialect) => [each[0], dialect, each] as const));

  test.each(inner)(
    "%s at a provider of %s is sent, refused or reported as not sent",
    async (path, dialect, [, fields, without]) => {
      const { status, sent, notes } = await sendRequest(dialect, fields);
      expect(status).toBe(200);
      const plain = await sendRequest(dialect, without);
      if (sent === plain.sent) expect(notes).toContain(`"${path}`);
    },
  );

  test("for cache marks of messages and tools reaches a server with support for them", async () => {
    const { sent = "{}", notes } = await sendRequest(
      "chat",
      { tools: [{ ...functionTool, ...mark }], messages: [{ ...asked, ...mark }, { ...said, ...mark }, asked] },
      "marked",
    );
    expect(notes).toBe("[[],[]]");
    expect(JSON.parse(sent)).toMatchObject({
      tools: [{ ...functionTool, ...mark }],
      messages: [
        { role: "user", content: [{ type: "text", text: "Hi", ...mark }] },
        { role: "assistant", content: [{ type: "text", text: "Sure.", ...mark }] },
        asked,
      ],
    });
  });

  const cases = Object.entries(rows).flatMap(([name, all]) =>
    dialects.flatMap((dialect) => all.map((each) => [name, JSON.stringify(each.fields), dialect, each] as const)),
  );

  test.each(cases)(
    "%s as %s at a provider of %s is sent, refused or reported as not sent",
    async (name, _, dialect, each) => {
      const { status, error, sent, notes } = await sendRequest(dialect, each.fields);
      if (each.refused !== undefined)
        return expect([status, error]).toEqual([400, expect.stringContaining(each.refused)]);
      if (status !== 200) return expect([status, error]).toEqual([400, expect.stringContaining(name)]);
      expect(notes).not.toContain("include.");
      if (each.effect === "gateway") return expect(notes).toBe("[[],[]]");
      const others = Object.fromEntries(Object.entries(each.fields).filter(([field]) => field !== name));
      const plain = await sendRequest(dialect, others);
      if (sent === plain.sent) expect(notes).toContain(`"${name}`);
    },
  );
});
