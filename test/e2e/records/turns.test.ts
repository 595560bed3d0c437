/** Every request to a model is on record once with its cost, including refused requests, for every refusing process and reason. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { runCli } from "@sluice/admin-svc/cli.js";
import { ScriptedSink } from "../../admin-svc/sinks/scripted-sink.ts";
import { validate } from "../../support/answers/published.ts";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

interface Turn {
  readonly [field: string]: unknown;
}

interface Page {
  readonly data: readonly Turn[];
  readonly next_cursor: string | null;
}

let upstream: Upstream;
let sink: ScriptedSink;
let installation: Installation;
beforeAll(async () => {
  upstream = await startUpstream();
  sink = await new ScriptedSink().open();
  installation = await startInstallation({
    config: `
providers:
  - {id: sluice, dialect: echo}
  - {id: paid, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: acme/large, endpoints: [{provider: paid, pricing: {prompt: "1.00", completion: "2.00"}}]}
limits: {body_bytes: 65536}
alerts: [{name: ops, webhook: {url: "${sink.url}/", secret: "\${ALERT_SECRET}"}}]
`,
    environment: { ALERT_SECRET: `whsec_${Buffer.alloc(32, 3).toString("base64")}` },
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
  await sink?.close();
});

const manage = (method: string, path: string, body?: object, key = installation.managementKey) =>
  fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });

async function newKey(settings: object = {}): Promise<string> {
  const answer = await manage("POST", "/keys", { name: "asker", ...settings });
  return ((await answer.json()) as { key: string }).key;
}

/** Makes a guardrail. @returns its id */
async function blockTiger(): Promise<string> {
  const filters = [{ pattern: "Tiger", action: "block", label: "project names" }];
  const answer = await manage("POST", "/guardrails", { name: "names", content_filters: filters });
  return ((await answer.json()) as { data: { id: string } }).data.id;
}

const sendRequest = (key: string, body: object = {}, path = "/responses") =>
  manage("POST", path, { model: "sluice/echo", input: "Hi", ...body }, key);

async function list(query: Readonly<Record<string, string>>): Promise<Page> {
  const answer = await manage("GET", `/generations?${new URLSearchParams(query).toString()}`);
  const body = (await answer.json()) as Page;
  expect(validate("GenerationList", body)).toEqual([]);
  return body;
}

/** Turns of a key, oldest first, once there are so many. */
async function turnsOf(key: string, count: number): Promise<readonly Turn[]> {
  let turns: readonly Turn[] = [];
  await eventually(async () => {
    turns = (await list({ key: hashKey(key), limit: "200" })).data.toReversed();
    return turns.reduce((sum, { requests }) => sum + Number(requests), 0) >= count;
  });
  return turns;
}

