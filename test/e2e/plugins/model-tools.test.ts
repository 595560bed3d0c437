/** Server tools that call models, over HTTP: what clients get of the calls, and what the ledger records. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type ProviderCall, fetchGeneration } from "../../support/providers/generation.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { validateEvents, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { textReply, callReply, callReplyStream } from "../../support/tool-replies.ts";
import { type Upstream, chatAnswer, chatChunk, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let outer: Upstream;
let other: Upstream;
let installation: Installation;

beforeAll(async () => {
  [outer, other] = await Promise.all([startUpstream(), startUpstream()]);
  installation = await startInstallation({
    config: `
providers:
  - {id: outer, name: Outer, dialect: chat, base_url: "${outer.url}/v1"}
  - {id: other, name: Other, dialect: chat, base_url: "${other.url}/v1"}
models:
  - {id: acme/outer, endpoints: [{provider: outer, pricing: {prompt: "1", completion: "2"}}]}
  - {id: acme/other, endpoints: [{provider: other, pricing: {prompt: "3", completion: "4"}}]}
  - {id: acme/painter, output_modalities: [image], endpoints: [{provider: other, pricing: {prompt: "3", completion: "4", image_output: "0.04"}}]}
internal_models: {advisor: {model: acme/other}, image: {model: acme/painter}}
compat: {tool_type_aliases: ["vendor:"]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([outer?.stop(), other?.stop()]);
});

const post = (body: object, path = "/responses") =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "acme/outer", input: "Which engine?", ...body }),
  });

interface Told {
  readonly output: Record<string, unknown>[];
  readonly usage: { readonly cost: number };
}

const isWhole = (calls: readonly ProviderCall[]) => calls.length === 3;
const asks = { name: "service_advisor", args: { prompt: "LSM?" } };

test("an advisor's answer is an item of the response, a stage of its receipt, and a call of its record", async () => {
  outer.script([callReply(asks), textReply("An LSM tree.")]);
  other.script([textReply("Take LSM.")]);
  const response = await post({ tools: [{ type: "service:advisor" }] });
  const body = (await response.json()) as Told;
  expect([response.status, validateResponse(body)]).toEqual([200, []]);
  expect(body).toMatchObject({
    output: [{ type: "service:advisor", status: "completed", advice: "Take LSM." }, { type: "message" }],
    usage: { server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1 } },
    service_metadata: {
      pipeline: [
        { type: "server_tools", name: "advisor", data: { model: "acme/other", outcome: "answered" } },
        { type: "server_tools", name: "server-tools" },
      ],
    },
  });
  const { total_cost: cost, provider_responses: calls } = await fetchGeneration(installation, response, { isWhole });
  expect([cost, calls.map(({ provider_name: name }) => name).toSorted()]).toEqual([
    body.usage.cost,
    ["other", "outer", "outer"],
  ]);
});

test("an advisor's answer streams within its item, and is sent back unchanged", async () => {
  outer.script([callReplyStream("", asks), chatStream("An LSM tree.")]);
  other.script([chatStream("Take ", "LSM.")]);
  const tools = [{ type: "vendor:advisor", parameters: { stream: true } }];
  const stream = parseSse(await (await post({ tools, stream: true })).text());
  checkLadder(stream, true);
  expect(validateEvents(stream.events)).toEqual([]);
  const { output } = (stream.events.at(-1) as unknown as { response: Told }).response;
  expect(output).toMatchObject([{ type: "vendor:advisor", advice: "Take LSM." }, { type: "message" }]);
  const ofItem = stream.events.filter((event) => (event as { item_id?: unknown }).item_id === output[0]?.["id"]);
  expect(ofItem.map(({ type }) => type.replace("response.output_text.", "")).slice(-1)).toEqual(["done"]);
  outer.script([textReply("Still.")]);
  const again = await post({ tools, input: [...output, { role: "user", content: "Sure?" }] });
  expect(again.status).toBe(200);
  expect(outer.requests.at(-1)?.body).toContain("Take LSM.");
});

const delegates = { name: "service_subagent", args: { task_name: "LSM", task_description: "LSM or B-tree?" } };
const grep = {
  type: "function",
  name: "grep",
  parameters: { type: "object", properties: { word: { type: "string" } } },
};

test("the report of a subagent is an item of the response, and its model call is in the record", async () => {
  outer.script([callReply(delegates), textReply("An LSM tree.")]);
  other.script([textReply("LSM wins.")]);
  const response = await post({ tools: [{ type: "vendor:subagent", parameters: { model: "acme/other" } }] });
  const body = (await response.json()) as Told;
  expect([response.status, validateResponse(body)]).toEqual([200, []]);
  expect(body.output).toMatchObject([{ type: "vendor:subagent", outcome: "LSM wins." }, { type: "message" }]);
  const { total_cost: cost, provider_responses: calls } = await fetchGeneration(installation, response, { isWhole });
  expect([cost, calls.map(({ provider_name: name }) => name).toSorted()]).toEqual([
    body.usage.cost,
    ["other", "outer", "outer"],
  ]);
});

test("a subagent that needs the client streams as an open item, and a later request resumes it", async () => {
  const asksClient = { name: "grep", args: { word: "LSM" }, id: "g0" };
  const tools = [{ type: "vendor:subagent", parameters: { model: "acme/other", inherit_functions: true } }, grep];
  outer.script([callReplyStream("", delegates)]);
  other.script([callReplyStream("", asksClient)]);
  const stream = parseSse(await (await post({ tools, stream: true })).text());
  checkLadder(stream, true);
  expect(validateEvents(stream.events)).toEqual([]);
  const { output } = (stream.events.at(-1) as unknown as { response: Told }).response;
  expect(output).toMatchObject([
    { type: "vendor:subagent", status: "in_progress", task_name: "LSM" },
    { type: "function_call", name: "grep", subagent_items: [{ type: "compaction" }] },
  ]);
  const ended = stream.events.filter(({ type }) => type === "response.output_item.done");
  expect(ended.map((event) => (event as unknown as { item: { type: string } }).item.type)).toEqual(["function_call"]);
  const answer = { type: "function_call_output", call_id: output[1]?.["call_id"], output: "3 hits" };
  const input = [{ role: "user", content: "Which engine?" }, ...output, answer];
  // The subagent may wait for the client once more: then no other model is called.
  other.script([callReply({ ...asksClient, args: { word: "B-tree" } })]);
  const before = outer.requests.length;
  const second = await post({ tools, input });
  const waits = (await second.json()) as Told;
  expect([second.status, validateResponse(waits), outer.requests.length]).toEqual([200, [], before]);
  expect((await fetchGeneration(installation, second, { isWhole: ({ length }) => length === 1 })).total_cost).toBe(
    waits.usage.cost,
  );
  other.script([textReply("LSM wins.")]);
  outer.script([textReply("An LSM tree.")]);
  const further = { ...answer, call_id: waits.output[1]?.["call_id"], output: "no hits" };
  const third = await post({ tools, input: [...input, ...waits.output, further] });
  const body = (await third.json()) as Told;
  expect([third.status, validateResponse(body)]).toEqual([200, []]);
  expect(body.output).toMatchObject([{ type: "vendor:subagent", outcome: "LSM wins." }, { type: "message" }]);
  const forged = [{ type: "compaction", encrypted_content: "sluice:subagent:AAAA" }];
  const refused = await post({
    tools,
    input: input.map((item) => ("subagent_items" in item ? { ...item, subagent_items: forged } : item)),
  });
  expect(refused.status).toBe(400);
});

test("an image from an image model is an item of the response, and a call of its record", async () => {
  const png = `iVBORw0KGgo${"A".repeat(40)}=`;
  const images = [{ type: "image_url", image_url: { url: `data:image/png;base64,${png}` } }];
  const paints = { name: "service_image_generation", args: { prompt: "A cube" } };
  outer.script([callReply(paints), textReply("Here.")]);
  other.script([chatAnswer({ role: "assistant", content: "", images })]);
  const response = await post({ tools: [{ type: "vendor:image_generation" }] });
  const body = (await response.json()) as Told;
  expect([response.status, validateResponse(body)]).toEqual([200, []]);
  expect(body.output).toMatchObject([{ type: "vendor:image_generation", result: png }, { type: "message" }]);
  expect((await fetchGeneration(installation, response, { isWhole })).total_cost).toBe(body.usage.cost);
  outer.script([callReplyStream("", { ...paints, name: "image_generation" }), chatStream("Here.")]);
  other.script([{ chunks: [{ sse: [chatChunk({ images }), chatChunk({}, "stop"), "[DONE]"] }] }]);
  const stream = parseSse(await (await post({ tools: [{ type: "image_generation" }], stream: true })).text());
  checkLadder(stream, true);
  expect(validateEvents(stream.events)).toEqual([]);
  const { output } = (stream.events.at(-1) as unknown as { response: Told }).response;
  expect(output).toMatchObject([{ type: "image_generation_call", result: png }, { type: "message" }]);
});

test.each([
  [[{ type: "service:advisor" }, { type: "service:subagent" }, { type: "service:image_generation" }], undefined],
  [
    [{ type: "service:advisor", parameters: { model: "acme/none" } }],
    /tools\.0\.parameters\.model: no model is called acme\/none/,
  ],
  [[{ type: "service:image_generation", parameters: { model: "acme/other" } }], /acme\/other gives no images/],
  [
    [{ type: "service:subagent", parameters: { tools: [{ type: "service:advisor" }] } }],
    /service:advisor is not available to subagents of this model/,
  ],
  [
    [{ type: "mcp", server_label: "s", server_url: "https://mcp.example" }],
    /https:\/\/mcp\.example is not among the MCP servers that may be called; the operator allows its origin in mcp\.allow/,
  ],
])("a dry run with model tools calls no model, and shows the refusal: %j", async (tools, refusal) => {
  const before = outer.requests.length + other.requests.length;
  const { error } = (await (await post({ tools }, "/responses/dry-run")).json()) as {
    error: { message: string } | null;
  };
  expect(error?.message).toEqual(refusal === undefined ? undefined : expect.stringMatching(refusal));
  expect(outer.requests.length + other.requests.length).toBe(before);
});
