/** A word planted in every input of a client, an operator or a provider, and searched for in all output for operators. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Collector, startCollector } from "../../support/collector.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { scrape } from "../../support/metrics.ts";
import { eventually } from "../../support/processes.ts";
import { type Reply, type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

/** Each position has a separate word, so a found word names its origin. */
const planted = new Set<string>();
function canary(position: string): string {
  const word = `canary-${position}-end`;
  planted.add(word);
  return word;
}

let upstream: Upstream;
let collector: Collector;
let installation: Installation;
beforeAll(async () => {
  upstream = await startUpstream();
  collector = await startCollector();
  installation = await startInstallation({
    config: `
providers:
  - id: acme
    dialect: chat
    base_url: "${upstream.url}/v1"
    api_keys: ["${canary("provider-key")}"]
models:
  - {id: acme/large, input_modalities: [text, image], endpoints: [{provider: acme, upstream_model: large-1}]}
`,
    environment: {
      SLUICE_LOG_LEVEL: "trace",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${canary("collector-header")}`,
      OTEL_BSP_SCHEDULE_DELAY: "50",
    },
  });
});
afterAll(async () => {
  await installation?.stop();
  await collector?.stop();
  await upstream?.stop();
});

async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const key = path.startsWith("/responses") ? installation.apiKey : installation.managementKey;
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  await response.arrayBuffer();
  return response;
}

const sendRequest = (body: object = {}, headers: Record<string, string> = {}) =>
  send("POST", "/responses", { model: "acme/large", input: "Hi", ...body }, headers);

/** Every text field of an accepted request, each with its canary. */
const wellFormed = () => ({
  instructions: canary("instructions"),
  input: [
    { role: "user", content: [{ type: "input_text", text: canary("input-text") }] },
    {
      role: "user",
      content: [
        { type: "input_image", image_url: `https://a.example/${canary("image-path")}?x=${canary("image-query")}` },
      ],
    },
    {
      type: "function_call",
      call_id: canary("call-id"),
      name: "f",
      arguments: JSON.stringify({ a: canary("arguments") }),
    },
    { type: "function_call_output", call_id: "canary-call-id-end", output: canary("call-output") },
  ],
  user: canary("user"),
  safety_identifier: canary("safety-identifier"),
  session_id: canary("session"),
  prompt_cache_key: canary("cache-key"),
  metadata: { [canary("metadata-name")]: canary("metadata-value") },
  tools: [
    {
      type: "function",
      name: "f",
      description: canary("tool-description"),
      parameters: { type: "object", properties: { [canary("tool-parameter")]: { type: "string" } } },
    },
  ],
  text: { format: { type: "json_schema", name: "s", schema: { title: canary("schema-title") } } },
});

const headers = () => ({
  "user-agent": canary("user-agent"),
  referer: `https://${canary("referer")}/`,
  cookie: `session=${canary("cookie")}`,
  baggage: `user=${canary("baggage")}`,
  "x-session-id": canary("x-session-id"),
  "x-request-id": `${canary("x-request-id")} with a blank`,
  "x-forwarded-for": canary("forwarded-for"),
});

/** Canaries possible only in malformed requests. */
const malformed = (): (() => Promise<unknown>)[] => [
  () => sendRequest({ service_tier: canary("service-tier") }),
  () => sendRequest({ include: [canary("include")] }),
  () => sendRequest({ tool_choice: { type: "function", name: canary("tool-choice") } }),
  () => sendRequest({ provider: { order: [canary("provider-order")] } }),
  () => sendRequest({ provider: { [canary("provider-field")]: 1 } }),
  () => sendRequest({ [canary("field-name")]: canary("field-value") }),
  () => sendRequest({ input: [{ type: canary("item-type") }] }),
  () => send("POST", "/responses", `{"input": "${canary("broken-body")}`),
  () => send("POST", `/responses?key=${canary("query")}`, {}),
  () => sendRequest({}, { authorization: `Bearer ${canary("bearer")}` }),
  () => sendRequest({}, { authorization: `Bearer sk-sl-${canary("key")}` }),
  () => sendRequest({}, { authorization: canary("authorization") }),
  () => sendRequest({}, { traceparent: canary("traceparent"), tracestate: canary("tracestate") }),
];

const administration = (): (() => Promise<unknown>)[] => [
  () => send("POST", "/keys", { name: canary("key-name"), external: { user: canary("external-user") } }),
  () => send("POST", "/guardrails", { name: canary("guardrail-name"), [canary("guardrail-field")]: 1 }),
  () => send("POST", "/end-users", { user: canary("end-user") }),
  () => send("GET", `/end-users/${canary("end-user-path")}`),
  () => send("GET", `/${canary("path")}`),
  () => send("PATCH", `/keys/${canary("key-path")}`, { name: canary("new-name") }),
];

/** Every kind of output of a provider, in order and out of order. */
const replies = (): Reply[] => [
  chatAnswer({ role: "assistant", content: canary("answer") }),
  chatAnswer({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "1", type: "function", function: { name: canary("called"), arguments: "{}" } }],
  }),
  { status: 400, chunks: [{ json: { error: { message: canary("error-400"), code: "bad" } } }] },
  { status: 401, chunks: [{ json: { error: { message: canary("error-401") } } }] },
  {
    status: 500,
    headers: { "x-trace": canary("provider-header") },
    chunks: [{ json: { error: { message: canary("error-500") } } }],
  },
  { status: 200, chunks: [{ json: { [canary("unknown-shape")]: 1 } }] },
  {
    status: 200,
    headers: { "content-type": "application/json" },
    chunks: [{ bytes: `{"choices": "${canary("broken-answer")}` }],
  },
  { status: 200, headers: { "content-type": "text/html" }, chunks: [{ bytes: `<h1>${canary("page")}</h1>` }] },
  { status: 302, headers: { location: `https://${canary("redirect")}/` } },
];

const streamed = (): Reply[] => [
  { chunks: [{ sse: [chatChunk({ content: canary("delta") })] }], cut: true },
  { chunks: [{ sse: [chatChunk({ content: "a" }), `{"choices": "${canary("broken-event")}`] }] },
  { chunks: [{ sse: [{ error: { message: canary("error-event") } }] }] },
];

test("no prompt, reasoning or secret is in a line of a log, in a metric or in a span", async () => {
  upstream.script([chatAnswer({ role: "assistant", content: "Hello" })]);
  expect((await sendRequest(wellFormed(), headers())).status).toBe(200);
  for (const go of [...malformed(), ...administration()]) await go();
  for (const [stream, said] of [
    [false, replies()],
    [true, streamed()],
  ] as const) {
    for (const reply of said) {
      upstream.script([reply]);
      await sendRequest({ stream });
    }
  }
  expect(planted.size).toBeGreaterThan(60);

  upstream.script([chatAnswer({ role: "assistant", content: "Hello" })]);
  const last = await sendRequest();
  const id = last.headers.get("x-request-id") as string;
  const spans = () => Buffer.concat([...collector.bodies]).toString();
  await eventually(() => spans().split(id).length > 2);

  const seen = { logs: await installation.allLogged(), metrics: await scrape(installation), spans: spans() };
  for (const [where, text] of Object.entries(seen)) {
    const found = [...planted, installation.apiKey, installation.managementKey].filter((word) => text.includes(word));
    expect({ where, found }).toEqual({ where, found: [] });
  }
}, 300_000);