describe("the record of a request", () => {
  test("with an answer is one turn with its cost, under the ids of its answer", async () => {
    const key = await newKey();
    upstream.script([
      chatAnswer({ role: "assistant", content: "Hi" }, "stop", {
        usage: { prompt_tokens: 1_000, completion_tokens: 100 },
      }),
    ]);
    const answer = await sendRequest(key, { model: "acme/large", user: "u-1", session_id: "s-1" });
    expect(answer.status).toBe(200);
    const [turn, ...others] = await turnsOf(key, 1);
    expect(others).toEqual([]);
    expect(turn).toMatchObject({
      id: answer.headers.get("x-generation-id"),
      request_id: answer.headers.get("x-request-id"),
      key_hash: hashKey(key),
      key_name: "asker",
      model: "acme/large",
      requested_model: "acme/large",
      provider: "paid",
      endpoint_id: "paid/acme/large",
      door: "responses",
      operation: "turn",
      outcome: "completed",
      status: 200,
      error_type: null,
      user: "u-1",
      session_id: "s-1",
      requests: 1,
      attempts: 1,
      cost_usd: "0.001200000000",
      input_tokens: 1_000,
      output_tokens: 100,
    });
    expect(turn?.["duration_ms"]).toBeGreaterThanOrEqual(Number(turn?.["first_token_ms"]));
  });

  test("refused for any reason is a turn without a call", async () => {
    const guardrailId = await blockTiger();
    const key = await newKey({ limit: 0.000_001 });
    await manage("POST", `/guardrails/${guardrailId}/assignments/keys`, { key_hashes: [hashKey(key)] });
    const refused = [
      await sendRequest(key, { temperature: 9 }),
      await sendRequest(key, { tools: [{ type: "function" }] }),
      await sendRequest(key, { model: "nobody/knows" }),
      await sendRequest(key, { input: "x".repeat(70_000) }),
      await sendRequest(key, { model: "acme/large" }),
      await sendRequest(key, { input: "Tiger" }),
      await sendRequest(key, { messages: [{ role: "user", content: "Tiger" }], input: undefined }, "/chat/completions"),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 404, 413, 402, 403, 403]);
    const turns = await turnsOf(key, refused.length);
    const shown = turns.map(({ status, error_type, model, guardrail_id, rule, door }) => [
      status,
      error_type,
      model,
      guardrail_id,
      rule,
      door,
    ]);
    expect(new Set(shown.map((each) => JSON.stringify(each)))).toEqual(
      new Set(
        [
          [400, "invalid_request", null, null, null, "responses"],
          [400, "invalid_request", "sluice/echo", null, null, "responses"],
          [404, "not_found", "nobody/knows", null, null, "responses"],
          [413, "payload_too_large", null, null, null, "responses"],
          [402, "payment_required", "acme/large", null, null, "responses"],
          [403, "permission_denied", "sluice/echo", guardrailId, "project names", "responses"],
          [403, "permission_denied", "sluice/echo", guardrailId, "project names", "chat"],
        ].map((each) => JSON.stringify(each)),
      ),
    );
    for (const turn of turns)
      expect(turn).toMatchObject({ outcome: "refused", attempts: 0, cost_usd: "0.000000000000" });
    expect(JSON.stringify(turns)).not.toContain("Tiger");
    const ids = refused.map(({ headers }) => headers.get("x-request-id"));
    expect(new Set(turns.map(({ request_id: id }) => id))).toEqual(new Set(ids));
    const hits = await list({ guardrail_id: guardrailId, status: "403" });
    expect(hits.data).toHaveLength(2);
  });

  test("refused just before its process is killed is still stored", async () => {
    const key = await newKey({ limit: 0.000_001 });
    await manage("POST", `/guardrails/${await blockTiger()}/assignments/keys`, { key_hashes: [hashKey(key)] });
    const refused = [
      await sendRequest(key, { model: "nobody/knows" }),
      await sendRequest(key, { model: "acme/large" }),
      await sendRequest(key, { input: "Tiger" }),
    ];
    const { gateway, "inference-svc": inference } = installation.pids();
    // The gateway refuses this request itself, and takes a tenth of a second more to deliver its record: killing the gateway may lose the record.
    if (gateway !== inference) refused.push(await sendRequest(key, { temperature: 9 }));
    process.kill(inference as number, "SIGKILL");
    await eventually(async () => (await sendRequest(installation.apiKey).catch(() => undefined))?.status === 200);
    expect(refused.map(({ status }) => status).slice(0, 3)).toEqual([404, 402, 403]);
    const ids = refused.map(({ headers }) => headers.get("x-request-id"));
    const turns = await turnsOf(key, refused.length);
    expect(new Set(turns.map(({ request_id: id }) => id))).toEqual(new Set(ids));
  });

  test("refused can be shown by its request id, only to its key", async () => {
    const key = await newKey();
    const answer = await sendRequest(key, { model: "nobody/knows" });
    const path = `/generation?request_id=${answer.headers.get("x-request-id")}`;
    let shown = new Response();
    await eventually(async () => (shown = await manage("GET", path, undefined, key)).status === 200);
    const body = (await shown.json()) as { data: object };
    expect(validate("GenerationAnswer", body)).toEqual([]);
    expect(body.data).toMatchObject({ status: 404, outcome: "refused", provider_responses: [], total_cost: 0 });
    expect((await manage("GET", path, undefined, await newKey())).status).toBe(404);
    expect((await manage("GET", "/generation")).status).toBe(400);
    expect((await manage("GET", `${path}&id=gen-1`)).status).toBe(400);
  });

  test("refused over gRPC is a turn, too", async () => {
    const key = await newKey({ requests_per_minute: 1 });
    const client = dial(`127.0.0.1:${installation.ports.inference}`);
    try {
      const turn = (fields: object) => runTurn(client, key, turnRequest("sluice/echo", "Hi", fields), 60_000).over;
      await turn({ temperature: 9 }).catch(() => {});
      await turn({});
      await turn({}).catch(() => {});
    } finally {
      client.close();
    }
    const turns = await turnsOf(key, 3);
    expect(new Set(turns.map(({ status }) => status))).toEqual(new Set([200, 400, 429]));
  });

  test("for embeddings is a turn when refused, too", async () => {
    const key = await newKey();
    await sendRequest(key, { model: "sluice/echo", encoding_format: "gif" }, "/embeddings");
    expect(await turnsOf(key, 1)).toMatchObject([{ status: 400, door: "embeddings", operation: "embed" }]);
  });

  test("without a key does not exist", async () => {
    const before = (await list({ status: "401" })).data;
    expect((await sendRequest("sk-sl-nobody")).status).toBe(401);
    expect([before, (await list({ status: "401" })).data]).toEqual([[], []]);
  });
});

