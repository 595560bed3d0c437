/** Keys with a spending limit: 402 when a call could exceed it, exactly, with any number of concurrent requests; and the sums equal the ledger's. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { validateError } from "../../support/answers/published.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

let acme: Upstream;
let installation: Installation;
let database: pg.Client;

beforeAll(async () => {
  acme = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1"}
models:
  # A call costs exactly 0.01 USD, whatever it says.
  - {id: acme/flat, endpoints: [{provider: acme, pricing: {prompt: "0", completion: "0", request: "0.01"}}]}
  - {id: acme/metered, endpoints: [{provider: acme, pricing: {prompt: "0", completion: "100"}}]}
limits: {streams_per_key: 1000}
`,
  });
  database = new pg.Client({ connectionString: installation.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await installation?.stop();
  await acme?.stop();
});
beforeEach(() => acme.script([chatAnswer({ role: "assistant", content: "Hi" })]));

const manage = async (method: string, path: string, body?: object) => {
  const answer = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as { key: string; data: { hash: string; [field: string]: unknown } };
};

const newKey = async (settings: object) => {
  const { key, data } = await manage("POST", "/keys", { name: "budgeted", ...settings });
  return { key, hash: data.hash };
};

const sendRequest = (key: string, body: object = {}) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/flat", input: "Hi", ...body }),
  });

const shown = async (hash: string) => (await manage("GET", `/keys/${hash}`)).data;

test("a request with a spent budget is 402 with the limit and the amount needed", async () => {
  const { key, hash } = await newKey({ limit: 0.02, limit_reset: "monthly" });
  expect([(await sendRequest(key)).status, (await sendRequest(key)).status]).toEqual([200, 200]);
  for (const stream of [false, true]) {
    const refused = await sendRequest(key, { stream });
    expect(refused.status).toBe(402);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    const body = (await refused.json()) as { error: { message: string; metadata: object } };
    expect(validateError(402, body)).toEqual([]);
    expect(body.error).toMatchObject({
      code: 402,
      metadata: { error_type: "payment_required", budget: "key", limit: 0.02, needed: 0.01 },
    });
    const requestId = refused.headers.get("x-request-id") ?? "";
    expect(JSON.parse(await installation.logged("inference-svc", requestId, '"turn"'))).toMatchObject({
      status: 402,
      budget: "key",
    });
  }
  const before = acme.requests.length;
  await sendRequest(key);
  expect(acme.requests.length).toBe(before);
  await eventually(async () => (await shown(hash))["usage"] === 0.02);
  expect(await shown(hash)).toMatchObject({
    limit: 0.02,
    limit_reset: "monthly",
    limit_remaining: 0,
    usage_daily: 0.02,
    usage_weekly: 0.02,
    usage_monthly: 0.02,
  });
  expect((await (await sendRequest(key)).json()) as object).toMatchObject({
    error: { message: "Insufficient credits: the budget of this key, 0.02 USD, is spent" },
  });
});

test("a raised limit counts at once, and so does a removed limit", async () => {
  const { key, hash } = await newKey({ limit: 0 });
  expect((await sendRequest(key)).status).toBe(402);
  await manage("PATCH", `/keys/${hash}`, { limit: 0.01 });
  expect((await sendRequest(key)).status).toBe(200);
  expect((await sendRequest(key)).status).toBe(402);
  await manage("PATCH", `/keys/${hash}`, { limit: null });
  expect((await sendRequest(key)).status).toBe(200);
});

test("the possible cost of a request is reserved before, and its real cost is charged after", async () => {
  const { key, hash } = await newKey({ limit: 0.1 });
  const answer = chatAnswer({ role: "assistant", content: "Hi" }, "stop", {
    usage: { prompt_tokens: 1, completion_tokens: 10 },
  });
  acme.script([answer]);
  const refused = await sendRequest(key, { model: "acme/metered", max_output_tokens: 1_001 });
  expect(refused.status).toBe(402);
  expect(((await refused.json()) as { error: { message: string } }).error.message).toMatch(/max_output_tokens/);
  expect((await sendRequest(key, { model: "acme/metered", max_output_tokens: 1_000 })).status).toBe(200);
  await eventually(async () => (await shown(hash))["usage"] === 0.001);
  expect(await shown(hash)).toMatchObject({ limit_remaining: 0.099 });
});

test("spending of last month does not count in this month's budget", async () => {
  const { key, hash } = await newKey({ limit: 0.01, limit_reset: "daily" });
  await database.query("insert into key_days values ($1, (now() at time zone 'UTC')::date - 1, 5, 500)", [hash]);
  expect((await sendRequest(key)).status).toBe(200);
  expect((await sendRequest(key)).status).toBe(402);
  await eventually(async () => (await shown(hash))["usage_daily"] === 0.01);
  expect((await shown(hash))["usage"]).toBe(5.01);
});

/** Assigns these keys a guardrail with a spending limit per key. */
const limited = async (settings: object, ...keyHashes: string[]) => {
  const { id } = (await manage("POST", "/guardrails", { name: "limited", ...settings })).data as unknown as {
    id: string;
  };
  await manage("POST", `/guardrails/${id}/assignments/keys`, { key_hashes: keyHashes });
  return id;
};

