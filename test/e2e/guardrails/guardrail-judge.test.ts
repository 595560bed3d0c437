/** Rules in words, over running services: requests and answers are judged by a configured model. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { fetchGeneration } from "../../support/providers/generation.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { validateError, validateEvents, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  startUpstream,
} from "../../support/providers/upstream.ts";

let acme: Upstream;
let judge: Upstream;
let installation: Installation;

beforeAll(async () => {
  acme = await startUpstream();
  judge = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${acme.url}/v1"}
  - {id: judge, dialect: chat, base_url: "${judge.url}/v1"}
models:
  - id: acme/large
    endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]
  - id: acme/judge
    endpoints: [{provider: judge, pricing: {prompt: "100", completion: "200"}}]
internal_models:
  guard_judge: {model: acme/judge, max_concurrency: 1, cache_ttl_s: 0, retries: 0, calibration: {version: "2026-11"}}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([acme?.stop(), judge?.stop()]);
});
beforeEach(() => {
  acme.script([chatStream("Hello there. ", "You get a refund. ", "Bye. ")]);
  judge.script([says(0.1)]);
});

const says = (probability: number): Reply =>
  chatAnswer({
    content: JSON.stringify({ evidence: "x", verdict: probability >= 0.5 ? "broken" : "followed", probability }),
  });

const rule = "Never promises a refund.";

/** A key under a guardrail with such rules. */
async function guarded(rules: readonly object[], settings: object = {}): Promise<{ key: string; id: string }> {
  const manage = async (path: string, body: object): Promise<Record<string, never>> => {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect([response.status, path]).toEqual([expect.any(Number), path]);
    return (await response.json()) as Record<string, never>;
  };
  const guardrail = (await manage("/guardrails", { name: "words", judge_rules: rules, ...settings })) as unknown as {
    data: { id: string };
  };
  const made = (await manage("/keys", { name: "k" })) as unknown as { key: string; data: { hash: string } };
  await manage(`/guardrails/${guardrail.data.id}/assignments/keys`, { key_hashes: [made.data.hash] });
  return { key: made.key, id: guardrail.data.id };
}

const sendRequest = (key: string, body: object = {}, path = "/responses") =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-service-metadata": "enabled" },
    body: JSON.stringify({ model: "acme/large", input: "May I have my money back?", ...body }),
  });

interface Metadata {
  readonly service_metadata: { readonly pipeline: readonly object[] };
}

const stage = (id: string, action: string, more: object = {}, patterns: readonly string[] = [rule]) => ({
  type: "guardrail",
  name: "judge",
  guardrail_id: id,
  guardrail_scope: "api-key",
  summary: expect.any(String),
  data: {
    action,
    detected: action !== "error" && action !== "not_run",
    engines: ["judge:acme/judge"],
    patterns,
    calibration: "2026-11",
    ...more,
  },
});

describe("a judged request", () => {
  test("is refused for breaking a rule, before any call to a provider", async () => {
    // The key's allowed models do not restrict the judge.
    const settings = { allowed_models: ["acme/large"] };
    const { key, id } = await guarded([{ rule, action: "block", label: "refunds", threshold: 0.8 }], settings);
    const asked = acme.requests.length;
    judge.script([says(0.8)]);
    const response = await sendRequest(key);
    const body = (await response.json()) as Metadata;
    expect([response.status, validateError(403, body)]).toEqual([403, []]);
    expect(body).toMatchObject({
      error: {
        code: 403,
        message: "Request blocked by guardrail rule: refunds",
        type: "permission_error",
        metadata: { patterns: ["refunds"] },
      },
      service_metadata: { pipeline: [stage(id, "blocked", {}, ["refunds"])] },
    });
    expect(acme.requests).toHaveLength(asked);
    judge.script([says(0.79)]);
    expect((await sendRequest(key)).status).toBe(200);
  });

  test("passes if a rule only reports, or its guardrail only reports", async () => {
    judge.script([says(0.9)]);
    const flagged = await guarded([{ rule, action: "flag" }]);
    const audited = await guarded([{ rule, action: "block" }], { mode: "audit" });
    const [first, second] = await Promise.all(
      [flagged, audited].map(async ({ key }) => (await (await sendRequest(key)).json()) as Metadata),
    );
    expect(validateResponse(first)).toEqual([]);
    expect(first?.service_metadata.pipeline).toEqual([stage(flagged.id, "flagged")]);
    expect(second?.service_metadata.pipeline).toEqual([stage(audited.id, "blocked", { mode: "audit" })]);
  });

  test("is refused without a verdict, or passes with a note if the guardrail allows it", async () => {
    judge.script([chatAnswer({ content: "I would rather not say." })]);
    const closed = await guarded([{ rule, action: "block" }]);
    const refused = await sendRequest(closed.key);
    const body = (await refused.json()) as Metadata;
    expect([refused.status, validateError(503, body)]).toEqual([503, []]);
    expect(body.service_metadata.pipeline).toEqual([stage(closed.id, "error", { fail_mode: "closed" })]);
    const open = await guarded([{ rule, action: "block" }], { on_error: "open" });
    const passed = await sendRequest(open.key);
    expect(passed.status).toBe(200);
    expect(((await passed.json()) as Metadata).service_metadata.pipeline).toEqual([
      stage(open.id, "error", { fail_mode: "open" }),
    ]);
  });

  test("is not judged in a dry run, and the receipt has a note", async () => {
    const { key, id } = await guarded([{ rule, action: "block" }]);
    const asked = judge.requests.length;
    const response = await sendRequest(key, {}, "/responses/dry-run");
    expect(response.status).toBe(200);
    expect(((await response.json()) as Metadata).service_metadata.pipeline).toEqual([stage(id, "not_run")]);
    expect(judge.requests).toHaveLength(asked);
  });

  test("costs the key nothing for the judge, and the judge's call is in the ledger", async () => {
    const { key } = await guarded([{ rule, action: "flag" }]);
    const response = await sendRequest(key);
    const { usage } = (await response.json()) as { usage: { cost: number } };
    expect(usage.cost).toBeLessThan(0.0001);
    expect(await fetchGeneration(installation, response, { key })).toMatchObject({
      total_cost: usage.cost,
      provider_responses: [{ provider_name: "acme" }],
    });
  });
});

