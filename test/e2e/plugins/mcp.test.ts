/** `mcp` over HTTP with every dialect that does not run it natively: what clients get, and that credentials are sent only to their server. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { validateEvents, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type McpService, startSessionServer } from "../../support/providers/mcp-servers.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { toolDialects } from "../../support/tool-dialects.ts";

type Dialect = keyof typeof toolDialects;
const dialects = Object.keys(toolDialects) as Dialect[];

let upstream: Upstream;
let server: McpService;
let installation: Installation;

beforeAll(async () => {
  [upstream, server] = await Promise.all([startUpstream(), startSessionServer()]);
  const providers = dialects.map((id) => {
    const { provider, path } = toolDialects[id];
    const keys = id === "converse" ? {} : { api_keys: ["k"] };
    return { id, base_url: `${upstream.url}${path}`, ...keys, ...provider };
  });
  const models = dialects.map((id) => ({ id: `acme/${id}`, endpoints: [{ provider: id }] }));
  const mcp = {
    allow: [new URL(server.url).origin],
    servers: { own: { url: server.url, authorization: "Bearer op_secret" } },
  };
  // The configuration is written as JSON, which is valid YAML.
  installation = await startInstallation({ config: JSON.stringify({ providers, models, mcp }) });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([upstream?.stop(), server?.stop()]);
});

const entry = (fields: object = {}) => ({
  type: "mcp",
  server_label: "crm",
  server_url: server.url,
  require_approval: "never",
  authorization: "tok_secret",
  headers: { "x-secret": "head_secret" },
  ...fields,
});

const post = (body: object, path = "/responses") =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ input: "Say hello.", ...body }),
  });

const called = [
  { type: "mcp_list_tools", server_label: "crm", error: null },
  {
    type: "mcp_call",
    name: "echo",
    server_label: "crm",
    arguments: '{"text":"hi"}',
    output: "You said hi.",
    error: null,
  },
  { type: "message" },
];

test.each(dialects.flatMap((dialect) => [[dialect, false] as const, [dialect, true] as const]))(
  "a model of dialect %s calls a tool of an MCP server (stream: %s)",
  async (dialect, stream) => {
    const { call, say } = toolDialects[dialect];
    upstream.script([call("crm__echo", { text: "hi" }, stream), say("It said hi.", stream)]);
    const response = await post({ model: `acme/${dialect}`, tools: [entry()], stream });
    const text = await response.text();
    expect([response.status, /tok_secret|head_secret/.test(text)]).toEqual([200, false]);
    expect(upstream.requests.at(-1)?.body).toContain("You said hi.");
    expect(/tok_secret|head_secret/.test(upstream.requests.map(({ body }) => body).join())).toBe(false);
    if (!stream) {
      const body = JSON.parse(text) as { output: object[] };
      expect(validateResponse(body)).toEqual([]);
      expect(body).toMatchObject({
        output: called,
        usage: { server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1 } },
        service_metadata: {
          pipeline: [
            { type: "server_tools", name: "mcp", data: { server_label: "crm", listed: "server", count: 4 } },
            { type: "server_tools", name: "server-tools", data: { tools: ["mcp"], steps: 1 } },
          ],
        },
      });
      return;
    }
    const { events } = parseSse(text);
    const answer = checkLadder(parseSse(text), true);
    expect(validateEvents(events)).toEqual([]);
    expect(answer.output).toMatchObject(called);
    const ofMcp = events.map(({ type }) => type).filter((type) => type.includes("mcp"));
    expect(ofMcp).toEqual([
      "response.mcp_list_tools.in_progress",
      "response.mcp_list_tools.completed",
      "response.mcp_call.in_progress",
      "response.mcp_call_arguments.delta",
      "response.mcp_call_arguments.done",
      "response.mcp_call.completed",
    ]);
  },
);

test("the OpenAI library gets an MCP approval request, approves it, and gets the call", async () => {
  const client = new OpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey });
  const { call, say } = toolDialects.chat;
  const tools = [{ type: "mcp", server_label: "own" } as OpenAI.Responses.Tool.Mcp];
  upstream.script([call("own__echo", { text: "hi" }, false), say("It said hi.", false)]);
  const first = await client.responses.create({ model: "acme/chat", input: "Say hello.", tools });
  const request = first.output.find((item) => item.type === "mcp_approval_request");
  expect(request).toMatchObject({ server_label: "own", name: "echo", arguments: '{"text":"hi"}' });
  upstream.script([say("It said hi.", false)]);
  const input: OpenAI.Responses.ResponseInput = [
    { role: "user", content: "Say hello." },
    ...(first.output as OpenAI.Responses.ResponseInput),
    { type: "mcp_approval_response", approval_request_id: request?.id ?? "", approve: true },
  ];
  const second = await client.responses.create({ model: "acme/chat", input, tools });
  expect(second.output).toMatchObject([
    { type: "mcp_call", output: "You said hi.", approval_request_id: request?.id },
    { type: "message" },
  ]);
  expect(second.output_text).toBe("It said hi.");
  expect(server.requests.at(-1)?.headers.authorization).toBe("Bearer op_secret");
});

test("a stream ends with the MCP call awaiting approval, and the next stream begins with it", async () => {
  const { call, say } = toolDialects.chat;
  upstream.script([call("crm__echo", { text: "hi" }, true), say("It said hi.", true)]);
  const body = { model: "acme/chat", tools: [entry({ require_approval: "always" })], stream: true };
  const first = parseSse(await (await post(body)).text());
  const { output } = checkLadder(first, true);
  expect([validateEvents(first.events), output]).toMatchObject([
    [],
    [{ type: "mcp_list_tools" }, { type: "mcp_approval_request", arguments: '{"text":"hi"}' }],
  ]);
  const approval = { type: "mcp_approval_response", approval_request_id: output[1]?.["id"], approve: true };
  upstream.script([say("It said hi.", true)]);
  const input = [{ role: "user", content: "Say hello." }, ...output, approval];
  const second = parseSse(await (await post({ ...body, input })).text());
  expect([validateEvents(second.events), checkLadder(second, true).output]).toMatchObject([
    [],
    [{ type: "mcp_call", output: "You said hi.", approval_request_id: output[1]?.["id"] }, { type: "message" }],
  ]);
});

test("an MCP approval without its request is refused", async () => {
  const input = [{ type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true }];
  const response = await post({ model: "acme/chat", input, tools: [entry()] });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("approval_request_id")]);
});

test("a dry run calls no MCP server", async () => {
  server.requests.splice(0);
  const body = (await (await post({ model: "acme/chat", tools: [entry()] }, "/responses/dry-run")).json()) as object;
  expect(body).toMatchObject({ error: null });
  expect(JSON.stringify(body)).not.toMatch(/tok_secret|head_secret/);
  expect(server.requests).toEqual([]);
});

test("requests to MCP servers are counted", async () => {
  const text = await (await fetch(`http://127.0.0.1:${installation.ports.inference_health}/metrics`)).text();
  expect(text).toMatch(/sluice_mcp_requests_total\{kind="call",outcome="answered",room="inference-svc"\} [1-9]/);
  expect(text).toMatch(/sluice_server_tool_calls_total\{tool="mcp",outcome="completed",room="inference-svc"\} [1-9]/);
});