test("a guardrail's budget is separate for each key, and gives 403 when it is spent", async () => {
  const [one, other] = [await newKey({}), await newKey({ limit: 0.05 })];
  const id = await limited({ limit_usd: 0.01, reset_interval: "daily" }, one.hash, other.hash);
  for (const { key } of [one, other]) {
    expect((await sendRequest(key)).status).toBe(200);
    const refused = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "x-service-metadata": "enabled",
      },
      body: JSON.stringify({ model: "acme/flat", input: "Hi" }),
    });
    expect(refused.status).toBe(403);
    const body = (await refused.json()) as { error: object; service_metadata: { pipeline: object[] } };
    expect(validateError(403, body)).toEqual([]);
    expect(body.error).toMatchObject({
      message: "Request blocked: the budget of this guardrail, 0.01 USD, is spent",
      metadata: { limit: 0.01, remaining: 0, needed: 0.01 },
    });
    expect(body.service_metadata.pipeline).toMatchObject([
      { type: "guardrail", name: "budget", guardrail_id: id, guardrail_scope: "api-key", data: { action: "blocked" } },
    ]);
  }
  await manage("PATCH", `/guardrails/${id}`, { limit_usd: null, reset_interval: null });
  expect((await sendRequest(one.key)).status).toBe(200);
  await manage("PATCH", `/guardrails/${id}`, { limit_usd: 0.001, reset_interval: "weekly", mode: "audit" });
  expect((await sendRequest(one.key)).status).toBe(200);
});

test("a guardrail's budget for the whole account is separate for each key, in every workspace", async () => {
  await installation.admin("workspaces", "create", "--name", "apart");
  const { stdout } = await installation.admin("keys", "create", "--name", "k", "--workspace", "apart", "--json");
  const keys = [(await newKey({})).key, (JSON.parse(stdout) as { key: string }).key];
  const limit = ["--limit", "0.01", "--limit-reset", "daily", "--account-default"];
  const id = (await installation.admin("guardrails", "create", "--name", "account", ...limit)).stdout.trim();
  for (const key of keys) {
    // Processes learn of a change by the command line a moment later, and requests before this are charged all the same.
    await eventually(async () => (await sendRequest(key)).status === 403);
    const refused = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-service-metadata": "enabled" },
      body: JSON.stringify({ model: "acme/flat", input: "Hi" }),
    });
    expect(await refused.json()).toMatchObject({
      error: { message: "Request blocked: the budget of this guardrail, 0.01 USD, is spent" },
      service_metadata: { pipeline: [{ name: "budget", guardrail_id: id, guardrail_scope: "account" }] },
    });
  }
  await installation.admin("guardrails", "delete", id);
  for (const key of keys) await eventually(async () => (await sendRequest(key)).status === 200);
});

test("of a key's budget and its guardrail's, the lower remainder decides", async () => {
  const { key, hash } = await newKey({ limit: 0.01 });
  const id = await limited({ limit_usd: 0.02, reset_interval: "monthly" }, hash);
  expect([(await sendRequest(key)).status, (await sendRequest(key)).status]).toEqual([200, 402]);
  await manage("PATCH", `/keys/${hash}`, { limit: 1 });
  expect([(await sendRequest(key)).status, (await sendRequest(key)).status]).toEqual([200, 403]);
  expect(await manage("PATCH", `/guardrails/${id}`, { limit_usd: 1 })).toMatchObject({
    error: { code: 400, message: expect.stringContaining("reset_interval") },
  });
  expect((await manage("GET", `/guardrails/${id}`)).data).toMatchObject({ limit_usd: 0.02, reset_interval: "monthly" });
});