describe("a judged answer", () => {
  const output = { applies_to: "output" };
  const block = [{ rule, action: "block", label: "refunds" }];

  test("is delivered sentence by sentence, up to the first violation", async () => {
    const { key, id } = await guarded(block, output);
    judge.script([says(0.1), says(0.9)]);
    acme.script([
      {
        chunks: [{ sse: [chatChunk({ content: "Hello there. " }), chatChunk({ content: "You get a refund. " })] }],
        hang: true,
      },
    ]);
    const closed = acme.nextClose();
    const response = await sendRequest(key, { stream: true });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).not.toContain("refund.");
    const { events, done } = parseSse(text) as { events: { type: string; response?: object }[]; done: boolean };
    expect([validateEvents(events as never), done]).toEqual([[], true]);
    expect(events.at(-1)).toMatchObject({
      type: "response.incomplete",
      response: {
        incomplete_details: { reason: "content_filter" },
        output: [{ status: "incomplete", content: [{ text: "Hello there. " }] }],
        service_metadata: { pipeline: [stage(id, "blocked", {}, ["refunds"])] },
      },
    });
    await closed;
  });

  test("ends at once after a violation, even with patterns and a silent provider", async () => {
    const filters = [{ pattern: "\\d{16}", action: "redact" }];
    const { key } = await guarded(block, { ...output, content_filters: filters });
    judge.script([says(0.1), says(0.9)]);
    const said = ["Hello there. ", "You get a refund. "].map((content) => chatChunk({ content }));
    acme.script([{ chunks: [{ sse: said }], hang: true }]);
    const begunAt = performance.now();
    const closed = acme.nextClose();
    const { events } = parseSse(await (await sendRequest(key, { stream: true })).text());
    expect(events.at(-1)).toMatchObject({ type: "response.incomplete" });
    // A minute of silence would end the stream, too.
    expect((await closed) - begunAt).toBeLessThan(30_000);
  });

  test("is refused for a violation in the first sentence, also as a stream", async () => {
    const { key } = await guarded(block, output);
    judge.script([says(0.9)]);
    for (const stream of [true, false]) {
      const response = await sendRequest(key, { stream });
      const body = await response.text();
      expect([response.status, body.includes("Hello")]).toEqual([403, false]);
      expect(JSON.parse(body)).toMatchObject({ error: { message: "Response blocked by guardrail rule: refunds" } });
    }
  });

  test("is whole if every sentence keeps the rules", async () => {
    const { key } = await guarded(block, output);
    const { events } = parseSse(await (await sendRequest(key, { stream: true })).text());
    expect(validateEvents(events)).toEqual([]);
    const deltas = events.flatMap((event) =>
      event.type === "response.output_text.delta" ? [(event as unknown as { delta: string }).delta] : [],
    );
    expect(deltas.join("")).toBe("Hello there. You get a refund. Bye. ");
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
    const judged = judge.requests.slice(-3).map(({ body }) => body);
    expect(judged[0]).toContain("Hello there. ");
    // The judge also gets the sentences before the forbidden sentence.
    expect(judged[1]).toContain("Hello there. You get a refund. ");
  });

  test("does not wait if rules only report, and the receipt lists all violations", async () => {
    const { key, id } = await guarded([{ rule, action: "flag" }], { applies_to: "both" });
    judge.script([says(0.1), says(0.1), says(0.9), says(0.1)]);
    const { events } = parseSse(await (await sendRequest(key, { stream: true })).text());
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: { service_metadata: { pipeline: [stage(id, "flagged")] } },
    });
  });

  test("fails in the middle when the judge gives no verdict", async () => {
    const { key } = await guarded(block, output);
    judge.script([says(0.1), chatAnswer({ content: "no" })]);
    const { events, done } = parseSse(await (await sendRequest(key, { stream: true })).text()) as never as {
      events: { type: string }[];
      done: boolean;
    };
    expect([events.at(-1)?.type, done]).toEqual(["response.failed", true]);
    expect(JSON.stringify(events)).not.toContain("refund. ");
  });
});
