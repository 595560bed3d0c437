/**
 * Every call to a provider is recorded once, with its usage and cost, also of a turn that fell back or whose client left. Killed processes:
 * test/campaigns/chaos.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import pg from "pg";
import { type Generation, fetchGeneration } from "../../support/providers/generation.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { validate } from "../../support/answers/published.ts";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type Upstream, chatAnswer, chatChunk, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let first: Upstream;
let second: Upstream;
let installation: Installation;
let database: pg.Client;

beforeAll(async () => {
  first = await startUpstream();
  second = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: first, dialect: chat, base_url: "${first.url}/v1"}
  - {id: second, dialect: chat, base_url: "${second.url}/v1"}
models:
  - id: acme/large
    endpoints:
      - {provider: first, upstream_model: large-1, pricing: {prompt: "0.25", completion: "2.00"}}
      - {provider: second, pricing: {prompt: "1.00", completion: "2.00"}}
  - {id: acme/lone, endpoints: [{provider: first}]}
`,
  });
  database = new pg.Client({ connectionString: installation.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
  await installation?.stop();
  await first?.stop();
  await second?.stop();
});

const sendRequest = (body: object, signal?: AbortSignal) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/large", provider: { order: ["first", "second"] }, input: "Hi", ...body }),
    ...(signal && { signal }),
  });

interface Row {
  readonly generation_id: string;
  readonly status: string;
  readonly [column: string]: unknown;
}

async function rowsOf(sessionId: string): Promise<readonly Row[]> {
  const { rows } = await database.query<Row>(
    "select * from all_calls where session_id = $1 order by turn_id, attempt",
    [sessionId],
  );
  return rows;
}

/** Waits until there are this many records. */
async function recordsOf(sessionId: string, count: number): Promise<readonly Row[]> {
  let rows: readonly Row[] = [];
  await eventually(async () => (rows = await rowsOf(sessionId)).length >= count);
  return rows;
}

const figures = { prompt_tokens: 1_000, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 600 } };

test("an answer is in the ledger under its generation id", async () => {
  first.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage: figures })]);
  const answer = await sendRequest({ session_id: "whole", user: "u-1" });
  expect(answer.status).toBe(200);
  const [record, ...others] = await recordsOf("whole", 1);
  expect(others).toEqual([]);
  expect(record).toMatchObject({
    attempt: 1,
    generation_id: answer.headers.get("x-generation-id"),
    request_id: answer.headers.get("x-request-id"),
    model: "acme/large",
    provider: "first",
    upstream_model: "large-1",
    status: "completed",
    http_status: 200,
    input_tokens: "1000",
    cached_tokens: "600",
    output_tokens: "100",
    is_estimated: false,
    cost_usd: "0.000450000000",
    streamed: false,
    user: "u-1",
  });
});

test("a turn over gRPC is in the ledger, under any request id of the caller", async () => {
  const client = dial(`127.0.0.1:${installation.ports.inference}`);
  try {
    for (const [sessionId, name] of [
      ["named", "order-1"],
      ["named at length", "x".repeat(1_025)],
      ["named oddly", "a b;c"],
      ["named not at all", ""],
    ] as const) {
      first.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage: figures })]);
      const request = turnRequest("acme/lone", "Hi", { sessionId });
      await runTurn(client, installation.apiKey, request, 60_000, { "x-request-id": name }).over;
      const [record] = await recordsOf(sessionId, 1);
      expect(record?.["request_id"]).toMatch(name === "order-1" ? /^order-1$/ : /^req_[0-9A-Za-z]{22}$/);
    }
  } finally {
    client.close();
  }
});

test("a failure and the answer of its fallback are both in the ledger", async () => {
  first.script([{ status: 529, chunks: [{ json: { error: { message: "overloaded" } } }] }]);
  second.script([chatStream("Hello")]);
  await (await sendRequest({ session_id: "moved", stream: true })).text();
  const records = await recordsOf("moved", 2);
  expect(records.map(({ attempt, provider, status, http_status: code }) => [attempt, provider, status, code])).toEqual([
    [1, "first", "failed", 529],
    [2, "second", "completed", 200],
  ]);
  expect(new Set(records.map(({ turn_id: turn }) => turn)).size).toBe(1);
});