test("a workspace's budget is shared by its keys, and shown as credits", async () => {
  await installation.admin("workspaces", "create", "--name", "team", "--limit", "0.03", "--limit-reset", "monthly");
  const make = async (...options: string[]) => {
    const { stdout } = await installation.admin(
      "keys",
      "create",
      "--name",
      "k",
      "--workspace",
      "team",
      "--json",
      ...options,
    );
    return (JSON.parse(stdout) as { key: string }).key;
  };
  const [manager, one, other] = [await make("--management"), await make(), await make()];
  const credits = async (key: string) => {
    const answer = await fetch(`${installation.baseUrl}/credits`, { headers: { authorization: `Bearer ${key}` } });
    return (await answer.json()) as { data: { total_credits: number; total_usage: number } };
  };
  expect(await credits(manager)).toEqual({ data: { total_credits: 0.03, total_usage: 0, unlimited: false } });
  expect(await credits(installation.managementKey)).toMatchObject({ data: { total_credits: 1e9, unlimited: true } });
  expect(await credits(one)).toMatchObject({ error: { code: 403 } });
  const statuses = [];
  for (const key of [one, other, one, other, one]) statuses.push((await sendRequest(key)).status);
  expect(statuses).toEqual([200, 200, 200, 402, 402]);
  const body = (await (await sendRequest(other)).json()) as { error: { message: string } };
  expect(body.error.message).toBe("Insufficient credits: the budget of this workspace, 0.03 USD, is spent");
  await eventually(async () => (await credits(manager)).data.total_usage === 0.03);
  await installation.admin("workspaces", "update", "team", "--no-limit");
  await eventually(async () => (await sendRequest(other)).status === 200);
  const list = JSON.parse((await installation.admin("workspaces", "list", "--json")).stdout) as { name: string }[];
  expect(list.find(({ name }) => name === "team")).toMatchObject({ limit_usd: null, limit_reset: "monthly" });
});

test("a failed call gives back its reserved amount", async () => {
  const { key } = await newKey({ limit: 0.01 });
  acme.script([
    { status: 400, chunks: [{ json: { error: { message: "no" } } }] },
    chatAnswer({ role: "assistant", content: "Hi" }),
  ]);
  expect((await sendRequest(key)).status).toBe(400);
  let last = 0;
  await eventually(async () => (last = (await sendRequest(key)).status) !== 402);
  expect(last).toBe(200);
});

describe("many requests at once", () => {
  async function decided(key: string): Promise<number> {
    for (;;) {
      const answer = await sendRequest(key);
      await answer.arrayBuffer();
      if (![429, 503].includes(answer.status)) return answer.status;
      await delay(Number(answer.headers.get("retry-after-ms")));
    }
  }

  /**
   * Counts of each status over so many requests, fifty at a time. An overloaded installation answers with a retry hint, as
   * a budget does while it is held for other requests.
   */
  async function statusesOf(requests: number, keyOf: (n: number) => string): Promise<Record<number, number>> {
    const statuses: Record<number, number> = {};
    let left = requests;
    const clients = Array.from({ length: 50 }, async () => {
      while (left-- > 0) {
        const status = await decided(keyOf(left));
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    });
    await Promise.all(clients);
    return statuses;
  }

  test("through five keys spend exactly the workspace's budget of 50 of 300 requests", async () => {
    await installation.admin("workspaces", "create", "--name", "crowd", "--limit", "0.5");
    const keys = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const made = await installation.admin("keys", "create", "--name", "k", "--workspace", "crowd", "--json");
        return (JSON.parse(made.stdout) as { key: string }).key;
      }),
    );
    const before = acme.requests.length;
    expect(await statusesOf(300, (n) => keys[n % 5] as string)).toEqual({ 200: 50, 402: 250 });
    expect(acme.requests.length - before).toBe(50);
  }, 300_000);

  test("spend exactly a budget of 100 of 1,000 requests, and the sums equal the ledger's", async () => {
    const { key, hash } = await newKey({ limit: 1 });
    const before = acme.requests.length;
    expect(await statusesOf(1_000, () => key)).toEqual({ 200: 100, 402: 900 });
    expect(acme.requests.length - before).toBe(100);
    await eventually(async () => (await shown(hash))["usage"] === 1);
    const { rows } = await database.query<{ cost: string; calls: string; held: string }>(
      `select sum(cost_usd) as cost, count(*) as calls,
        (select count(*) from budget_reservations where key_hash = $1) as held
       from all_calls where key_hash = $1`,
      [hash],
    );
    expect(rows[0]).toMatchObject({ cost: "1.000000000000", calls: "100", held: "0" });
  }, 300_000);
});
