/** service/jev-router over HTTP: the chosen model and effort, and the refusals. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { validateError, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers: [{id: acme, dialect: chat, base_url: "${upstream.url}/v1"}]
models:
  - {id: a/small, scores: {general: 0.1}, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "1"}}]}
  - id: a/thinker
    scores: {general: 0.9}
    endpoints: [{provider: acme, pricing: {prompt: "9", completion: "9"}, supported_parameters: [reasoning]}]
`,
  });
});
beforeEach(() => upstream.script([chatAnswer({ role: "assistant", content: "Hi" })]));
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const post = (body: object) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "service/jev-router", input: "Design a distributed algorithm.", ...body }),
  });
const plugin = (settings: object) => ({ plugins: [{ id: "jev-router", ...settings }] });

test("the answer by the jev router names the serving model, and the receipt the reason", async () => {
  const body = (await (await post(plugin({ cost_tier: "high" }))).json()) as object;
  expect(validateResponse(body)).toEqual([]);
  expect(body).toMatchObject({
    status: "completed",
    model: "a/thinker",
    service_metadata: {
      requested: "service/jev-router",
      strategy: "auto",
      pipeline: [
        {
          type: "plugin",
          name: "jev-router",
          summary: expect.stringMatching(/^a\/thinker, effort (?:low|medium|high)$/),
          data: { resolved_models: ["a/thinker", "a/small"], pipeline: "default", candidates: expect.any(Array) },
        },
      ],
    },
  });
  expect(upstream.requests.at(-1)?.json).toHaveProperty("reasoning_effort");
});

test("a stream is served by the model that the jev router chose, also with a list of models", async () => {
  upstream.script([chatStream("Hi")]);
  const { events } = parseSse(await (await post({ stream: true, ...plugin({ models: ["a/sm*"] }) })).text());
  expect(events[0]).toMatchObject({ type: "response.created", response: { model: "a/small" } });
  expect(events.at(-1)).toMatchObject({
    type: "response.completed",
    response: { model: "a/small", service_metadata: { pipeline: [{ data: { list_tier_cap: "low" } }] } },
  });
});

test.each([
  [plugin({ cost_tier: "xhigh" }), 400, "plugins.0.cost_tier"],
  [plugin({ enabled: true }), 400, "plugins.0.enabled"],
  [{ reasoning: { max_tokens: 1024 } }, 400, "reasoning.max_tokens"],
  [{ reasoning: { mode: "pro" } }, 400, "reasoning.mode"],
  [{ models: ["service/pareto-code"] }, 400, "service/pareto-code"],
  [plugin({ excluded_models: ["*"] }), 404, "excluded_models"],
])("a request to the jev router with the settings %j has the status %d", async (body, status, says) => {
  const response = await post(body);
  const error = (await response.json()) as { error: { message: string } };
  expect([response.status, validateError(status, error), error.error.message]).toEqual([
    status,
    [],
    expect.stringContaining(says),
  ]);
});