test("a broken stream is in the ledger, with an estimate of its delivered part", async () => {
  first.script([{ chunks: [{ sse: [chatChunk({ content: "Hello there" })] }], cut: true }]);
  await (await sendRequest({ model: "acme/lone", provider: {}, session_id: "broken", stream: true })).text();
  const [record] = await recordsOf("broken", 1);
  expect(record).toMatchObject({ status: "failed", http_status: 502, is_estimated: true, output_tokens: "3" });
});

describe("a client that leaves", () => {
  let leaving: AbortController;
  beforeEach(() => {
    leaving = new AbortController();
  });

  test.each([true, false])("has its call recorded as cancelled (stream: %s)", async (stream) => {
    first.script([{ chunks: [{ sse: [chatChunk({ content: "Hello there" })] }], hang: true }]);
    const sessionId = `left-${stream}`;
    const asked = first.nextRequest();
    const answer = sendRequest({ session_id: sessionId, stream }, leaving.signal).then((response) => response.text());
    await asked;
    leaving.abort();
    await expect(answer).rejects.toThrow();
    const [record] = await recordsOf(sessionId, 1);
    expect(record).toMatchObject({ status: "cancelled", http_status: 499, streamed: stream });
  });
});

describe("the records of calls", () => {
  const get = (path: string, key = installation.apiKey) =>
    fetch(`${installation.baseUrl}${path}`, { headers: { authorization: `Bearer ${key}` } });

  /** The answer, read once the call is recorded. */
  async function generation(response: Response, key: string): Promise<Generation> {
    const data = await fetchGeneration(installation, response, { key });
    expect(validate("GenerationAnswer", { data })).toEqual([]);
    return data;
  }

  test("show the time of a response, by its generation id, and only to a key of its workspace", async () => {
    first.script([{ status: 529, chunks: [{ json: { error: { message: "overloaded" } } }] }]);
    second.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage: figures })]);
    const answer = await sendRequest({ session_id: "shown", user: "u-2" });
    const id = answer.headers.get("x-generation-id");
    for (const key of [installation.apiKey, installation.managementKey]) {
      expect(await generation(answer, key)).toMatchObject({
        id,
        model: "acme/large",
        provider_name: "second",
        tokens_prompt: 1_000,
        tokens_completion: 100,
        native_tokens_cached: 600,
        total_cost: 0.0012,
        external_user: "u-2",
        session_id: "shown",
        provider_responses: [
          { provider_name: "first", status: 529 },
          { provider_name: "second", status: 200 },
        ],
      });
    }
    const { latency, generation_time: last, finish_reason: reason } = await generation(answer, installation.apiKey);
    expect(reason).toBe("stop");
    expect(latency).toBeGreaterThanOrEqual(0);
    expect(Number.isInteger(latency) && Number.isInteger(last)).toBe(true);
    const { stdout } = await installation.admin("keys", "create", "--name", "stranger", "--json");
    expect((await get(`/generation?id=${id}`, (JSON.parse(stdout) as { key: string }).key)).status).toBe(404);
  });

  test("show the time of the first event as a part of the call's time", async () => {
    let seen = () => {};
    const firstEvent = new Promise<void>((resolve) => (seen = resolve));
    const end = { sse: [chatChunk({}, "stop"), "[DONE]"], after: firstEvent, afterMs: 300 };
    first.script([{ chunks: [{ sse: [chatChunk({ content: "Hi" })] }, end] }]);
    const answer = await sendRequest({ session_id: "slow", stream: true });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (!text.includes("output_text.delta")) text += Buffer.from((await reader.read()).value ?? []).toString();
    seen();
    while (!(await reader.read()).done);
    const { latency, generation_time: whole, finish_reason: reason } = await generation(answer, installation.apiKey);
    expect([reason, Number(whole) - Number(latency) >= 290]).toEqual(["stop", true]);
  });

  const call = { index: 0, id: "c", type: "function", function: { name: "look", arguments: "{}" } };
  test.each<[string, object, string]>([
    ["tool_calls", { role: "assistant", tool_calls: [call] }, "tool_calls"],
    ["length", { role: "assistant", content: "Hi" }, "length"],
    ["content_filter", { role: "assistant", content: "Hi" }, "content_filter"],
  ])("show the end reason of an answer: %s", async (reason, message, said) => {
    first.script([chatAnswer(message, said, { usage: figures })]);
    const answer = await sendRequest({ tools: [{ type: "function", name: "look", parameters: { type: "object" } }] });
    expect(await generation(answer, installation.apiKey)).toMatchObject({ finish_reason: reason });
  });

  test("show neither first event nor end reason for a call without output", async () => {
    first.script([{ status: 400, chunks: [{ json: { error: { message: "no" } } }] }]);
    const answer = await sendRequest({ model: "acme/lone" });
    expect(await generation(answer, installation.apiKey)).toMatchObject({ latency: null, finish_reason: null });
  });

  test("show the usage, by day, model and provider", async () => {
    first.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage: figures })]);
    await sendRequest({ session_id: "summed" });
    await recordsOf("summed", 1);
    const today = new Date().toISOString().slice(0, 10);
    const answer = await get(`/activity?date=${today}`, installation.managementKey);
    const body = (await answer.json()) as { data: Record<string, unknown>[] };
    expect(validate("ActivityAnswer", body)).toEqual([]);
    const { rows } = await database.query<Record<string, string>>(
      `select count(*) as calls, sum(cost_usd) as cost, sum(output_tokens) as output from all_calls
       where model = 'acme/large' and provider = 'first'`,
    );
    expect(body.data.find((sum) => sum["model"] === "acme/large" && sum["provider_name"] === "first")).toMatchObject({
      date: today,
      endpoint_id: "first/acme/large",
      attempts: Number(rows[0]?.["calls"]),
      usage: Number(rows[0]?.["cost"]),
      completion_tokens: Number(rows[0]?.["output"]),
    });
    const turns = await database.query<{ turns: string }>(
      "select count(distinct turn_id) as turns from all_calls where operation = 'turn'",
    );
    const requests = body.data.reduce((sum, row) => sum + Number(row["requests"]), 0);
    expect(requests).toBe(Number(turns.rows[0]?.turns));
    expect(requests).toBeLessThan(body.data.reduce((sum, row) => sum + Number(row["attempts"]), 0));
  });

  test("show each operation apart on request", async () => {
    await sendRequest({ session_id: "operations" });
    await recordsOf("operations", 1);
    const answer = await get("/activity?group_by=operation", installation.managementKey);
    const body = (await answer.json()) as { data: Record<string, unknown>[] };
    expect(validate("ActivityAnswer", body)).toEqual([]);
    expect(new Set(body.data.map(({ operation }) => operation))).toEqual(new Set(["turn"]));
  });

  test("show each format of clients apart on request, and a single format", async () => {
    first.script([chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage: figures })]);
    const body = { model: "acme/large", messages: [{ role: "user", content: "Hi" }], session_id: "spoken" };
    const answer = await fetch(`${installation.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    await recordsOf("spoken", 1);
    const sums = async (query: string) => {
      const shown = (await (await get(`/activity?${query}`, installation.managementKey)).json()) as {
        data: Record<string, unknown>[];
      };
      expect(validate("ActivityAnswer", shown)).toEqual([]);
      return shown.data;
    };
    expect(new Set((await sums("group_by=door")).map(({ door }) => door))).toEqual(new Set(["chat", "responses"]));
    const [chat, ...others] = await sums("door=chat");
    expect(others).toEqual([]);
    expect(chat).toMatchObject({ model: "acme/large", requests: 1, attempts: 1 });
    expect(chat).not.toHaveProperty("door");
    expect(await sums("door=embeddings")).toEqual([]);
    const { stdout } = await installation.admin("usage", "show", "--by", "door", "--json");
    expect((JSON.parse(stdout) as { door: string }[]).map(({ door }) => door)).toEqual(["chat", "responses"]);
  });

  test.each<[string, number, string]>([
    ["/activity?door=sse", 400, "door: must be one of responses, chat, messages, embeddings"],
    ["/generation", 400, "id: required, or request_id in its place"],
    ["/generation?id=", 400, "id: at least 1 character"],
    ["/generation?id=gen-unknown", 404, "Generation not found"],
    ["/activity?date=2026-02-30", 400, "date: is not a day"],
    ["/activity?date=today", 400, "date: must be a day, such as 2026-11-21"],
    ["/activity?day=2026-11-21", 400, "day: unknown field"],
  ])("are refused for %s with %i", async (path, status, message) => {
    const answer = await get(path, installation.managementKey);
    expect([answer.status, ((await answer.json()) as { error: { message: string } }).error.message]).toEqual([
      status,
      message,
    ]);
  });

  test("show sums only to management keys", async () => {
    expect((await get("/activity")).status).toBe(403);
  });
});
