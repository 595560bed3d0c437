/** service:fusion over HTTP: a model that consults a panel while it answers, as clients see it. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type ProviderCall, fetchGeneration } from "../../support/providers/generation.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { validateEvents, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { textReply, callReply, callReplyStream } from "../../support/tool-replies.ts";
import {
  type Received,
  type Upstream,
  chatChunk,
  chatStream,
  startUpstream,
} from "../../support/providers/upstream.ts";

let panel: Upstream;
let lead: Upstream;
let outer: Upstream;
let installation: Installation;

beforeAll(async () => {
  [panel, lead, outer] = await Promise.all([startUpstream(), startUpstream(), startUpstream()]);
  installation = await startInstallation({
    config: `
providers:
  - {id: panel, name: Panel, dialect: chat, base_url: "${panel.url}/v1"}
  - {id: lead, name: Lead, dialect: chat, base_url: "${lead.url}/v1"}
  - {id: outer, name: Outer, dialect: chat, base_url: "${outer.url}/v1"}
models:
  - {id: acme/a, endpoints: [{provider: panel, pricing: {prompt: "1", completion: "2"}}]}
  - {id: acme/b, endpoints: [{provider: panel, pricing: {prompt: "3", completion: "4"}}]}
  - {id: acme/lead, endpoints: [{provider: lead, pricing: {prompt: "5", completion: "6"}}]}
  - {id: acme/outer, endpoints: [{provider: outer, pricing: {prompt: "7", completion: "8"}}]}
fusion: {presets: {general-high: {analysis_models: [acme/a, acme/b], model: acme/lead}, general-fast: {analysis_models: [acme/b]}}}
compat: {tool_type_aliases: ["vendor:"]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([panel?.stop(), lead?.stop(), outer?.stop()]);
});

const analysis = { consensus: ["x"], contradictions: [], partial_coverage: [], unique_insights: [], blind_spots: [] };
const asksPanel = { name: "service_fusion", args: {} };

beforeEach(() => {
  panel.script([textReply("A part.")]);
  lead.script([textReply(JSON.stringify(analysis))]);
  outer.script([callReply(asksPanel), textReply("The whole.")]);
});

const fusion = { type: "service:fusion" };

const post = (body: object, { path = "", signal }: { path?: string; signal?: AbortSignal } = {}) =>
  fetch(`${installation.baseUrl}/responses${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "acme/outer", input: "Which engine?", tools: [fusion], ...body }),
    ...(signal && { signal }),
  });

interface Told {
  readonly output: Record<string, unknown>[];
  readonly usage: { readonly cost: number };
  readonly [field: string]: unknown;
}

/** Messages of the last request to the outer model. */
const messagesSent = () => (outer.requests.at(-1) as Received).json["messages"] as { readonly content: unknown }[];

/** Both calls to the outer model are on record; one of them ends last. */
const isWhole = (calls: readonly ProviderCall[]) =>
  calls.filter(({ provider_name: name }) => name === "outer").length === 2;

test("a response with the fusion tool has the panel's item, the answer, and the cost of all five calls", async () => {
  const response = await post({});
  const body = (await response.json()) as Told;
  expect([response.status, body]).toMatchObject([
    200,
    {
      status: "completed",
      model: "acme/outer",
      output: [
        {
          type: "service:fusion",
          status: "completed",
          responses: [
            { model: "acme/a", content: "A part." },
            { model: "acme/b", content: "A part." },
          ],
          analysis,
        },
        { type: "message", content: [{ text: "The whole." }] },
      ],
      usage: { server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1 } },
      service_metadata: {
        requested: "acme/outer",
        pipeline: [
          { type: "plugin", name: "fusion", data: { analyst: { model: "acme/lead", outcome: "answered" } } },
          { type: "server_tools", name: "server-tools" },
        ],
      },
    },
  ]);
  expect(validateResponse(body)).toEqual([]);
  const data = await fetchGeneration(installation, response, { isWhole });
  expect(data).toMatchObject({ model: "acme/outer", total_cost: body.usage.cost });
});

test("a stream with the fusion tool shows the panel's progress, in the order of every stream", async () => {
  panel.script([chatStream("A ", "part."), { status: 429 }]);
  outer.script([callReplyStream("", asksPanel), chatStream("The ", "whole.")]);
  const response = await post({ stream: true, tools: [{ type: "vendor:fusion" }] });
  const stream = parseSse(await response.text());
  checkLadder(stream, true);
  const { events } = stream;
  expect(validateEvents(events)).toEqual([]);
  const types = events.map(({ type }) => type.replace("response.", ""));
  expect(types.slice(0, 6)).toEqual([
    "created",
    "in_progress",
    "output_item.added",
    "fusion_call.in_progress",
    "fusion_call.panel.added",
    "fusion_call.panel.added",
  ]);
  const done = types.indexOf("output_item.done");
  expect(types.slice(done - 3, done)).toEqual([
    "fusion_call.analysis.in_progress",
    "fusion_call.analysis.completed",
    "fusion_call.completed",
  ]);
  const { response: whole } = events.at(-1) as unknown as { response: Told };
  expect(whole).toMatchObject({
    status: "completed",
    output: [{ type: "vendor:fusion", failed_models: [{ status_code: 429 }] }, { type: "message" }],
  });
  const data = await fetchGeneration(installation, response, { isWhole });
  expect(data["total_cost"]).toBe(whole.usage.cost);
});

