/** Small exchanges with invented words, one for each kind of difference found in recordings, to test these kinds on machines without recordings. */
import { type Exchange, exchangeOf } from "./corpus.ts";
import type { JsonRecord } from "./readers/json.ts";

interface ToldChanges {
  readonly vendor?: string;
  readonly request?: JsonRecord;
  readonly status?: number;
  /** The answer: an object, or the data of events; a string is sent unchanged. */
  readonly body?: object | string;
  readonly events?: readonly (object | string)[];
}

const paths: Readonly<Record<string, string>> = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings",
};

function told(
  format: string,
  kind: string,
  { vendor = "local", request, status = 200, body, events }: ToldChanges,
): Exchange {
  const data = events
    ?.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`)
    .join("");
  const written = data ?? (typeof body === "string" ? body : JSON.stringify(body));
  return exchangeOf({
    id: kind.replaceAll(" ", "-"),
    dialect: format,
    vendor,
    ...(request && { request: { path: paths[format] ?? "", body: request } }),
    response: { status, headers: { "content-type": events ? "text/event-stream" : "application/json" }, body: written },
  });
}

const chatUsage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
const chatBody = (message: object, more: object = { finish_reason: "stop" }) => ({
  id: "c1",
  choices: [{ index: 0, message, ...more }],
  usage: chatUsage,
});
const chunk = (delta: object, finish: string | null = null) => ({
  id: "c1",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const piece = (args: string, more: object = {}) =>
  chunk({ tool_calls: [{ index: 0, ...more, function: { arguments: args } }] });
const begin = (args: string, id = "call_1") =>
  chunk({ tool_calls: [{ index: 0, id, type: "function", function: { name: "get_weather", arguments: args } }] });
const chatEnd = [chunk({}, "tool_calls"), { choices: [], usage: chatUsage }, "[DONE]"];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { name: "get_weather", description: "The weather", parameters };
const ask = (content: unknown) => [{ role: "user", content }];
const good = chatBody({ role: "assistant", content: "It rains." });

const chatAnswers: readonly Exchange[] = [
  told("chat", "whole without a reason", { body: chatBody({ content: "Oslo" }, {}) }),
  told("chat", "whole with an empty reason", { body: chatBody({ content: "Oslo" }, { finish_reason: "" }) }),
  told("chat", "stream without a reason", { events: [chunk({ content: "Os" }), chunk({ content: "lo" }), "[DONE]"] }),
  told("chat", "empty calls beside a text", {
    body: chatBody(
      { content: "Oslo", function_call: { name: "", arguments: "" }, tool_calls: null },
      { finish_reason: "" },
    ),
  }),
  told("chat", "an empty custom call beside a function", {
    body: chatBody({
      content: "",
      tool_calls: [
        {
          id: "t1",
          type: "function",
          custom: { name: "", input: "" },
          function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
        },
      ],
    }),
  }),
  told("chat", "end as an object", { body: chatBody({ content: "Os" }, { finish_details: { type: "max_tokens" } }) }),
  told("chat", "sounds counted apart from the prompt", {
    body: {
      ...chatBody({ content: "Oslo" }),
      usage: {
        prompt_tokens: 9,
        completion_tokens: 5,
        total_tokens: 389,
        prompt_tokens_details: { audio_tokens: 375 },
      },
    },
  }),
  told("chat", "message and empty delta", {
    body: chatBody({ content: "Oslo" }, { delta: { role: "assistant", content: "" }, finish_reason: "stop" }),
  }),
  told("chat", "white space before the answer", { body: `\n\n   \n${JSON.stringify(good)}` }),
  told("chat", "events that are no objects", {
    events: [chunk({ content: "Os" }), "ok", "[PING]", "null", chunk({ content: "lo" }), chunk({}, "stop"), "[DONE]"],
  }),
];

const chatCalls: readonly Exchange[] = [
  told("chat", "arguments after an empty object", {
    events: [begin("{}"), piece('{"city"'), piece(':"Oslo"}'), ...chatEnd],
  }),
  told("chat", "no arguments but an empty object", { events: [begin("{}"), ...chatEnd] }),
  told("chat", "two calls with one index", {
    events: [begin('{"city":"Oslo"}'), begin('{"city":"Rome"}', "call_2"), ...chatEnd],
  }),
];

const chatRequests: readonly Exchange[] = [
  told("chat", "function without a type", {
    vendor: "mistral",
    request: { model: "m", messages: ask("Hi"), tools: [{ function: weather }], tool_choice: "auto" },
    body: good,
  }),
  told("chat", "function of Mistral that must be called", {
    vendor: "mistral",
    request: { model: "m", messages: ask("Hi"), tools: [{ type: "function", function: weather }], tool_choice: "any" },
    body: good,
  }),
  told("chat", "address of an image as text", {
    vendor: "mistral",
    request: {
      model: "m",
      messages: ask([
        { type: "text", text: "What?" },
        { type: "image_url", image_url: "data:image/png;base64,iVBORw0KGgo=" },
      ]),
    },
    body: good,
  }),
  told("chat", "document and thinking of Mistral", {
    vendor: "mistral",
    request: {
      model: "m",
      messages: [
        ...ask([{ type: "document_url", document_url: "data:application/pdf;base64,JVBERi0xLjQ=" }]),
        {
          role: "assistant",
          content: [
            {
              type: "thinking",
              thinking: [
                { type: "text", text: "Short." },
                { type: "text", text: " Very." },
              ],
            },
            { type: "text", text: "A page." },
          ],
        },
        ...ask("And?"),
      ],
    },
    body: good,
  }),
  told("chat", "message of the developer amid a conversation at OpenRouter", {
    vendor: "openrouter",
    request: {
      model: "m",
      messages: [{ role: "developer", content: "Be brief." }, ...ask("Hi"), { role: "developer", content: "Briefer." }],
    },
    body: good,
  }),
  told("chat", "picture in a result at OpenRouter", {
    vendor: "openrouter",
    request: {
      model: "m",
      messages: [
        ...ask("Hi"),
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_1", type: "function", function: { name: "get_weather", arguments: "{}" } }],
        },
        {
          role: "tool",
          tool_call_id: "call_1",
          content: [
            { type: "text", text: "A map." },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
          ],
        },
      ],
      tools: [{ type: "function", function: weather }],
    },
    body: good,
  }),
  told("chat", "seed and thinking by the names of vendors", {
    vendor: "mistral",
    request: { model: "m", messages: ask("Hi"), random_seed: 7, safe_prompt: false },
    body: good,
  }),
  told("chat", "thinking turned off at DeepSeek", {
    vendor: "deepseek",
    request: { model: "m", messages: ask("Hi"), thinking: { type: "disabled" } },
    body: good,
  }),
  told("chat", "thought of an earlier answer at DeepSeek", {
    vendor: "deepseek",
    request: {
      model: "m",
      messages: [...ask("Hi"), { role: "assistant", content: "Yes?", reasoning_content: "A greeting." }, ...ask("So?")],
    },
    body: good,
  }),
  told("chat", "call without a thought at DeepSeek", {
    vendor: "deepseek",
    request: {
      model: "m",
      messages: [
        ...ask("Hi"),
        {
          role: "assistant",
          content: null,
          reasoning_content: "",
          tool_calls: [{ id: "call_1", type: "function", function: { name: "get_weather", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_1", content: "Rain." },
      ],
      tools: [{ type: "function", function: weather }],
    },
    body: good,
  }),
  told("chat", "file of Perplexity", {
    vendor: "perplexity",
    request: {
      model: "m",
      messages: ask([
        { type: "text", text: "Read." },
        { type: "file_url", file_url: { url: "JVBERi0xLjQ=" }, file_name: "a.pdf" },
      ]),
    },
    body: good,
  }),
  told("chat", "tier of Groq", {
    vendor: "groq",
    request: { model: "m", messages: ask("Hi"), service_tier: "on_demand" },
    body: good,
  }),
];

const sealedThought = (more: object) => [
  ...ask("Weather?"),
  {
    role: "assistant",
    content: "It rains.",
    reasoning_details: [{ type: "reasoning.encrypted", format: "google-gemini-v1", index: 0, ...more }],
  },
  ...ask("And now?"),
];

const gatewayExchanges: readonly Exchange[] = [
  told("chat", "thoughts that are counted apart", {
    body: {
      ...good,
      usage: {
        ...chatUsage,
        cost: 0.0001,
        market_cost: 0.0001,
        completion_tokens_details: { reasoning_tokens: 40 },
      },
    },
  }),
  told("chat", "sealed thought without its seal", {
    request: { model: "m", messages: sealedThought({}) },
    body: good,
  }),
  told("chat", "sound as text", {
    vendor: "mistral",
    request: { model: "m", messages: ask([{ type: "input_audio", input_audio: "UklGRiQAAABXQVZF" }]) },
    body: good,
  }),
  told("chat", "sound that is counted apart", {
    vendor: "mistral",
    request: {
      model: "m",
      messages: ask([{ type: "input_audio", input_audio: { data: "UklGRiQAAABXQVZF", format: "wav" } }]),
    },
    body: {
      ...good,
      usage: {
        prompt_tokens: 12,
        completion_tokens: 5,
        total_tokens: 37,
        prompt_audio_seconds: 1,
        prompt_tokens_details: { audio_tokens: 20 },
      },
    },
  }),
];

const messagesUsage = {
  input_tokens: 9,
  cache_creation_input_tokens: 5,
  cache_read_input_tokens: 0,
  output_tokens: 9,
  output_tokens_details: { thinking_tokens: 7 },
};
const message = (content: readonly object[], more: object = {}) => ({
  id: "m1",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason: "end_turn",
  usage: messagesUsage,
  ...more,
});
const thought = { type: "thinking", thinking: "It may rain.", signature: "c2ln" };
const deferred = { name: "get_weather", description: "The weather", input_schema: parameters, defer_loading: true };

const messagesExchanges: readonly Exchange[] = [
  told("messages", "thoughts and their tokens", {
    vendor: "anthropic",
    request: { model: "m", max_tokens: 64, messages: ask("Hi") },
    body: message([thought, { type: "text", text: "It rains." }]),
  }),
  told("messages", "an empty event", {
    events: [
      { type: "message_start", message: message([]) },
      {},
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Oslo" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } },
      { type: "message_stop" },
    ],
  }),
  told("messages", "a budget beside a temperature of 1", {
    vendor: "anthropic",
    request: {
      model: "claude-haiku-4-5",
      max_tokens: 4_000,
      temperature: 1,
      thinking: { type: "enabled", budget_tokens: 1_024 },
      messages: ask("Hi"),
    },
    body: message([thought, { type: "text", text: "Hi" }]),
  }),
  told("messages", "two samplers of an earlier model", {
    vendor: "anthropic",
    request: { model: "claude-3-haiku-20240307", max_tokens: 64, temperature: 0.5, top_p: 0.5, messages: ask("Hi") },
    body: message([{ type: "text", text: "Hi" }]),
  }),
  told("messages", "every tool deferred", {
    request: {
      model: "m",
      max_tokens: 64,
      messages: ask("Hi"),
      tools: [{ type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" }, deferred],
    },
    body: message([{ type: "text", text: "Hi" }]),
  }),
];

const response = (output: readonly object[]) => ({
  id: "r1",
  object: "response",
  status: "completed",
  output,
  usage: { input_tokens: 9, output_tokens: 5 },
});
const saidHi = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Hi", annotations: [] }],
};
const lazy = { type: "function", ...weather, strict: false, defer_loading: true };

const responsesExchanges: readonly Exchange[] = [
  told("responses", "every function deferred", {
    vendor: "openai",
    request: { model: "m", input: "Hi", tools: [{ type: "tool_search" }, lazy] },
    body: response([saidHi]),
  }),
  told("responses", "a deferred function that an item brings", {
    vendor: "openai",
    request: {
      model: "m",
      input: [
        { role: "user", content: "Hi" },
        { type: "additional_tools", role: "developer", tools: [{ type: "function", ...weather, strict: false }] },
      ],
      tools: [{ type: "tool_search" }, lazy],
    },
    body: response([saidHi]),
  }),
  told("responses", "state of a thought", {
    vendor: "xai",
    request: {
      model: "m",
      input: [
        { role: "user", content: "Hi" },
        { type: "reasoning", id: "rs_1", status: "completed", summary: [], encrypted_content: "c2VhbGVk" },
        { type: "message", id: "msg_1", status: "completed", role: "assistant", content: saidHi.content },
        { role: "user", content: "And now?" },
      ],
    },
    body: response([saidHi]),
  }),
  told("responses", "a refused key", {
    vendor: "xai",
    status: 400,
    body: { code: "Client specified an invalid argument", error: "Incorrect API key provided: xai-1" },
  }),
];

const candidate = (parts: readonly object[], finishReason = "STOP") => ({
  candidates: [{ content: { role: "model", parts }, finishReason }],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 5, thoughtsTokenCount: 3 },
});

const geminiExchanges: readonly Exchange[] = [
  told("gemini", "thoughts beside the answer", {
    vendor: "google",
    body: candidate([{ text: "Hm.", thought: true }, { text: "Oslo" }]),
  }),
  told("gemini", "an answer that a shield withholds", { vendor: "vertex", body: candidate([], "MODEL_ARMOR") }),
  told("gemini", "a call without a name", {
    vendor: "google",
    body: candidate([{ functionCall: { name: "get_weather", args: { city: "Oslo" } } }, { functionCall: {} }]),
  }),
];

const vectors = (...listed: readonly unknown[]) => ({
  object: "list",
  data: listed.map((embedding, index) => ({ object: "embedding", index, embedding })),
  usage: { prompt_tokens: 3, total_tokens: 3 },
});

const embeddingExchanges: readonly Exchange[] = [
  told("embeddings", "white space before the vectors", {
    vendor: "openrouter",
    request: { model: "m", input: ["Oslo", "Rome"] },
    body: `\n   \n\n${JSON.stringify(vectors([0.5, -0.25], [0.125, 1]))}`,
  }),
  told("embeddings", "vectors of signed bytes", {
    vendor: "perplexity",
    request: { model: "m", input: ["Oslo", "Rome"], dimensions: 3 },
    body: vectors("9sYA", "fwGA"),
  }),
  told("embeddings", "an empty text", {
    vendor: "openai",
    request: { model: "m", input: "" },
    body: vectors([0.5, -0.25]),
  }),
];

export const smallExchanges: readonly Exchange[] = [
  ...chatAnswers,
  ...chatCalls,
  ...chatRequests,
  ...gatewayExchanges,
  ...messagesExchanges,
  ...responsesExchanges,
  ...geminiExchanges,
  ...embeddingExchanges,
];
