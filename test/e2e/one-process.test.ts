/** SLUICE_INFERENCE_REPLICAS=0: gateway and inference-svc in one process behave like two processes. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import pg from "pg";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { findShortest } from "../support/clock.ts";
import { runTurn, turnRequest } from "../support/answers/run-turn.ts";
import { parseSse } from "../support/answers/sse.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  startUpstream,
} from "../support/providers/upstream.ts";

let upstream: Upstream;
let together: Installation;
let apart: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  const config = `
providers: [{id: acme, dialect: chat, base_url: "${upstream.url}/v1"}]
models: [{id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}]
limits: {streams_per_key: 1000}
`;
  const open = (inferenceReplicas: number) =>
    startInstallation({ config, inferenceReplicas, environment: { SLUICE_DRAIN_LIMIT_MS: "6000" } });
  [together, apart] = await Promise.all([open(0), open(1)]);
});
afterAll(async () => {
  await Promise.all([together?.stop(), apart?.stop()]);
  await upstream?.stop();
});

const post = (installation: Installation, body: object, init: RequestInit = {}) =>
  fetch(`${installation.baseUrl}/responses`, {
    ...init,
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/large", input: "Hi", ...body }),
  });

test("the joined process of gateway and inference-svc has the ports, probes and metrics of both", async () => {
  const { gateway_health, inference_health, inference } = together.ports;
  for (const [port, room] of [
    [gateway_health, "gateway"],
    [inference_health, "inference-svc"],
  ] as const) {
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    expect(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()).toContain(`{room="${room}"}`);
  }
  upstream.script([chatAnswer({ role: "assistant", content: "Fine." })]);
  const client = dial(`127.0.0.1:${inference}`);
  const turn = runTurn(client, together.apiKey, turnRequest("acme/large", "Hi"));
  await turn.over;
  expect(turn.batches.flat().at(-1)?.event.case).toBe("end");
  client.close();
});

const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a": 1}' } };
const half = "half \ud83d of one";

const alike = (reply: Reply) => [reply, reply] as const;

/** Replies of a provider, whole and streamed. */
const said: Readonly<Record<string, readonly [Reply, Reply]>> = {
  "a text": [chatAnswer({ role: "assistant", content: "Fine, “thanks”.\n" }), chatStream("Fine", ", “thanks”", ".\n")],
  "a call": [
    chatAnswer({ role: "assistant", content: null, tool_calls: [call] }, "tool_calls"),
    { chunks: [{ sse: [chatChunk({ tool_calls: [{ index: 0, ...call }] }), chatChunk({}, "tool_calls"), "[DONE]"] }] },
  ],
  "half of a character": [chatAnswer({ role: "assistant", content: half }), chatStream("half \ud83d", " of one")],
  "a refusal": alike({ status: 400, chunks: [{ json: { error: { message: half, type: "invalid_request_error" } } }] }),
  "a failure": alike({ status: 500, chunks: [{ json: {} }] }),
  "a stream that is cut": alike({ chunks: [{ sse: [chatChunk({ content: "begun" })] }], cut: true }),
};

/** An answer without the ids and times, which differ between any two answers. */
async function answerOf(installation: Installation, body: object): Promise<unknown> {
  const response = await post(installation, body);
  const text = (await response.text())
    .replaceAll(/(resp|msg|fc|rs|req)_\w+/g, "$1_")
    .replaceAll(/"(created_at|completed_at)":\d+/g, '"$1":0');
  return [response.status, response.headers.get("content-type"), text];
}

describe.each(Object.entries(said))("the answer of one process to %s of a provider", (_, [whole, streamed]) => {
  test.each([
    ["whole", whole, false],
    ["streamed", streamed, true],
  ] as const)("is the same as of two processes, %s", async (_name, reply, stream) => {
    upstream.script([reply]);
    const body = { stream, tools: [{ type: "function", name: "f", parameters: { type: "object" } }] };
    expect(await answerOf(together, body)).toEqual(await answerOf(apart, body));
  });
});

