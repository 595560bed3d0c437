/** Redacted text of a request does not leave the installation: a marker in forty places is searched for in all sent and stored data. */
import { readFileSync, readdirSync, statSync } from "node:fs";
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Client } from "@grpc/grpc-js";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type Collector, startCollector } from "../../support/collector.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { scrape } from "../../support/metrics.ts";
import { eventually } from "../../support/processes.ts";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type Upstream, chatAnswer, responsesAnswer, startUpstream } from "../../support/providers/upstream.ts";

const marker = /SECRET-\d\d/;
let marked = 0;
const mark = (): string => `SECRET-${String(++marked).padStart(2, "0")}`;
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Every kind of place that reaches a provider which supports all items. */
const everywhere = {
  instructions: `Keep ${mark()} to yourself`,
  prompt_cache_key: `cache-${mark()}`,
  image_config: { style: mark() },
  chat_template_kwargs: { note: mark() },
  text: {
    format: {
      type: "json_schema",
      name: "answer",
      description: mark(),
      schema: { type: "object", properties: { a: { const: mark(), description: mark() } } },
    },
  },
  tools: [
    {
      type: "function",
      name: "find",
      description: mark(),
      parameters: { type: "object", properties: { a: { type: "string", enum: [mark()], default: mark() } } },
    },
    {
      type: "custom",
      name: "write",
      description: mark(),
      format: { type: "grammar", syntax: "lark", definition: mark() },
    },
  ],
  input: [
    { role: "system", content: mark() },
    { role: "developer", content: [{ type: "input_text", text: mark() }] },
    {
      role: "user",
      content: [
        { type: "input_text", text: `S\u200bE\u200bCRET-${String(++marked)}` },
        { type: "input_text", text: `of base64: ${base64(`the word is ${mark()}`)}` },
        { type: "input_text", text: `over a seam SEC` },
        { type: "input_text", text: `RET-${String(++marked)}` },
        { type: "input_file", filename: `${mark()}.txt`, file_data: "data:text/plain;base64,QUFB" },
        { type: "input_file", file_url: `https://a.example/${mark()}.pdf` },
        { type: "input_image", image_url: `https://a.example/${mark()}.png` },
      ],
    },
    {
      role: "assistant",
      content: [
        {
          type: "output_text",
          text: mark(),
          annotations: [
            { type: "url_citation", url: `https://a.example/${mark()}`, title: mark(), start_index: 0, end_index: 1 },
          ],
        },
        { type: "refusal", refusal: mark() },
      ],
    },
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: mark() }],
      content: [{ type: "reasoning_text", text: mark() }],
    },
    {
      type: "function_call",
      call_id: "c1",
      name: "find",
      arguments: `{"a":"${mark()}","${mark()}":{"b":["\\u0053ECRET-${++marked}"]}}`,
    },
    { type: "function_call_output", call_id: "c1", output: mark() },
    { type: "function_call", call_id: "c2", name: "find", arguments: `not JSON ${mark()}` },
    { type: "function_call_output", call_id: "c2", output: `{"found":"${mark()}"}` },
    { type: "function_call", call_id: "c3", name: "find", arguments: "{}" },
    { type: "function_call_output", call_id: "c3", output: [{ type: "input_text", text: mark() }] },
    { type: "custom_tool_call", call_id: "c4", name: "write", input: mark() },
    { type: "custom_tool_call_output", call_id: "c4", output: mark() },
    { type: "apply_patch_call", call_id: "c5", operation: { type: "update_file", path: mark(), diff: `+${mark()}` } },
    { type: "apply_patch_call_output", call_id: "c5", status: "failed", output: mark() },
    { type: "shell_call", call_id: "c6", action: { commands: [`cat ${mark()}`] } },
    {
      type: "shell_call_output",
      call_id: "c6",
      output: [{ stdout: mark(), stderr: mark(), outcome: { type: "exit", exit_code: 0 } }],
    },
    { type: "mcp_call", id: "mcp_1", server_label: "s", name: "n", arguments: `{"q":"${mark()}"}`, output: mark() },
    { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: mark() } },
  ],
};

/** Fields common to all formats. */
const ordinary = {
  instructions: mark(),
  tools: [everywhere.tools[0]],
  input: everywhere.input.filter((item) =>
    "role" in item ? item.role !== "user" : item.type.startsWith("function_call"),
  ),
};

let upstream: Upstream;
/** A provider that refuses every request and quotes it. */
let quoting: Server;
let collector: Collector;
let installation: Installation;
let client: Client;

