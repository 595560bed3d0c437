/** service/fusion over HTTP: one response of a panel and the model that writes after it, the cost, and the models that may not be called. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type ProviderCall, fetchGeneration } from "../../support/providers/generation.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let panel: Upstream;
let lead: Upstream;
let installation: Installation;

beforeAll(async () => {
  [panel, lead] = await Promise.all([startUpstream(), startUpstream()]);
  installation = await startInstallation({
    config: `
providers:
  - {id: panel, name: Panel, dialect: chat, base_url: "${panel.url}/v1"}
  - {id: lead, name: Lead, dialect: chat, base_url: "${lead.url}/v1"}
models:
  - {id: acme/a, endpoints: [{provider: panel, pricing: {prompt: "1", completion: "2"}}]}
  - {id: acme/b, endpoints: [{provider: panel, pricing: {prompt: "3", completion: "4"}}]}
  - {id: acme/lead, endpoints: [{provider: lead, pricing: {prompt: "5", completion: "6"}}]}
fusion: {presets: {general-high: {analysis_models: [acme/a, acme/b], model: acme/lead}}}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([panel?.stop(), lead?.stop()]);
});

const analysis = { consensus: ["x"], contradictions: [], partial_coverage: [], unique_insights: [], blind_spots: [] };
const compares = chatAnswer({ role: "assistant", content: JSON.stringify(analysis) });

beforeEach(() => {
  panel.script([chatAnswer({ role: "assistant", content: "A part." })]);
  lead.script([compares, chatAnswer({ role: "assistant", content: "The whole." })]);
});

const post = (body: object, path = "") =>
  fetch(`${installation.baseUrl}/responses${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "service/fusion", input: "Which engine?", ...body }),
  });

interface Told {
  readonly usage: { readonly cost: number };
  readonly [field: string]: unknown;
}

/** Both calls to the writing model are on record; they end last. */
const isWhole = (calls: readonly ProviderCall[]) =>
  calls.filter(({ provider_name: name }) => name === "lead").length === 2;

test("a fusion response has an item for the panel, the answer, and the cost of all four calls", async () => {
  const response = await post({});
  const body = (await response.json()) as Told;
  expect([response.status, body]).toMatchObject([
    200,
    {
      status: "completed",
      model: "acme/lead",
      output: [
        {
          type: "service:fusion",
          status: "completed",
          responses: [
            { model: "acme/a", content: "A part." },
            { model: "acme/b", content: "A part." },
          ],
          failed_models: [],
          analysis,
          sources: [],
        },
        { type: "message", content: [{ text: "The whole." }] },
      ],
      service_metadata: {
        requested: "service/fusion",
        strategy: "fusion",
        pipeline: [
          {
            type: "plugin",
            name: "fusion",
            summary: "2 of 2 answered, compared",
            data: { tools_left_out: expect.any(Array) },
          },
        ],
      },
    },
  ]);
  const data = await fetchGeneration(installation, response, { isWhole });
  expect(data).toMatchObject({ model: "acme/lead", total_cost: body.usage.cost, usage: body.usage.cost });
});

test("a fusion stream shows the panel's progress, in the order of every stream", async () => {
  panel.script([chatStream("A ", "part."), { status: 429 }]);
  lead.script([compares, chatStream("The ", "whole.")]);
  const response = await post({ stream: true });
  const stream = parseSse(await response.text());
  checkLadder(stream, true);
  const { events } = stream;
  const types = events.map(({ type }) => type);
  expect(types.slice(0, 6)).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.fusion_call.in_progress",
    "response.fusion_call.panel.added",
    "response.fusion_call.panel.added",
  ]);
  expect(types.filter((type) => type === "response.fusion_call.panel.failed")).toHaveLength(1);
  expect(types.filter((type) => type === "response.fusion_call.completed")).toHaveLength(1);
  const { response: whole } = events.at(-1) as unknown as { response: Told };
  expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { status: "completed" } });
  const data = await fetchGeneration(installation, response, { isWhole });
  expect(data["total_cost"]).toBe(whole.usage.cost);
});

test("a failing model after the fusion panel is a non-retryable 502, and in a stream response.failed", async () => {
  lead.script([compares, { status: 500, chunks: [{ json: {} }] }]);
  const response = await post({});
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([502, "false"]);
  panel.script([chatStream("A part.")]);
  lead.script([compares, { status: 500, chunks: [{ json: {} }] }]);
  const { events } = parseSse(await (await post({ stream: true })).text());
  expect(events.at(-1)).toMatchObject({ type: "response.failed" });
  expect(events.filter(({ type }) => type === "response.failed")).toHaveLength(1);
});

test.each([
  [{ analysis_models: Array.from({ length: 8 }, () => "acme/a") }, undefined],
  [{ analysis_models: Array.from({ length: 9 }, () => "acme/a") }, /plugins\.0\.analysis_models.*8/],
  [{ analysis_models: [] }, /plugins\.0\.analysis_models.*1/],
  [{ max_tool_calls: 1 }, undefined],
  [{ max_tool_calls: 0 }, /plugins\.0\.max_tool_calls.*1/],
  [{ max_tool_calls: 16 }, undefined],
  [{ max_tool_calls: 17 }, /plugins\.0\.max_tool_calls.*16/],
  [{ preset: "general-slow" }, /plugins\.0\.preset/],
  [{ preset: "general-budget" }, /fusion\.presets\.general-budget/],
  [{ preset: "general-budget", enabled: false }, undefined],
  [{ tools: Array.from({ length: 8 }, () => ({ type: "service:datetime" })) }, undefined],
  [{ tools: Array.from({ length: 9 }, () => ({ type: "service:datetime" })) }, /plugins\.0\.tools.*8/],
  [{ tools: [{ parameters: {} }] }, /plugins\.0\.tools\.0\.type/],
  [{ tools: [{ type: "service:fusion" }] }, /service:fusion cannot be used within fusion/],
])("fusion settings %j are accepted or refused by their limits", async (settings, refusal) => {
  const response = await post({ plugins: [{ id: "fusion", ...settings }] }, "/dry-run");
  const { error } = (await response.json()) as { error: { message: string } | null };
  expect([response.status, error?.message]).toEqual(
    refusal === undefined ? [200, undefined] : [400, expect.stringMatching(refusal)],
  );
});
