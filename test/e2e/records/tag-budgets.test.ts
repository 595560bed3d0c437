/** Budgets for tags under crowds at two inference processes: no value spends more than its budget, and requests without the tag are not delayed. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { runCli } from "@sluice/admin-svc/cli.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import pg from "pg";
import { validate } from "../../support/answers/published.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";

/** Output tokens reserved and used per call, at 100 USD a million: a call reserves five times its cost. */
const tokens = { held: 50, spent: 10 };
const dollars = { held: 0.005, spent: 0.001 };
/** A budget with room for ten such requests one after the other. */
const tenRequests = 9 * dollars.spent + dollars.held;

/** Input of requests that the provider never answers. */
const unanswered = "never answered";

const provider = createServer((request, response) => {
  const texts: string[] = [];
  request.setEncoding("utf8").on("data", (text: string) => texts.push(text));
  request.on("end", () => {
    if (texts.join("").includes(unanswered)) return;
    const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 1, completion_tokens: tokens.spent, total_tokens: 1 + tokens.spent };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ choices, usage }));
  });
});
provider.listen(0, "127.0.0.1");
await once(provider, "listening");

let installation: Installation;
let database: pg.Client;
beforeAll(async () => {
  installation = await startInstallation({
    inferenceReplicas: 2,
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1"}
models:
  - {id: acme/plain, endpoints: [{provider: acme, pricing: {prompt: "0", completion: "100"}}]}
limits: {streams_per_key: 1000}
`,
  });
  database = new pg.Client({ connectionString: installation.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await installation?.stop();
  provider.close();
});

type Json = Readonly<Record<string, unknown>>;

async function administer(method: string, path: string, body?: object): Promise<{ status: number; json: Json }> {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Json };
}

async function limitTags(...entries: readonly object[]): Promise<void> {
  const { status, json } = await administer("PATCH", `/workspaces/${defaultWorkspaceId}`, { tag_budgets: entries });
  expect([status, validate("WorkspaceAnswer", json)]).toEqual([200, []]);
}

async function newKey(settings: object = {}): Promise<string> {
  const { json } = await administer("POST", "/keys", { name: "tagged", ...settings });
  return json["key"] as string;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly error: { readonly message: string; readonly metadata: Json } | undefined;
}

async function sendRequest(key: string, tags: string, body: object = {}): Promise<Answer> {
  const response = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-sluice-tags": tags },
    body: JSON.stringify({ model: "acme/plain", input: "Hi", max_output_tokens: tokens.held, ...body }),
  });
  const { error } = (await response.json()) as Pick<Answer, "error">;
  return { status: response.status, headers: response.headers, error: error ?? undefined };
}

/** Sends the request until the answer is not retryable. */
async function decided(key: string, tags: string): Promise<Answer> {
  for (;;) {
    const answer = await sendRequest(key, tags);
    if (answer.headers.get("x-should-retry") !== "true") return answer;
    await delay(Number(answer.headers.get("retry-after-ms")));
  }
}

const spentBy = async (name: string, value: string): Promise<number> => {
  const { rows } = await database.query<{ cost: string }>(
    "select coalesce(sum(cost_usd), 0) as cost from all_turns where tags ->> $1 = $2",
    [name, value],
  );
  return Number(rows[0]?.cost);
};

const areSettled = () =>
  eventually(async () => (await database.query("select from budget_reservations")).rows.length === 0);

const countOf = (answers: readonly Answer[], wanted: number) =>
  answers.filter(({ status }) => status === wanted).length;

test("a tag's budget of ten requests serves ten of 120 clients of two keys, and delays no other tag", async () => {
  await limitTags({ tag: "project", value: "apollo", limit: tenRequests, limit_reset: "monthly" });
  const keys = [await newKey(), await newKey()];
  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, n) => decided(keys[n % 2] as string, "project=apollo, team=x")),
  );
  expect([countOf(answers, 200), countOf(answers, 402)]).toEqual([10, 110]);
  const refusal = answers.find(({ status }) => status === 402);
  expect(refusal?.headers.get("x-should-retry")).toBe("false");
  expect(refusal?.error).toMatchObject({
    message: expect.stringContaining("the monthly budget of the tag project=apollo"),
    metadata: {
      error_type: "payment_required",
      budget: "tag",
      tag: "project=apollo",
      limit: expect.closeTo(tenRequests, 9),
    },
  });
  await areSettled();
  expect(await spentBy("project", "apollo")).toBeCloseTo(10 * dollars.spent, 12);
  for (const tags of ["project=gemini", "team=x", ""]) {
    expect((await sendRequest(keys[0] as string, tags)).status).toBe(200);
  }
  // The tag of the key wins, so no request escapes its budget.
  const tagged = await newKey({ tags: { project: "apollo" } });
  expect((await sendRequest(tagged, "project=gemini")).error?.metadata).toMatchObject({ tag: "project=apollo" });
  await limitTags({ tag: "project", value: "apollo", limit: 1, limit_reset: "monthly" });
  expect((await sendRequest(tagged, "")).status).toBe(200);
}, 120_000);

test("each value under an entry for every value of a tag has a budget, in metadata as in the header", async () => {
  await limitTags({ tag: "feature", value: "*", limit: tenRequests, limit_reset: "daily" });
  const key = await newKey();
  const values = ["search", "chat", "a,b=%"];
  const answers = await Promise.all(
    values.map((value) =>
      Promise.all(Array.from({ length: 20 }, () => decided(key, `feature=${encodeURIComponent(value)}`))),
    ),
  );
  expect(answers.map((each) => [countOf(each, 200), countOf(each, 402)])).toEqual(values.map(() => [10, 10]));
  const { error } = await sendRequest(key, "", { metadata: { feature: "a,b=%" } });
  expect(error?.metadata).toMatchObject({ budget: "tag", tag: "feature=a%2Cb=%25" });
  await areSettled();
  for (const value of values) expect(await spentBy("feature", value)).toBeCloseTo(10 * dollars.spent, 12);
}, 120_000);

test("a request over the free part of a tag's budget is 429, and an amount of a lost process is charged", async () => {
  const value = randomUUID();
  await limitTags({ tag: "project", value, limit: 2 * dollars.held });
  const key = await newKey();
  await database.query(
    `insert into budget_reservations (turn_id, attempt, key_hash, workspace_id, amount_usd, tags, expires_at)
     values (gen_random_uuid(), 1, $1, $2, 0.007, jsonb_build_object('project', $3::text), now() + interval '5 minutes')`,
    [hashKey(key), defaultWorkspaceId, value],
  );
  const held = await sendRequest(key, `project=${value}`);
  expect([held.status, held.headers.get("retry-after")]).toEqual([429, expect.stringMatching(/^[12]$/)]);
  expect(held.error?.metadata).toMatchObject({
    error_type: "budget_held",
    budget: "tag",
    tag: `project=${value}`,
    limit: 0.01,
    remaining: 0.003,
    held: 0.007,
    needed: 0.005,
  });
  await database.query("update budget_reservations set expires_at = now()");
  expect((await sendRequest(key, `project=${value}`)).status).toBe(402);
  await database.query("delete from budget_reservations");
});

test("a killed inference process cannot exceed a tag's budget, and the record of its call replaces the charge", async () => {
  const value = randomUUID();
  await limitTags({ tag: "project", value, limit: tenRequests + 2 * dollars.held });
  const key = await newKey();
  const tags = `project=${value}`;
  // Each process gets one of the two requests, or one process gets both.
  const lost = [0, 1].map(() => sendRequest(key, tags, { input: unanswered }).catch(() => undefined));
  const heldFor = async () =>
    (await database.query("select from budget_reservations where tags ->> 'project' = $1 and not is_settled", [value]))
      .rows.length;
  await eventually(async () => (await heldFor()) === 2);
  const crowd = Promise.all(Array.from({ length: 30 }, () => decided(key, tags)));
  await eventually(async () => (await spentBy("project", value)) > 0);
  for (const [name, pid] of Object.entries(installation.pids()))
    if (name.startsWith("inference-svc")) process.kill(pid, "SIGKILL");
  await Promise.all(lost);
  // The amounts of the two lost calls leave room for twenty.
  expect(countOf(await crowd, 200)).toBeLessThanOrEqual(20);
  await areSettled();
  const recorded = await spentBy("project", value);
  const counted = await database.query<{ cost: string }>(
    "select sum(cost_usd) as cost from tag_days where name = 'project' and value = $1",
    [value],
  );
  expect(Number(counted.rows[0]?.cost)).toBeCloseTo(recorded, 12);
  // No charge is left of the two lost calls: a call as large as the unspent rest of the budget is admitted, and a larger one is not.
  await limitTags({ tag: "project", value, limit: recorded + dollars.held });
  expect((await decided(key, tags)).status).toBe(200);
  await areSettled();
  const refused = await decided(key, tags);
  expect([refused.status, refused.error?.metadata["remaining"]]).toEqual([
    402,
    expect.closeTo(dollars.held - dollars.spent, 9),
  ]);
}, 120_000);

describe("entries of tag budgets", () => {
  const asked = (entries: unknown) =>
    administer("PATCH", `/workspaces/${defaultWorkspaceId}`, { tag_budgets: entries });

  test.each([
    ["no value", [{ tag: "project", limit: 1 }], "tag_budgets.0.value"],
    ["no limit", [{ tag: "project", value: "a" }], "tag_budgets.0.limit"],
    ["a negative limit", [{ tag: "project", value: "a", limit: -1 }], "tag_budgets.0.limit"],
    [
      "an unknown reset",
      [{ tag: "project", value: "a", limit: 1, limit_reset: "yearly" }],
      "tag_budgets.0.limit_reset",
    ],
    ["a name with brackets", [{ tag: "a[b", value: "a", limit: 1 }], "tag_budgets.0.tag"],
    ["an unknown field", [{ tag: "project", value: "a", limit: 1, models: [] }], "tag_budgets.0.models"],
    [
      "one value twice with one reset",
      [
        { tag: "project", value: "a", limit: 1 },
        { tag: "project", value: "a", limit: 2, limit_reset: null },
      ],
      "tag_budgets.1",
    ],
  ])("with %s are a 400 that names the field", async (_, entries, path) => {
    const { status, json } = await asked(entries);
    expect([status, (json["error"] as { message: string }).message]).toEqual([400, expect.stringContaining(path)]);
  });

  test("are set, shown and cleared on the command line, in the database and over HTTP", async () => {
    const run = async (place: object, args: string[]): Promise<Json> => {
      let stdout = "";
      const out = { write: (text: string) => (stdout += text) };
      expect([await runCli([...args, "--json"], { ...place, stdout: out, stderr: out }), stdout]).toEqual([
        0,
        expect.any(String),
      ]);
      return JSON.parse(stdout) as Json;
    };
    const remote = { url: installation.baseUrl, key: installation.managementKey };
    const entry = { tag: "project", value: "*", limit: 0.5, limit_reset: "weekly" };
    for (const place of [{ databaseUrl: installation.databaseUrl }, { remote }]) {
      const update = ["workspaces", "update", defaultWorkspaceId];
      const set = await run(place, [...update, "--tag-budgets", JSON.stringify([entry])]);
      expect(JSON.stringify(set)).toContain('"tag_budgets":[{');
      const shown = await administer("GET", `/workspaces/${defaultWorkspaceId}`);
      expect(shown.json).toMatchObject({ data: { tag_budgets: [entry] } });
      await run(place, [...update, "--no-tag-budgets"]);
      const cleared = await administer("GET", `/workspaces/${defaultWorkspaceId}`);
      expect(cleared.json).toMatchObject({ data: { tag_budgets: null } });
    }
  });
});
