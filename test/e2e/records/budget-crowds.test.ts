/**
 * Budgets under clients without pauses and under crowds: a request within the budget is served, after a moment at most, and none beyond the
 * budget.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { sse } from "../../support/providers/upstream.ts";

/** Output tokens reserved and used per call, at 100 USD a million: a call reserves five times its cost. */
const tokens = { held: 50, spent: 10 };
const dollars = { held: 0.005, spent: 0.001 };
/** A budget with room for ten such requests one after the other. */
const tenRequests = 9 * dollars.spent + dollars.held;

interface Body {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string }[];
}

/** Number of subagents called at once by the first answer of a model. */
const helpers: Readonly<Record<string, number>> = { boss: 1, chief: 8 };
/** Time for an answer of the model `worker`, so the calls of parallel subagents overlap. */
const workMs = 50;

/** A provider with models that hand their work to subagents. */
async function startProvider(): Promise<{ readonly server: Server; readonly url: string; readonly asked: Body[] }> {
  const asked: Body[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      asked.push(body);
      const { reply, type } = answerTo(body);
      response.writeHead(200, { "content-type": type });
      if (body.model === "worker") setTimeout(() => response.end(reply), workMs);
      else response.end(reply);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

function answerTo({ model, stream, messages }: Body): { readonly reply: string; readonly type: string } {
  const count = messages.at(-1)?.role === "tool" ? 0 : (helpers[model] ?? 0);
  const delegates = count > 0;
  const calls = Array.from({ length: count }, (_, index) => {
    const task = JSON.stringify({ task_name: `Engines ${index}`, task_description: "LSM or B-tree?" });
    return { id: `call_${index}`, index, type: "function", function: { name: "service_subagent", arguments: task } };
  });
  const message = delegates ? { content: null, tool_calls: calls } : { content: "Hi" };
  const finish_reason = delegates ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 1, completion_tokens: tokens.spent, total_tokens: 1 + tokens.spent };
  if (stream !== true) {
    const choices = [{ index: 0, message: { role: "assistant", ...message }, finish_reason }];
    return { reply: JSON.stringify({ choices, usage }), type: "application/json" };
  }
  const events = [
    { choices: [{ index: 0, delta: message, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason }] },
    { choices: [], usage },
    "[DONE]",
  ];
  return { reply: sse(...events), type: "text/event-stream" };
}

const provider = await startProvider();
afterAll(() => void provider.server.close());

const endpoint = (name: string) =>
  `  - {id: acme/${name}, endpoints: [{provider: acme, upstream_model: ${name}, pricing: {prompt: "0", completion: "100"}}]}`;

const config = `
providers:
  - {id: acme, dialect: chat, base_url: "${provider.url}/v1"}
models:
${["plain", "boss", "chief", "worker"].map(endpoint).join("\n")}
limits: {streams_per_key: 1000}
`;

async function newKey(
  installation: Installation,
  limit: number,
): Promise<{ readonly key: string; readonly hash: string }> {
  const answer = await fetch(`${installation.baseUrl}/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "crowded", limit }),
  });
  const { key, data } = (await answer.json()) as { key: string; data: { hash: string } };
  return { key, hash: data.hash };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function sendRequest(installation: Installation, key: string, body: object = {}): Promise<Answer> {
  const answer = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/plain", input: "Hi", max_output_tokens: tokens.held, ...body }),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

/** Sends the request until the answer is not retryable. */
async function decided(installation: Installation, key: string, body: object = {}): Promise<Answer> {
  for (;;) {
    const answer = await sendRequest(installation, key, body);
    if (answer.headers.get("x-should-retry") !== "true") return answer;
    expect([429, 503]).toContain(answer.status);
    expect(Number(answer.headers.get("retry-after-ms"))).toBeGreaterThan(0);
    await delay(Number(answer.headers.get("retry-after-ms")));
  }
}

describe.each([1, 2])("a budget shared by %i inference processes", (inferenceReplicas) => {
  let installation: Installation;
  let database: pg.Client;

  beforeAll(async () => {
    installation = await startInstallation({ config, inferenceReplicas });
    database = new pg.Client({ connectionString: installation.databaseUrl });
    await database.connect();
  });
  afterAll(async () => {
    await database?.end();
    await installation?.stop();
  });

  const spentBy = async (hash: string): Promise<number> => {
    const { rows } = await database.query<{ cost: string | null }>(
      "select sum(cost_usd) as cost from all_calls where key_hash = $1",
      [hash],
    );
    return Number(rows[0]?.cost ?? 0);
  };
  const heldFor = async (hash: string): Promise<number> => {
    const { rows } = await database.query("select from budget_reservations where key_hash = $1", [hash]);
    return rows.length;
  };

  test.each([false, true])("is spent whole by a client without pauses and refusals; stream: %s", async (stream) => {
    const { key, hash } = await newKey(installation, tenRequests);
    const statuses = [];
    for (let n = 0; n < 11; n++) statuses.push((await sendRequest(installation, key, { stream })).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 402]);
    await eventually(async () => (await heldFor(hash)) === 0);
    expect(await spentBy(hash)).toBeCloseTo(10 * dollars.spent, 12);
  });

  test("of ten requests serves ten of 120 clients that retry as advised", async () => {
    const { key, hash } = await newKey(installation, tenRequests);
    const answers = await Promise.all(Array.from({ length: 120 }, () => decided(installation, key)));
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
    expect([count(200), count(402)]).toEqual([10, 110]);
    await eventually(async () => (await heldFor(hash)) === 0);
    expect(await spentBy(hash)).toBeCloseTo(10 * dollars.spent, 12);
  });

  test("is granted once and each call charged once, even if its records cannot be stored for a long time", async () => {
    const { key, hash } = await newKey(installation, tenRequests);
    const operator = new pg.Client({ connectionString: installation.databaseUrl });
    await operator.connect();
    try {
      await operator.query("begin; lock table turns in share mode");
      const spend = async () => {
        for (let answered = 0; ; answered++) if ((await decided(installation, key)).status !== 200) return answered;
      };
      expect(await spend()).toBe(10);
      // Makes the processes look silent for a quarter of an hour.
      const [late, gone] = ["now() - interval '5 minutes'", "now() - interval '15 minutes'"];
      await database.query(`update budget_reservations set expires_at = ${late} where key_hash = $1`, [hash]);
      await database.query(`update budget_processes set renewed_at = ${gone}`);
      expect(await spend()).toBe(0);
    } finally {
      await operator.query("rollback");
      await operator.end();
    }
    await eventually(async () => (await heldFor(hash)) === 0);
    expect(await spentBy(hash)).toBeCloseTo(10 * dollars.spent, 12);
  });

  test("refuses a turn with the held amount if it could fit later, and else with the remaining amount", async () => {
    const { key, hash } = await newKey(installation, 2 * dollars.held);
    const { rows } = await database.query<{ workspace_id: string }>(
      "select workspace_id from api_keys where hash = $1",
      [hash],
    );
    await database.query(
      `insert into budget_reservations (turn_id, attempt, key_hash, workspace_id, amount_usd, expires_at)
       values (gen_random_uuid(), 1, $1, $2, 0.007, now() + interval '5 minutes')`,
      [hash, rows[0]?.workspace_id],
    );
    const held = await sendRequest(installation, key);
    expect(held.status).toBe(429);
    expect(Object.fromEntries(held.headers)).toMatchObject({
      "x-should-retry": "true",
      "retry-after": expect.stringMatching(/^[12]$/),
    });
    expect(JSON.parse(held.text)).toMatchObject({
      error: {
        code: 429,
        message:
          "Budget held: of the budget of this key, 0.01 USD, 0.007 are held for requests under way and 0.003 are free, and this request would hold 0.005; try again in a moment",
        metadata: {
          error_type: "budget_held",
          budget: "key",
          limit: 0.01,
          remaining: 0.003,
          held: 0.007,
          needed: 0.005,
        },
      },
    });
    const never = await sendRequest(installation, key, { max_output_tokens: 200 });
    expect([never.status, never.headers.get("x-should-retry")]).toEqual([402, "false"]);
    expect(JSON.parse(never.text)).toMatchObject({
      error: {
        message: expect.stringContaining("has 0.01 USD left of 0.01 (0.007 of them held for requests under way)"),
        metadata: { error_type: "payment_required", remaining: 0.003, held: 0.007, needed: 0.02 },
      },
    });
    // An expired reservation becomes a charge; the budget is not granted a second time.
    await database.query("update budget_reservations set expires_at = now() where key_hash = $1", [hash]);
    expect((await sendRequest(installation, key)).status).toBe(402);
  });

  const crew = {
    model: "acme/chief",
    max_output_tokens: tokens.held,
    tools: [{ type: "service:subagent", parameters: { model: "acme/worker", max_completion_tokens: tokens.held } }],
  };
  /** Calls of a turn with eight subagents. */
  const crewCalls = 10;

  test("lets parallel subagents wait for each other's reserved money, and all are answered", async () => {
    const turns = 2;
    // The budget has room for four calls of subagents at a time, and for the last call of all.
    const limit = (turns * crewCalls - 1) * dollars.spent + dollars.held;
    const { key, hash } = await newKey(installation, limit);
    const answers = await Promise.all(Array.from({ length: turns }, () => decided(installation, key, crew)));
    for (const { status, text } of answers) {
      const { output } = JSON.parse(text) as { readonly output: readonly { readonly status: string }[] };
      expect([status, output.map((item) => item.status)]).toEqual([200, Array.from({ length: 9 }, () => "completed")]);
    }
    await eventually(async () => (await heldFor(hash)) === 0);
    expect(await spentBy(hash)).toBeCloseTo(turns * crewCalls * dollars.spent, 12);
    const { rows } = await database.query<{ processes: number }>(
      "select count(distinct boot_id)::int as processes from usage_records where key_hash = $1",
      [hash],
    );
    expect(rows[0]?.processes).toBe(inferenceReplicas);
  });

  test("for seven calls of a turn with eight subagents gives 402 after the seventh", async () => {
    const { key, hash } = await newKey(installation, 6 * dollars.spent + dollars.held);
    expect((await decided(installation, key, crew)).status).toBe(402);
    await eventually(async () => (await heldFor(hash)) === 0);
    expect(await spentBy(hash)).toBeCloseTo(7 * dollars.spent, 12);
  });

  // Each process keeps reservations for the rest of its running turns, and does not know those of others.
  const calls = [
    { held: "five times its cost", maxTokens: tokens.held, limit: 8 * dollars.spent + dollars.held },
    ...(inferenceReplicas === 1 ? [{ held: "its cost", maxTokens: tokens.spent, limit: 9 * dollars.spent }] : []),
  ];
  test.each(calls)(
    "for three answers at least two of eight concurrent turns with subagents, each call holding $held",
    async ({ maxTokens, limit }) => {
      const { key, hash } = await newKey(installation, limit);
      const parameters = { model: "acme/plain", max_completion_tokens: maxTokens };
      const body = {
        model: "acme/boss",
        max_output_tokens: maxTokens,
        tools: [{ type: "service:subagent", parameters }],
      };
      const answers = await Promise.all(Array.from({ length: 8 }, () => decided(installation, key, body)));
      const answered = answers.filter(({ status }) => status === 200).length;
      expect(answered).toBeGreaterThanOrEqual(2);
      expect(answers.filter(({ status }) => status === 402).length).toBe(8 - answered);
      await eventually(async () => (await heldFor(hash)) === 0);
      const { rows } = await database.query<{ calls: number; cost: string }>(
        "select count(*)::int as calls, sum(cost_usd) as cost from all_calls where key_hash = $1",
        [hash],
      );
      expect(Number(rows[0]?.cost)).toBeLessThanOrEqual(limit);
      // Each call that was begun has been answered.
      if (inferenceReplicas === 1) expect(rows[0]?.calls).toBe(3 * answered);
    },
    120_000,
  );
});
