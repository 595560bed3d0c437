/** Built-in tools of Sluice, over HTTP: the agent loop as clients see it. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import OpenAI from "openai";
import { fetchGeneration } from "../../support/providers/generation.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { samplesOf, scrape } from "../../support/metrics.ts";
import { validateError, validateEvents, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { textReply, callReply, callReplyStream } from "../../support/tool-replies.ts";
import {
  type Reply,
  type Upstream,
  chatStream,
  responsesAnswer,
  startUpstream,
} from "../../support/providers/upstream.ts";

let acme: Upstream;
let vendor: Upstream;
let installation: Installation;

beforeAll(async () => {
  acme = await startUpstream();
  vendor = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: vendor, name: Vendor, dialect: responses, base_url: "${vendor.url}/v1"}
models:
  - {id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}
  - {id: vendor/large, endpoints: [{provider: vendor, pricing: {prompt: "1", completion: "2"}}]}
compat: {tool_type_aliases: ["vendor:"]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([acme?.stop(), vendor?.stop()]);
});

const datetime = { type: "service:datetime", parameters: { timezone: "Europe/Oslo" } };
const weather = { type: "function", name: "weather", parameters: { type: "object", properties: {} } };

const sendRequest = (body: object = {}, path = "/responses", signal?: AbortSignal) =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "acme/large", input: "What day is it?", tools: [datetime], ...body }),
    ...(signal && { signal }),
  });

const functionCall = {
  id: "fc_1",
  type: "function_call",
  call_id: "call_1",
  name: "service_datetime",
  arguments: "{}",
};
const said = { id: "msg_1", type: "message", role: "assistant", status: "completed" };
const message = { ...said, content: [{ type: "output_text", text: "It is Friday.", annotations: [], logprobs: [] }] };
const usage = { input_tokens: 12, output_tokens: 3, total_tokens: 15 };

/** A stream with one item, announced and in its end. */
const vendorStream = (item: object): Reply => {
  const response = { id: "resp_1", object: "response", status: "completed", output: [item], usage };
  const events = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ];
  return { chunks: [{ sse: events }] };
};

const ofBoth = [
  {
    model: "acme/large",
    upstream: () => acme,
    whole: [callReply({}), textReply("It is Friday.")],
    stream: [callReplyStream("", {}), chatStream("It is ", "Friday.")],
  },
  {
    model: "vendor/large",
    upstream: () => vendor,
    whole: [responsesAnswer(functionCall), responsesAnswer(message)],
    stream: [vendorStream(functionCall), vendorStream(message)],
  },
] as const;

describe.each(ofBoth)("a server tool with $model", ({ model, upstream, whole, stream }) => {
  test("gives one object as its answer", async () => {
    upstream().script(whole);
    const response = await sendRequest({ model });
    const body: unknown = await response.json();
    expect([response.status, validateResponse(body)]).toEqual([200, []]);
    expect(body).toMatchObject({
      status: "completed",
      output: [
        {
          type: "service:datetime",
          status: "completed",
          timezone: "Europe/Oslo",
          datetime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00$/),
        },
        { type: "message", content: [{ text: "It is Friday." }] },
      ],
      tools: [datetime],
      usage: { server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1 } },
      service_metadata: {
        attempt: 2,
        pipeline: [
          {
            type: "server_tools",
            data: { mode: "sdk", tools: ["service:datetime"], steps: 1, stop_reason: "answer" },
          },
        ],
      },
    });
  });

  test("gives a stream as its answer", async () => {
    upstream().script(stream);
    const response = await sendRequest({ model, stream: true });
    const answer = parseSse(await response.text());
    expect([response.status, validateEvents(answer.events)]).toEqual([200, []]);
    expect(checkLadder(answer, true).output.map(({ type }) => type)).toEqual(["service:datetime", "message"]);
    expect(answer.events.filter(({ type }) => type.startsWith("response.output_item"))).toMatchObject([
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "service:datetime", status: "in_progress" },
      },
      { type: "response.output_item.done", output_index: 0, item: { type: "service:datetime", status: "completed" } },
      { type: "response.output_item.added", output_index: 1 },
      { type: "response.output_item.done", output_index: 1 },
    ]);
    expect(answer.events.at(-1)).toMatchObject({
      response: { usage: { server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1 } } },
    });
    const [first, second] = upstream().requests.slice(-2);
    expect(first?.body).toContain("service_datetime");
    expect(second?.body).toContain("Europe/Oslo");
  });
});

test("all model calls of a turn with server tools are billed, and each of them is in the ledger", async () => {
  acme.script(ofBoth[0].whole);
  const response = await sendRequest();
  const body = (await response.json()) as { usage: object };
  expect(body.usage).toMatchObject({ input_tokens: 24, output_tokens: 6, cost: 0.000036 });
  const generation = await fetchGeneration(installation, response, { isWhole: (calls) => calls.length > 1 });
  expect(generation).toMatchObject({ total_cost: 0.000036, provider_responses: [{}, {}] });
});