test("a client that leaves one-process mode stops its call, and a slow reader delays only itself", async () => {
  upstream.script([{ chunks: [{ sse: [chatChunk({ content: "begun" })] }], hang: true }]);
  const leave = async () => {
    const leaving = new AbortController();
    const closed = upstream.nextClose();
    const response = await post(together, { stream: true }, { signal: leaving.signal });
    await response.body?.getReader().read();
    const left = performance.now();
    leaving.abort();
    return (await closed) - left;
  };
  expect(await findShortest(1_000, leave, 5)).toBeLessThan(1_000);

  const before = upstream.bytesWritten;
  upstream.script([
    { chunks: [{ sse: [chatChunk({ content: "x".repeat(16_384) })], repeat: 20_000 }], hang: true },
    chatStream("Fine."),
  ]);
  const slow = new AbortController();
  await post(together, { stream: true }, { signal: slow.signal });
  expect(parseSse(await (await post(together, { stream: true })).text()).done).toBe(true);
  let written = -1;
  let looks = 0;
  await eventually(() => {
    looks = upstream.bytesWritten === written ? looks + 1 : 0;
    written = upstream.bytesWritten;
    return looks === 20;
  });
  // The provider has 330 MB to send. Only the credit of a turn and the socket buffers of two connections can take any of them.
  expect(upstream.bytesWritten - before).toBeLessThan(64 * 1024 * 1024);
  slow.abort();
});

const untilReady = () =>
  eventually(() =>
    fetch(`http://127.0.0.1:${together.ports.gateway_health}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );

/** Number of times the process has ended in order. */
const goodEnds = (): number => together.output().split("gateway ended: exit code 0").length - 1;

async function rowsOf(table: "all_turns" | "all_calls", ids: readonly string[]): Promise<readonly string[]> {
  const database = new pg.Client(together.databaseUrl);
  await database.connect();
  const { rows } = await database.query(`select generation_id from ${table} where generation_id = any($1)`, [ids]);
  await database.end();
  return rows.map((row) => row.generation_id as string).toSorted();
}

test("a killed process in one-process mode loses no turn with a delivered end, and doubles none", async () => {
  upstream.script([chatAnswer({ role: "assistant", content: "Fine." })]);
  const ids: string[] = [];
  const sendRequest = async () => {
    const response = await post(together, {});
    await response.text();
    if (response.status === 200) ids.push(response.headers.get("x-generation-id") as string);
  };
  await Promise.all(Array.from({ length: 20 }, sendRequest));
  process.kill(together.pids()["gateway"] as number, "SIGKILL");
  expect(ids).toHaveLength(20);
  await untilReady();
  for (const table of ["all_turns", "all_calls"] as const) {
    await eventually(async () => (await rowsOf(table, ids)).length >= ids.length);
    expect(await rowsOf(table, ids)).toEqual(ids.toSorted());
  }
});

test("SIGTERM in one-process mode lets a stream finish, and its record is in Postgres at the end", async () => {
  const endsBefore = goodEnds();
  let finish = () => {};
  const after = new Promise<void>((resolve) => (finish = resolve));
  const rest = { after, sse: [chatChunk({ content: " done" }), chatChunk({}, "stop"), "[DONE]"] };
  upstream.script([{ chunks: [{ sse: [chatChunk({ content: "begun" })] }, rest] }]);
  const response = await post(together, { stream: true });
  process.kill(together.pids()["gateway"] as number, "SIGTERM");
  const { gateway_health, inference_health } = together.ports;
  for (const port of [gateway_health, inference_health])
    await eventually(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 503);
  finish();
  expect(parseSse(await response.text()).events.at(-1)?.type).toBe("response.completed");
  await eventually(() => goodEnds() > endsBefore);
  const id = response.headers.get("x-generation-id") as string;
  expect([await rowsOf("all_turns", [id]), await rowsOf("all_calls", [id])]).toEqual([[id], [id]]);
  await untilReady();
});

test("a stream longer than the drain of one process ends with response.failed, and the process ends in order", async () => {
  const endsBefore = goodEnds();
  upstream.script([{ chunks: [{ sse: [chatChunk({ content: "begun" })] }], hang: true }]);
  const response = await post(together, { stream: true });
  const closed = upstream.nextClose();
  process.kill(together.pids()["gateway"] as number, "SIGTERM");
  const { events, done } = parseSse(await response.text());
  expect([events.at(-1)?.type, done]).toEqual(["response.failed", true]);
  await closed;
  await eventually(() => goodEnds() > endsBefore);
});