test("refusals of a key beyond a rate are counted together, and none is lost", async () => {
  const key = await newKey({ requests_per_minute: 1 });
  const asked = 400;
  for (let left = asked; left > 0; left -= 50) await Promise.all(Array.from({ length: 50 }, () => sendRequest(key)));
  const turns = await turnsOf(key, asked);
  expect(turns.reduce((sum, { requests }) => sum + Number(requests), 0)).toBe(asked);
  expect(turns.length).toBeLessThan(asked / 2);
  const counted = turns.filter(({ requests }) => Number(requests) > 1);
  expect(counted.length).toBeGreaterThan(0);
  for (const turn of counted)
    expect(turn).toMatchObject({ status: 429, error_type: "rate_limit_exceeded", request_id: null });
});

test("usage sums over time equal the list of turns", async () => {
  const key = await newKey();
  for (const body of [{}, { temperature: 9 }, { stream: true }]) await (await sendRequest(key, body)).text();
  await turnsOf(key, 3);
  const answer = await manage("GET", "/usage/series?by=key&step=hour&limit=100");
  const series = (await answer.json()) as { totals: readonly Turn[]; data: readonly Turn[] };
  expect(validate("UsageSeries", series)).toEqual([]);
  const own = series.totals.find(({ value }) => value === hashKey(key));
  expect(own).toMatchObject({ name: "asker", requests: 3, failures: 1, attempts: 2 });
  expect(own?.["duration_ms_p50"]).toEqual(expect.any(Number));
  const { stdout } = await installation.admin("ledger", "check");
  expect(stdout).toContain(" turns; ");
});

describe("alerts of turns", () => {
  interface Alert {
    readonly type: string;
    readonly data: Readonly<Record<string, unknown>>;
  }

  async function listAlerts(): Promise<readonly Alert[]> {
    let printed = "";
    const output = { write: (text: string) => (printed += text) };
    await runCli(["alerts", "list", "--json"], {
      databaseUrl: installation.databaseUrl,
      stdout: output,
      stderr: output,
    });
    return JSON.parse(printed) as readonly Alert[];
  }

  test("report a guardrail's actions on requests, and never their text", async () => {
    const filters = [
      { pattern: "Lion", action: "block", label: "animals" },
      { pattern: "Otter", action: "redact", label: "swimmers" },
      { pattern: "Heron", action: "flag", label: "birds" },
    ];
    const created = await manage("POST", "/guardrails", { name: "zoo", content_filters: filters });
    const { id } = ((await created.json()) as { data: { id: string } }).data;
    const key = await newKey();
    await manage("POST", `/guardrails/${id}/assignments/keys`, { key_hashes: [hashKey(key)] });
    for (const input of ["A Lion", "An Otter", "A Heron", "Nothing"]) await sendRequest(key, { input });
    let hits: readonly Alert[] = [];
    const isHit = ({ data }: Alert) => data["guardrail_id"] === id;
    await eventually(async () => (hits = (await listAlerts()).filter(isHit)).length === 3);
    const told = hits.map(({ data }) => [data["guardrail"], data["action"], data["rule"], data["hits"]]);
    expect(told).toEqual(
      expect.arrayContaining([
        ["zoo", "block", "animals", 1],
        ["zoo", "redact", "swimmers", 1],
        ["zoo", "flag", "birds", 1],
      ]),
    );
    expect(JSON.stringify(hits)).not.toMatch(/Lion|Otter|Heron/);
  });

  test("report a budget that is half spent", async () => {
    const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
    upstream.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage })]);
    const key = await newKey({ name: "half", limit: 0.002 });
    await sendRequest(key, { model: "acme/large", max_output_tokens: 100 });
    const isTold = () => sink.taken.some(({ body }) => body.includes('"key_name":"half"'));
    await eventually(isTold);
  });
});
