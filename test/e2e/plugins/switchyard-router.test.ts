/** service/switchyard over HTTP and its judge: which model serves, in a stream and without, and which text the judge reads. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { validateError, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let acme: Upstream;
let judge: Upstream;
let installation: Installation;

beforeAll(async () => {
  acme = await startUpstream();
  judge = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: judge, dialect: chat, base_url: "${judge.url}/v1"}
models:
  - {id: a/small, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "1"}}]}
  - {id: a/large, endpoints: [{provider: acme, pricing: {prompt: "9", completion: "9"}}]}
  - {id: a/judge, endpoints: [{provider: judge, pricing: {prompt: "1", completion: "1"}}]}
internal_models: {switchyard_judge: {model: a/judge, timeout_ms: 60000, total_ms: 60000}}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([acme?.stop(), judge?.stop()]);
});
beforeEach(() => {
  acme.script([chatAnswer({ role: "assistant", content: "Hi" })]);
  judge.script([forecast(0.9)]);
});

const forecast = (p_solve: number) =>
  chatAnswer({
    content: JSON.stringify({ crux: "x", primary_rule: "S1", capability_boundary: "supported", p_solve }),
  });

const post = (body: object, key = installation.apiKey) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-service-metadata": "enabled" },
    body: JSON.stringify({
      model: "service/switchyard",
      models: ["a/small", "a/large"],
      input: `${Math.random()}`,
      ...body,
    }),
  });

test.each([
  [0.9, "a/small", "efficient"],
  [0.1, "a/large", "capable"],
])("a forecast of %d by the switchyard router means %s, the %s one", async (p_solve, model, tier) => {
  judge.script([forecast(p_solve)]);
  const body = (await (await post({})).json()) as object;
  expect(validateResponse(body)).toEqual([]);
  expect(body).toMatchObject({
    status: "completed",
    model,
    service_metadata: {
      requested: "service/switchyard",
      strategy: "auto",
      endpoints: { available: [{ model, selected: true }, { selected: false }] },
      pipeline: [{ name: "switchyard-router", data: { resolved_to: model, tier, p_solve, judge: "a/judge" } }],
    },
  });
});

test("a stream by the switchyard router names the serving model from its beginning", async () => {
  acme.script([chatStream("Hi")]);
  judge.script([forecast(0.1)]);
  const { events } = parseSse(await (await post({ stream: true })).text());
  expect(events[0]).toMatchObject({ type: "response.created", response: { model: "a/large" } });
  expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { model: "a/large" } });
});

test("the judge of the switchyard router reads redacted text, and a blocked request reaches no provider", async () => {
  const manage = async (path: string, body: object) => {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { key: string; data: { id: string; hash: string } };
  };
  const content_filters = [
    { pattern: "SECRET-\\d", action: "redact", label: "[CODE]" },
    { pattern: "forbidden", action: "block" },
  ];
  const { data: guardrail } = await manage("/guardrails", { name: "g", content_filters });
  const { key, data: record } = await manage("/keys", { name: "k" });
  await manage(`/guardrails/${guardrail.id}/assignments/keys`, { key_hashes: [record.hash] });
  const asked = judge.requests.length;
  expect((await post({ input: "The forbidden one" }, key)).status).toBe(403);
  expect(judge.requests).toHaveLength(asked);
  expect((await post({ input: "The code is SECRET-1." }, key)).status).toBe(200);
  expect(judge.requests.at(-1)?.body).toContain("The code is [CODE].");
  expect([...judge.requests, ...acme.requests].map(({ body }) => body).join("")).not.toContain("SECRET-1");
});

test("unknown candidates of the switchyard router are 400", async () => {
  const response = await post({ models: ["service/auto"] });
  const body = (await response.json()) as object;
  expect([response.status, validateError(400, body)]).toEqual([400, []]);
  expect(body).toMatchObject({ error: { metadata: { param: "models" } } });
});
