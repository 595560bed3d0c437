/** SPEC 2.1 and 2.4: parameters about text and its format, and the request's settings as the answer repeats them. */
import type { Row, RowCase } from "../row.ts";
import { exampleFunction, greetingMessage, textPart, userMessageOf } from "./asks.ts";

const row = (name: string, ...cases: readonly RowCase[]): Row => ({ name: `2.1 ${name}`, cases });

const echoed = (name: string, sendRequest: Readonly<Record<string, unknown>>, back: object = sendRequest): Row => ({
  name: `2.4 ${name} is echoed`,
  cases: [{ ask: sendRequest, back }],
});

export const textRows: readonly Row[] = [
  row("instructions", {
    ask: { instructions: "Be kind 37" },
    sentBy: {
      chat: { messages: [{ role: "system", content: /Be kind 37/ }] },
      responses: { instructions: "Be kind 37" },
      messages: { system: /Be kind 37/ },
      gemini: { systemInstruction: { parts: [{ text: "Be kind 37" }] } },
      converse: { system: [{ text: "Be kind 37" }] },
    },
  }),
  row("input as text", { ask: { input: "Who won 37?" }, sent: /Who won 37\?/ }),
  ...["user", "system", "developer", "assistant"].map((role) =>
    row(`input: message of role ${role}`, {
      ask: { input: [{ role, content: "Words 37" }, greetingMessage] },
      sent: /Words 37/,
    }),
  ),
  row("text.format json_object", {
    ask: { text: { format: { type: "json_object" } }, input: "Give JSON" },
    sentBy: {
      chat: { response_format: { type: "json_object" } },
      responses: { text: { format: { type: "json_object" } } },
      gemini: { generationConfig: { responseMimeType: "application/json" } },
      messages: /JSON/,
      converse: /JSON/,
    },
  }),
  row("text.format json_schema", {
    ask: {
      text: {
        format: {
          type: "json_schema",
          name: "cup",
          strict: true,
          schema: {
            type: "object",
            properties: { winner37: { type: "string" } },
            required: ["winner37"],
            additionalProperties: false,
          },
        },
      },
    },
    sent: /winner37/,
  }),
  row("text.format text", {
    ask: { text: { format: { type: "text" } } },
    back: { text: { format: { type: "text" } } },
  }),
  ...["low", "medium", "high"].map((verbosity) =>
    row(`text.verbosity ${verbosity}`, {
      ask: { text: { verbosity } },
      sentBy: { responses: { text: { verbosity } } },
      lost: { chat: "verbosity", messages: "verbosity", gemini: "verbosity", converse: "verbosity" },
    }),
  ),
  row("modalities image", {
    ask: { modalities: ["text", "image"] },
    on: ["chat", "gemini"],
    sentBy: { chat: { modalities: ["image"] }, gemini: { generationConfig: { responseModalities: ["IMAGE"] } } },
  }),
  row("image_config", {
    ask: { modalities: ["text", "image"], image_config: { aspect_ratio: "16:9" } },
    on: ["chat", "gemini"],
    sent: /16:9/,
  }),
  row("cache_control", {
    ask: { cache_control: { type: "ephemeral" } },
    on: ["messages", "converse"],
    sentBy: { messages: /cache_control/, converse: /cachePoint/ },
  }),
  row("cache_control on a part", {
    ask: { input: [userMessageOf({ ...textPart("Long"), cache_control: { type: "ephemeral" } }, textPart("Hi"))] },
    on: ["messages", "converse"],
    sentBy: { messages: /cache_control/, converse: /cachePoint/ },
  }),
  row("prompt_cache_breakpoint on a part", {
    ask: {
      input: [userMessageOf({ ...textPart("Long"), prompt_cache_breakpoint: { mode: "explicit" } }, textPart("Hi"))],
    },
    on: ["messages", "converse"],
    sentBy: { messages: /cache_control/, converse: /cachePoint/ },
  }),
  row("prompt_cache_key", {
    ask: { prompt_cache_key: "key37" },
    on: ["responses"],
    sent: { prompt_cache_key: /^[\w-]{43}$/ },
    unsent: /key37/,
  }),
  row("user is never sent", { ask: { user: "person37" }, unsent: /person37/ }),
  row("trace is never sent", { ask: { trace: { trace_id: "trace37" } }, unsent: /trace37/ }),
  row("metadata is never sent", { ask: { metadata: { secret37: "x" } }, unsent: /secret37/ }),
  row("session_id is never sent", { ask: { session_id: "session37" }, unsent: /session37/ }),
  row("session_id: the header x-session-id", {
    headers: { "x-session-id": "session37" },
    back: { status: "completed" },
  }),
  row("debug.echo_upstream_body", {
    ask: { stream: true, debug: { echo_upstream_body: true } },
    events: ["response.debug", "response.created"],
  }),
  row("debug without a stream is ignored", {
    ask: { debug: { echo_upstream_body: true } },
    back: { status: "completed" },
  }),
  row("truncation disabled: an input above the window", {
    ask: { input: "word ".repeat(20_000), truncation: "disabled" },
    on: ["t/window"],
    says: [{ fails: { status: 400, code: "context_length_exceeded", message: "Too long" } }],
    refused: [400, /Too long/],
  }),
  row("truncation auto: an input above the window", {
    ask: {
      input: Array.from({ length: 200 }, () => ({ role: "user", content: "word ".repeat(100) })),
      truncation: "auto",
    },
    on: ["t/window", "t/small-window"],
    back: { status: "completed" },
  }),
];

export const echoRows: readonly Row[] = [
  echoed("instructions", { instructions: "Be kind" }),
  echoed("max_output_tokens", { max_output_tokens: 321 }),
  echoed("metadata", { metadata: { a: "b" } }),
  echoed("frequency_penalty", { frequency_penalty: 0.5 }),
  echoed("presence_penalty", { presence_penalty: 0.5 }),
  echoed("temperature", { temperature: 0.37 }),
  echoed("top_p", { top_p: 0.91 }),
  echoed("parallel_tool_calls", { parallel_tool_calls: false }),
  echoed("tools", { tools: [exampleFunction] }, { tools: [{ type: "function", name: "f" }] }),
  echoed("text", { text: { verbosity: "low" } }),
  echoed("truncation", { truncation: "auto" }),
  echoed("max_tool_calls", { max_tool_calls: 7 }),
  echoed("reasoning", { reasoning: { effort: "low" } }),
  echoed("safety_identifier", { safety_identifier: "a" }),
  echoed("prompt_cache_key", { prompt_cache_key: "a" }),
  echoed("user", { user: "a" }),
  echoed(
    "unset samplers as null",
    {},
    {
      temperature: null,
      top_p: null,
      frequency_penalty: null,
      presence_penalty: null,
      instructions: null,
      max_output_tokens: null,
    },
  ),
  echoed(
    "defaults",
    {},
    {
      tool_choice: "auto",
      parallel_tool_calls: true,
      store: false,
      background: false,
      previous_response_id: null,
      error: null,
      object: "response",
    },
  ),
];
