/** The plugin `moderation` over HTTP, with a scripted service: the refusals, the moderated text, and the ledger. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { fetchGeneration } from "../../support/providers/generation.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { validateError } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let acme: Upstream;
let guard: Upstream;
let installation: Installation;

beforeAll(async () => {
  acme = await startUpstream();
  guard = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: guard, dialect: responses, base_url: "${guard.url}/v1", api_keys: [secret]}
models: [{id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}]
internal_models: {moderation: {provider: guard, retries: 0}}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([acme?.stop(), guard?.stop()]);
});
beforeEach(() => {
  acme.script([chatAnswer({ role: "assistant", content: "Hi" })]);
  guard.script([looks(false)]);
});

const looks = (flagged: boolean) => ({
  chunks: [{ json: { results: [{ flagged, categories: { violence: flagged }, category_scores: { violence: 0.9 } }] } }],
});

const post = (body: object, key = installation.apiKey, path = "/responses") =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-service-metadata": "enabled" },
    body: JSON.stringify({ model: "acme/large", input: `${Math.random()}`, plugins: [{ id: "moderation" }], ...body }),
  });

test("a clean request is answered after moderation, whole or streamed, at the operator's expense", async () => {
  const response = await post({});
  const { usage } = (await response.json()) as { usage: { cost: number } };
  expect(response.status).toBe(200);
  expect(await fetchGeneration(installation, response)).toMatchObject({
    total_cost: usage.cost,
    provider_responses: [{ provider_name: "acme" }],
  });
  acme.script([chatStream("Hi")]);
  const { events } = parseSse(await (await post({ stream: true })).text());
  expect(events.at(-1)).toMatchObject({ type: "response.completed" });
  expect(guard.requests).toHaveLength(2);
});

test.each([false, true])("a request flagged by moderation is 403, stream: %s", async (stream) => {
  guard.script([looks(true)]);
  const asked = acme.requests.length;
  const input = `${stream} ${"x".repeat(200)}`;
  const response = await post({ input, stream });
  const body = (await response.json()) as object;
  expect([response.status, validateError(403, body)]).toEqual([403, []]);
  expect(body).toMatchObject({
    error: {
      message: "Request blocked by moderation: violence",
      metadata: {
        reasons: ["violence"],
        flagged_input: `${input.slice(0, 50)}\u2026${"x".repeat(49)}`,
        provider_name: "Acme",
        model_slug: "acme/large",
      },
    },
    service_metadata: {
      attempt: 0,
      pipeline: [{ type: "guardrail", name: "moderation", data: { action: "blocked" } }],
    },
  });
  expect(acme.requests).toHaveLength(asked);
});

test("an unavailable moderation is 503, with a retry hint", async () => {
  guard.script([{ status: 500, chunks: [{ json: {} }] }]);
  const response = await post({});
  const body = (await response.json()) as object;
  expect([response.status, response.headers.get("retry-after"), validateError(503, body)]).toEqual([503, "1", []]);
  expect(body).toMatchObject({ service_metadata: { pipeline: [{ data: { action: "error", fail_mode: "closed" } }] } });
});

test("moderation never reads text redacted by a guardrail", async () => {
  const manage = async (path: string, body: object) => {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { key: string; data: { id: string; hash: string } };
  };
  const content_filters = [{ pattern: "SECRET-\\d", action: "redact", label: "[CODE]" }];
  const { data: guardrail } = await manage("/guardrails", { name: "g", content_filters });
  const { key, data: record } = await manage("/keys", { name: "k" });
  await manage(`/guardrails/${guardrail.id}/assignments/keys`, { key_hashes: [record.hash] });
  const response = await post({ input: "The code is SECRET-1." }, key);
  expect(response.status).toBe(200);
  expect(guard.requests.at(-1)?.json).toMatchObject({ input: "The code is [CODE]." });
  expect([...guard.requests, ...acme.requests].map(({ body }) => body).join("")).not.toContain("SECRET-1");
});

test("a dry run calls no moderation", async () => {
  const asked = guard.requests.length;
  const response = await post({}, installation.apiKey, "/responses/dry-run");
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { service_metadata: { pipeline: [{ name: "moderation", data: { action: "not_run" } }] } },
  ]);
  expect(guard.requests).toHaveLength(asked);
});
