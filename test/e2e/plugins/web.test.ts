/**
 * The plugins web and web-fetch, and the tools of these names, with running services: from the configuration file to citations in a stream and in an
 * object, over HTTP and gRPC.
 */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { PluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { samplesOf, scrape } from "../../support/metrics.ts";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatChunk, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let model: Upstream;
let searching: Upstream;
let site: Upstream;
let installation: Installation;

beforeAll(async () => {
  model = await startUpstream();
  searching = await startUpstream();
  site = await startUpstream();
  installation = await startInstallation({
    config: `
providers: [{id: acme, dialect: chat, base_url: "${model.url}/v1"}]
models: [{id: acme/large, endpoints: [{provider: acme}]}]
search: {engines: {searxng: {base_url: "${searching.url}"}}}
fetch: {allow_private_origins: ["${site.url}"]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([model?.stop(), searching?.stop(), site?.stop()]);
});

const cited = "See [a.test](https://a.test/1).";
beforeEach(() => {
  model.script([chatAnswer({ role: "assistant", content: cited })]);
  searching.script([
    { chunks: [{ json: { results: [{ url: "https://a.test/1", title: "One", content: "It was B." }] } }] },
  ]);
  site.script([{ headers: { "content-type": "text/html" }, chunks: [{ bytes: "<title>Tea</title><p>Tea is hot." }] }]);
});

const post = (body: object) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "acme/large", input: "Who won?", ...body }),
  });
const given = () => model.requests.at(-1)?.body;

const citation = { type: "url_citation", url: "https://a.test/1", title: "One", start_index: 4, end_index: 30 };

test("a web search adds its results to the prompt, the answer cites them, and the receipt lists it", async () => {
  const response = await post({ plugins: [{ id: "web", max_results: 1 }] });
  const answer = (await response.json()) as { output: object[]; service_metadata: { pipeline: object[] } };
  expect(answer.output).toMatchObject([{ content: [{ text: cited, annotations: [citation] }] }]);
  expect(answer.service_metadata.pipeline).toEqual([
    {
      type: "plugin",
      name: "web-search",
      summary: "1 result",
      data: { engine: "searxng", queries: ["Who won?"], results: 1 },
    },
  ]);
  expect(given()).toContain("It was B.");
});

test("in a stream with a web search the citation comes before the text is done", async () => {
  model.script([chatStream("See [a.test](https:", "//a.test/1", ").")]);
  const response = await post({ model: "acme/large:online", stream: true });
  const events = parseSse(await response.text()).events;
  const types = events.map(({ type }) => type);
  const added = events.find(({ type }) => type === "response.output_text.annotation.added");
  expect(added).toMatchObject({ annotation_index: 0, annotation: citation });
  expect(types.indexOf("response.output_text.annotation.added")).toBeLessThan(
    types.indexOf("response.output_text.done"),
  );
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { model: "acme/large", output: [{ content: [{ text: cited, annotations: [citation] }] }] },
  });
});

test("the web plugin reads a page named by the user, and no private address", async () => {
  const response = await post({
    input: `Read ${site.url}/tea and ${installation.baseUrl}/models`,
    plugins: [{ id: "web-fetch" }],
  });
  const answer = (await response.json()) as { service_metadata: { pipeline: object[] } };
  expect(given()).toContain("Tea is hot.");
  expect(given()).toContain("(not read: a port other than 80 and 443)");
  expect(answer.service_metadata.pipeline).toMatchObject([{ name: "web-fetch", data: { urls: 2, read: 1 } }]);
});

test("a model that searches and reads by tools gives one response, with an item for each call", async () => {
  const call = (name: string, args: object) => ({
    id: name,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  });
  const calls = [call("service_web_search", { query: "cup" }), call("service_web_fetch", { url: `${site.url}/tea` })];
  model.script([
    chatAnswer({ role: "assistant", content: null, tool_calls: calls }, "tool_calls"),
    chatAnswer({ role: "assistant", content: cited }),
  ]);
  const tools = [{ type: "service:web_search", parameters: { max_results: 1 } }, { type: "service:web_fetch" }];
  const answer = (await (await post({ tools })).json()) as { output: object[]; usage: object };
  expect(answer.output).toMatchObject([
    { type: "service:web_search", status: "completed", action: { type: "search", query: "cup" } },
    { type: "service:web_fetch", status: "completed", title: "Tea", content: "Tea is hot.", httpStatus: 200 },
    { type: "message", content: [{ annotations: [citation] }] },
  ]);
  expect(answer.usage).toMatchObject({
    server_tool_use_details: { web_search_requests: 1, tool_calls_requested: 2, tool_calls_executed: 2 },
  });
  expect(given()).toContain("It was B.");
});

test("in a stream with a page read by a tool, the page is in its item, and the answer follows", async () => {
  const call = {
    id: "c1",
    type: "function",
    function: { name: "service_web_fetch", arguments: JSON.stringify({ url: `${site.url}/tea` }) },
  };
  model.script([
    { chunks: [{ sse: [chatChunk({ tool_calls: [{ index: 0, ...call }] }), chatChunk({}, "tool_calls"), "[DONE]"] }] },
    chatStream("Tea is ", "hot."),
  ]);
  const response = await post({ tools: [{ type: "service:web_fetch" }], stream: true });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.stringContaining("Tea is hot.")]);
  expect(checkLadder(parseSse(text), true)).toMatchObject({
    status: "completed",
    output: [
      { type: "service:web_fetch", status: "completed", content: "Tea is hot.", httpStatus: 200 },
      { type: "message", content: [{ text: "Tea is hot." }] },
    ],
  });
});

test("a coding agent's web_search that no provider runs streams each step, then the answer with citations", async () => {
  const call = { id: "c1", type: "function", function: { name: "web_search", arguments: '{"query":"cup"}' } };
  model.script([
    { chunks: [{ sse: [chatChunk({ tool_calls: [{ index: 0, ...call }] }), chatChunk({}, "tool_calls"), "[DONE]"] }] },
    chatStream(cited),
  ]);
  const tools = [
    { type: "function", name: "exec_command", parameters: { type: "object", properties: {} } },
    { type: "custom", name: "apply_patch", format: { type: "text" } },
    { type: "web_search", external_web_access: false, search_context_size: "low" },
  ];
  const body = { tools, tool_choice: "auto", parallel_tool_calls: false, store: false, stream: true };
  const include = ["web_search_call.action.sources"];
  const stream = parseSse(await (await post({ ...body, include })).text());
  const steps = stream.events.map(({ type }) => type).filter((type) => type.includes("web_search_call"));
  expect(steps).toEqual(["in_progress", "searching", "completed"].map((step) => `response.web_search_call.${step}`));
  const action = {
    type: "search",
    query: "cup",
    queries: ["cup"],
    sources: [{ type: "url", url: "https://a.test/1" }],
  };
  expect(checkLadder(stream, true)).toMatchObject({
    status: "completed",
    output: [
      { type: "web_search_call", status: "completed", action },
      { type: "message", content: [{ annotations: [citation] }] },
    ],
    usage: { server_tool_use_details: { web_search_requests: 1 } },
    service_metadata: {
      params: {
        not_sent: [{ path: "tools.2.external_web_access", reason: "the search engine searxng does not know it" }],
      },
    },
  });
});

test("the web plugins work over gRPC", async () => {
  const client = dial(`127.0.0.1:${installation.ports.inference}`);
  try {
    const plugins = [create(PluginSchema, { plugin: { case: "webFetch", value: {} } })];
    await runTurn(client, installation.apiKey, turnRequest("acme/large", `Read ${site.url}/tea`, { plugins })).over;
    expect(given()).toContain("Tea is hot.");
  } finally {
    client.close();
  }
});

test("a search engine that is not configured is 400 with its setting in the file", async () => {
  const response = await post({ plugins: [{ id: "web", engine: "exa" }] });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: { code: 400, message: "plugins: web: needs search.engines.exa in the configuration file" },
  });
});

test("requests to the web are counted in metrics", async () => {
  const counts = samplesOf(await scrape(installation)).filter(({ name }) => name === "sluice_web_calls_total");
  const count = (kind: string, outcome: string) =>
    counts.find(({ labels }) => labels["kind"] === kind && labels["outcome"] === outcome)?.value;
  expect([count("search", "answered"), count("fetch", "answered"), count("fetch", "failed")]).toEqual([4, 4, 1]);
});