test("the openai client goes through a conversation with server tools and its own tools", async () => {
  const client = new OpenAI({ baseURL: installation.baseUrl, apiKey: installation.apiKey, maxRetries: 0 });
  acme.script([
    callReplyStream("Let me look. ", {}, { name: "weather" }),
    callReplyStream("", { args: { timezone: "Asia/Tokyo" } }),
    chatStream("Friday, ", "and sunny."),
  ]);
  const tools = [datetime, weather] as unknown as OpenAI.Responses.Tool[];
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "What day is it, and is it warm?" }];
  const first = await client.responses.stream({ model: "acme/large", input, tools }).finalResponse();
  const types = first.output.map(({ type }) => type as string);
  expect([first.status, types]).toEqual(["completed", ["message", "service:datetime", "function_call"]]);
  const call = first.output.at(-1) as OpenAI.Responses.ResponseFunctionToolCall;
  input.push(...(first.output as OpenAI.Responses.ResponseInputItem[]));
  input.push({ type: "function_call_output", call_id: call.call_id, output: "sunny" });
  const second = await client.responses.stream({ model: "acme/large", input, tools }).finalResponse();
  expect([second.status, second.output_text]).toEqual(["completed", "Friday, and sunny."]);
  const sent = acme.requests.at(-1)?.json as unknown as { messages: { role: string; tool_calls?: unknown[] }[] };
  const calls = sent.messages.flatMap(({ tool_calls = [] }) => tool_calls) as { function: { name: string } }[];
  expect(calls.map(({ function: { name } }) => name)).toEqual(["service_datetime", "weather", "service_datetime"]);
});

test("items of a server tool are spelled as in the request", async () => {
  acme.script(ofBoth[0].whole);
  const response = await sendRequest({ tools: [{ type: "vendor:datetime" }] });
  expect(await response.json()).toMatchObject({ output: [{ type: "vendor:datetime" }, {}] });
});

describe("a request with a wrong server tool", () => {
  test.each([
    [{ tools: [{ type: "service:datetime", parameters: { timezone: "Mars/Base" } }] }, "tools.0.parameters.timezone"],
    [{ tools: [{ type: "service:search_models", parameters: { max_results: 21 } }] }, "tools.0.parameters.max_results"],
    [{ tools: [datetime, { type: "service:shell" }] }, "tools.1"],
    [{ tools: [{ type: "service:subagent", parameters: { model: "acme/none" } }] }, "tools.0.parameters.model"],
    [{ tools: [datetime, { type: "service:image_generation" }] }, "tools.1.parameters.model"],
    [{ tools: [{ ...weather, defer_loading: true }, datetime] }, "tools.0.defer_loading"],
    [{ max_tool_calls: 31 }, "max_tool_calls"],
    [{ stop_server_tools_when: [{ type: "step_count_is", step_count: 0 }] }, "stop_server_tools_when.0.step_count"],
  ])("is refused before any call with the wrong field of %j", async (body, param) => {
    const before = acme.requests.length;
    const response = await sendRequest(body);
    const error: unknown = await response.json();
    expect([response.status, validateError(400, error)]).toEqual([400, []]);
    expect(error).toMatchObject({ error: { metadata: { param } } });
    expect(acme.requests).toHaveLength(before);
  });
});

test.each([
  [{ max_tool_calls: 1 }, "max_tool_calls"],
  [{ max_tool_calls: 31, stop_server_tools_when: { type: "step_count_is", step_count: 1 } }, "step_count_is"],
  [{ stop_server_tools_when: [{ type: "max_cost", max_cost_in_dollars: 0.00003 }] }, "max_cost"],
])("the stop condition %j stops the server tools, and one more answer follows", async (body, reason) => {
  acme.script([callReply({}), textReply("It is Friday.")]);
  const response = await sendRequest(body);
  expect(await response.json()).toMatchObject({
    status: "completed",
    output: [{ type: "service:datetime" }, { type: "message" }],
    service_metadata: { pipeline: [{ data: { steps: 1, stop_reason: reason } }] },
  });
  expect(acme.requests.at(-1)?.json).toMatchObject({ tool_choice: "none" });
});

test("a cost limit that is not reached stops no server tool", async () => {
  acme.script([callReply({}), callReply({ args: { timezone: "Asia/Tokyo" } }), textReply("It is Friday.")]);
  const stop = { type: "max_cost", max_cost_in_dollars: 1 };
  const response = await sendRequest({ stop_server_tools_when: stop });
  expect(await response.json()).toMatchObject({
    service_metadata: { pipeline: [{ data: { steps: 2, stop_reason: "answer" } }] },
  });
});

test("a stream whose provider fails after a tool run ends in response.failed, with the finished items", async () => {
  acme.script([callReplyStream("", {}), { status: 503 }]);
  const response = await sendRequest({ stream: true });
  const { events, done } = parseSse(await response.text());
  expect([response.status, validateEvents(events), done]).toEqual([200, [], true]);
  expect(events.at(-1)).toMatchObject({
    type: "response.failed",
    response: {
      status: "failed",
      error_type: "provider_unavailable",
      output: [{ type: "service:datetime", status: "completed" }],
      usage: { input_tokens: 10, output_tokens: 5 },
    },
  });
});

test("a dry run with server tools shows the first request to the model", async () => {
  const before = acme.requests.length;
  const response = await sendRequest({}, "/responses/dry-run");
  expect([response.status, acme.requests.length]).toEqual([200, before]);
  expect(await response.json()).toMatchObject({
    blocked: false,
    service_metadata: { pipeline: [{ type: "server_tools", data: { stop_reason: "not_run" } }] },
  });
});

test("a client that leaves during a later model call stops the call", async () => {
  acme.script([callReply({}), { hang: true }]);
  const leaving = new AbortController();
  const asked = acme.nextRequest().then(() => acme.nextRequest());
  const left = expect(sendRequest({}, "/responses", leaving.signal)).rejects.toThrow();
  await asked;
  const closed = acme.nextClose();
  leaving.abort();
  await closed;
  await left;
});

test("calls of server tools are counted by tool and outcome", async () => {
  const samples = samplesOf(await scrape(installation)).filter(({ name }) => name === "sluice_server_tool_calls_total");
  expect(samples.map(({ labels: { tool, outcome } }) => [tool, outcome])).toEqual([["service:datetime", "completed"]]);
  expect(samples[0]?.value).toBeGreaterThan(5);
});