test("the item of a fusion panel is accepted as input in the next request", async () => {
  const { output } = (await (await post({})).json()) as Told;
  const told = messagesSent().at(-1);
  outer.script([textReply("Still.")]);
  const input = [{ role: "user", content: "Which engine?" }, ...output, { role: "user", content: "Sure?" }];
  const response = await post({ input });
  expect(response.status).toBe(200);
  expect(messagesSent()[2]?.content).toBe(told?.content);
});

test.each([
  ["required", "required"],
  [{ type: "service:fusion" }, { type: "function", function: { name: "service_fusion" } }],
  [{ type: "allowed_tools", mode: "required", tools: [{ type: "service:fusion" }] }, undefined],
  ["auto", "auto"],
])("tool_choice %j with the fusion tool holds for the first answer", async (choice, told) => {
  const before = outer.requests.length;
  const response = await post({ tool_choice: choice });
  expect([response.status, ((await response.json()) as Told).output]).toMatchObject([
    200,
    [{ type: "service:fusion", status: "completed" }, { type: "message" }],
  ]);
  const [first, second] = outer.requests.slice(before).map(({ json }) => json["tool_choice"]);
  if (told === undefined) expect(JSON.stringify(first)).toMatch(/required/);
  else expect(first).toEqual(told);
  expect(JSON.stringify(second ?? "auto")).not.toMatch(/required|service_fusion"}}$/);
});

test("tool_choice none calls no fusion panel", async () => {
  outer.script([textReply("Alone.")]);
  const before = panel.requests.length;
  const body = (await (await post({ tool_choice: "none" })).json()) as Told;
  expect(body.output).toMatchObject([{ type: "message" }]);
  expect(panel.requests.length).toBe(before);
});

test.each([
  [{ preset: "general-fast" }, ["acme/b"]],
  [{ analysis_models: ["acme/a"] }, ["acme/a"]],
  [{ analysis_models: ["acme/a"], enabled: false }, ["acme/a", "acme/b"]],
])("the fusion plugin %j decides the panel of the tool", async (settings, models) => {
  const body = (await (await post({ plugins: [{ id: "fusion", ...settings }] })).json()) as Told;
  const responses = body.output[0]?.["responses"] as { model: string }[];
  expect(responses.map(({ model }) => model)).toEqual(models);
});

test.each([
  [{ analysis_models: Array.from({ length: 8 }, () => "acme/a"), max_tool_calls: 16 }, undefined],
  [{ analysis_models: Array.from({ length: 9 }, () => "acme/a") }, /tools\.0\.parameters\.analysis_models.*8/],
  [{ analysis_models: ["acme/none"] }, /tools\.0\.parameters\.analysis_models\.0: no model is called acme\/none/],
  [{ max_tool_calls: 17 }, /tools\.0\.parameters\.max_tool_calls.*16/],
  [{ tools: [{ type: "service:advisor" }] }, /service:advisor cannot be used within fusion/],
])("parameters %j of the fusion tool are accepted or refused by their limits", async (parameters, refusal) => {
  const response = await post({ tools: [{ ...fusion, parameters }] }, { path: "/dry-run" });
  const { error } = (await response.json()) as { error: { message: string } | null };
  expect([response.status, error?.message]).toEqual(
    refusal === undefined ? [200, undefined] : [400, expect.stringMatching(refusal)],
  );
});

test.each([true, false])("a client that leaves ends the calls of the fusion panel, stream: %s", async (stream) => {
  const says = chatChunk({ role: "assistant", content: "A" });
  panel.script([{ chunks: [{ sse: [says] }], hang: true }]);
  outer.script([stream ? callReplyStream("", asksPanel) : callReply(asksPanel)]);
  const left = new AbortController();
  const reached = panel.nextRequest();
  const asking = post({ stream, tools: [{ ...fusion, parameters: { analysis_models: ["acme/a"] } }] }, left).then(
    (response) => response.text(),
  );
  const gone = expect(asking).rejects.toThrow(/abort/i);
  await reached;
  const closed = panel.nextClose();
  left.abort();
  await Promise.all([closed, gone]);
});