beforeAll(async () => {
  upstream = await startUpstream();
  quoting = createServer((request, response) => void quote(request, response)).listen(0, "127.0.0.1");
  await once(quoting, "listening");
  collector = await startCollector();
  const url = `${upstream.url}/v1`;
  installation = await startInstallation({
    config: `
providers:
  - {id: responses, dialect: responses, base_url: "${url}", passes: [chat_template_kwargs]}
  - {id: chat, dialect: chat, base_url: "${url}"}
  - {id: messages, dialect: messages, base_url: "${url}"}
  - {id: quoting, dialect: responses, base_url: "http://127.0.0.1:${(quoting.address() as AddressInfo).port}/v1"}
models:
  - {id: acme/responses, input_modalities: [text, image, file], endpoints: [{provider: responses}]}
  - {id: acme/chat, endpoints: [{provider: chat}]}
  - {id: acme/messages, endpoints: [{provider: messages}]}
  - {id: acme/quoting, input_modalities: [text, image, file], endpoints: [{provider: quoting}]}
tracing: {content: true}
`,
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    },
  });
  client = dial(`127.0.0.1:${installation.ports.inference}`);
  const made = await installation.admin("guardrails", "create", "--name", "g", "--redact", marker.source, "--json");
  const { id } = JSON.parse(made.stdout) as { id: string };
  await installation.admin("guardrails", "assign", id, hashKey(installation.apiKey));
  await installation.admin("keys", "update", hashKey(installation.apiKey), "--trace-content");
});
afterAll(async () => {
  client?.close();
  await installation?.stop();
  await collector?.stop();
  await upstream?.stop();
  quoting?.close();
});
beforeEach(() => upstream.script([responsesAnswer()]));

async function quote(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await request.toArray()).join("");
  response.writeHead(400, { "content-type": "application/json" });
  response.end(
    JSON.stringify({ error: { message: `not understood: ${body.slice(0, 200)}`, type: "invalid_request_error" } }),
  );
}

const post = async (path: string, body: object) => {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "X-Service-Metadata": "enabled",
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
};

const sent = () => upstream.requests.map(({ path, headers, body }) => JSON.stringify([path, headers, body])).join("\n");

/** All files of the installation, including its logs and stored calls. */
function kept(folder = installation.dataDir): string {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .map((path) => (statSync(path).isDirectory() ? kept(path) : readFileSync(path, "latin1")))
    .join("\n");
}

function expectNothing(text: string): void {
  expect(text).not.toMatch(marker);
  // The base64 form of the text is absent, too.
  expect(text).not.toContain(base64("the word is").slice(0, 12));
}

describe("a redacted word in forty places of a request", () => {
  test("goes to no provider, and into no log, metric or file", async () => {
    expect(marked).toBeGreaterThanOrEqual(40);
    const { status, text } = await post("/responses", { ...everywhere, model: "acme/responses" });
    expect([status, text]).toEqual([200, expect.stringContaining('"status":"completed"')]);
    const { pipeline } = (JSON.parse(text) as { service_metadata: { pipeline: object[] } }).service_metadata;
    expect(pipeline).toMatchObject([{ data: { action: "redacted", patterns: [marker.source] } }]);
    expectNothing(sent());
    expect(sent().match(/\[REDACTED\]/g)?.length).toBeGreaterThanOrEqual(40);
    await installation.allLogged();
    expectNothing(kept());
    expectNothing(await scrape(installation));
  });

  test("is in no trace with content", async () => {
    expect(await post("/responses", { ...everywhere, model: "acme/responses" })).toMatchObject({ status: 200 });
    await eventually(() => collector.spans.some(({ attributes }) => "gen_ai.input.messages" in attributes));
    const traces = collector.bodies.join("\n");
    expect(traces.match(/\[REDACTED\]/g)?.length).toBeGreaterThanOrEqual(20);
    expectNothing(traces);
  });

  test.each([
    ["acme/chat", () => chatAnswer({ role: "assistant", content: "Hi" })],
    [
      "acme/messages",
      () => ({
        chunks: [
          {
            json: {
              id: "msg_1",
              type: "message",
              role: "assistant",
              content: [{ type: "text", text: "Hi" }],
              stop_reason: "end_turn",
              usage: { input_tokens: 1, output_tokens: 1 },
            },
          },
        ],
      }),
    ],
  ])("goes to no provider of another format: %s", async (model, reply) => {
    upstream.script([reply()]);
    const before = upstream.requests.length;
    expect(await post("/responses", { ...ordinary, model })).toMatchObject({ status: 200 });
    expect(upstream.requests.length).toBe(before + 1);
    expectNothing(sent());
  });

  test("is in no error of a provider that quotes the request", async () => {
    const { status, text } = await post("/responses", { ...everywhere, model: "acme/quoting" });
    expect([status, text]).toEqual([400, expect.stringContaining("[REDACTED]")]);
    expectNothing(text);
    await installation.allLogged();
    expectNothing(kept());
  });

  test("goes to no provider over gRPC", async () => {
    const { input, tools, instructions } = everywhere;
    const request = turnRequest("acme/responses", input, {
      toolsJson: Buffer.from(JSON.stringify(tools)),
      instructions,
    });
    await runTurn(client, installation.apiKey, request).over;
    expectNothing(sent());
  });

  test("is not in the provider's body shown by a dry run", async () => {
    const { status, text } = await post("/responses/dry-run", {
      ...everywhere,
      model: "acme/responses",
      stream: true,
      debug: { echo_upstream_body: true },
    });
    expect(status).toBe(200);
    expectNothing(text);
    expect(JSON.parse(text)).toMatchObject({
      blocked: false,
      guardrails: [{ guardrail_scope: "api-key", decision: "redacted" }],
      // A server of no known vendor gets the instructions and the first messages of the system as one.
      upstream_body: { instructions: "Keep [REDACTED] to yourself\n\n[REDACTED]\n\n[REDACTED]" },
    });
  });
});
