/** Keys that may spend so much: 402 when a call could exceed it, exactly, however many ask at once; and the sums are those of the ledger. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { type House, startHouse } from "../support/house.ts";
import { eventually } from "../support/processes.ts";
import { validateError } from "../support/published.ts";
import { type Upstream, chatAnswer, startUpstream } from "../support/upstream.ts";

let acme: Upstream;
let house: House;
let database: pg.Client;

beforeAll(async () => {
  acme = await startUpstream();
  house = await startHouse({
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
  database = new pg.Client({ connectionString: house.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await house?.stop();
  await acme?.stop();
});
beforeEach(() => acme.script([chatAnswer({ role: "assistant", content: "Hi" })]));

const manage = async (method: string, path: string, body?: object) => {
  const answer = await fetch(`${house.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${house.managementKey}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as { key: string; data: { hash: string; [field: string]: unknown } };
};

const newKey = async (settings: object) => {
  const { key, data } = await manage("POST", "/keys", { name: "budgeted", ...settings });
  return { key, hash: data.hash };
};

const ask = (key: string, body: object = {}) =>
  fetch(`${house.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/flat", input: "Hi", ...body }),
  });

const shown = async (hash: string) => (await manage("GET", `/keys/${hash}`)).data;

test("a budget that is spent is 402, and says so", async () => {
  const { key, hash } = await newKey({ limit: 0.02, limit_reset: "monthly" });
  expect([(await ask(key)).status, (await ask(key)).status]).toEqual([200, 200]);
  for (const stream of [false, true]) {
    const refused = await ask(key, { stream });
    expect(refused.status).toBe(402);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    const body = (await refused.json()) as { error: { message: string; metadata: object } };
    expect(validateError(402, body)).toEqual([]);
    expect(body.error).toMatchObject({
      code: 402,
      metadata: { error_type: "payment_required", limit: 0.02, needed: 0.01 },
    });
  }
  const before = acme.requests.length;
  await ask(key);
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
  expect((await (await ask(key)).json()) as object).toMatchObject({
    error: { message: "Insufficient credits: the budget of this key, 0.02 USD, is spent" },
  });
});

test("a raised limit counts at once, and so does one that is taken away", async () => {
  const { key, hash } = await newKey({ limit: 0 });
  expect((await ask(key)).status).toBe(402);
  await manage("PATCH", `/keys/${hash}`, { limit: 0.01 });
  expect((await ask(key)).status).toBe(200);
  expect((await ask(key)).status).toBe(402);
  await manage("PATCH", `/keys/${hash}`, { limit: null });
  expect((await ask(key)).status).toBe(200);
});

test("what a request could cost counts, and what it did cost is charged", async () => {
  const { key, hash } = await newKey({ limit: 0.1 });
  const answer = chatAnswer({ role: "assistant", content: "Hi" }, "stop", {
    usage: { prompt_tokens: 1, completion_tokens: 10 },
  });
  acme.script([answer]);
  const refused = await ask(key, { model: "acme/metered", max_output_tokens: 1_001 });
  expect(refused.status).toBe(402);
  expect(((await refused.json()) as { error: { message: string } }).error.message).toMatch(/max_output_tokens/);
  expect((await ask(key, { model: "acme/metered", max_output_tokens: 1_000 })).status).toBe(200);
  await eventually(async () => (await shown(hash))["usage"] === 0.001);
  expect(await shown(hash)).toMatchObject({ limit_remaining: 0.099 });
});

test("a budget of last month is none of this month", async () => {
  const { key, hash } = await newKey({ limit: 0.01, limit_reset: "daily" });
  await database.query("insert into key_days values ($1, (now() at time zone 'UTC')::date - 1, 5, 500)", [hash]);
  expect((await ask(key)).status).toBe(200);
  expect((await ask(key)).status).toBe(402);
  await eventually(async () => (await shown(hash))["usage_daily"] === 0.01);
  expect((await shown(hash))["usage"]).toBe(5.01);
});

test("a failed call gives back what was held for it", async () => {
  const { key } = await newKey({ limit: 0.01 });
  acme.script([
    { status: 400, chunks: [{ json: { error: { message: "no" } } }] },
    chatAnswer({ role: "assistant", content: "Hi" }),
  ]);
  expect((await ask(key)).status).toBe(400);
  let last = 0;
  await eventually(async () => (last = (await ask(key)).status) !== 402);
  expect(last).toBe(200);
});

describe("many at once", () => {
  test("a budget of 100 requests asked for by 1,000 is spent exactly, and the sums are those of the ledger", async () => {
    const { key, hash } = await newKey({ limit: 1 });
    const before = acme.requests.length;
    let left = 1_000;
    const statuses = new Map<number, number>();
    const clients = Array.from({ length: 50 }, async () => {
      while (left-- > 0) {
        const answer = await ask(key);
        await answer.arrayBuffer();
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      }
    });
    await Promise.all(clients);
    expect(acme.requests.length - before).toBe(100);
    expect(Object.fromEntries(statuses)).toEqual({ 200: 100, 402: 900 });
    await eventually(async () => (await shown(hash))["usage"] === 1);
    const { rows } = await database.query<{ cost: string; calls: string; held: string }>(
      `select sum(cost_usd) as cost, count(*) as calls,
        (select count(*) from budget_reservations where key_hash = $1) as held
       from usage_records where key_hash = $1`,
      [hash],
    );
    expect(rows[0]).toMatchObject({ cost: "1.000000000000", calls: "100", held: "0" });
  }, 180_000);
});
