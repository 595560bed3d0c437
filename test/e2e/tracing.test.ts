/** The whole trace of one request as received by a collector: gateway, turn, provider calls, administration and its SQL statements. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { randomBytes } from "node:crypto";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type CollectedSpan, type Collector, startCollector } from "../support/collector.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import { runTurn, turnRequest } from "../support/answers/run-turn.ts";
import { type Upstream, chatAnswer, chatChunk, chatStream, startUpstream } from "../support/providers/upstream.ts";

let first: Upstream;
let second: Upstream;
let collector: Collector;
let installation: Installation;
/** A key with a budget, so admin-svc is called before every provider call. */
let key: string;

beforeAll(async () => {
  first = await startUpstream();
  second = await startUpstream();
  collector = await startCollector();
  installation = await startInstallation({
    config: `
providers:
  - {id: first, dialect: chat, base_url: "${first.url}/v1"}
  - {id: second, dialect: chat, base_url: "${second.url}/v1"}
  - {id: own, dialect: chat, base_url: "${second.url}/v1", trace_context: true}
  - {id: package, dialect: "ai-sdk:@ai-sdk/mistral", base_url: "${second.url}/v1", api_keys: [k], trace_context: true}
models:
  - {id: own/model, endpoints: [{provider: own, upstream_model: own-model}]}
  - {id: package/model, endpoints: [{provider: package, upstream_model: package-model}]}
  - id: acme/large
    endpoints:
      - {provider: first, upstream_model: large-1}
      - {provider: second, upstream_model: large-2, pricing: {prompt: "1.00", completion: "2.00"}}
`,
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_HEADERS: "x-collector-key=s3cret",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    },
  });
  const made = await installation.admin("keys", "create", "--name", "traced", "--limit", "10", "--json");
  key = (JSON.parse(made.stdout) as { key: string }).key;
  // From here on the gateway knows the key.
  await (await sendRequest({}, { model: "no/such" })).text();
});
afterAll(async () => {
  await installation?.stop();
  await collector?.stop();
  await first?.stop();
  await second?.stop();
});
beforeEach(() => {
  first.script([{ status: 503, chunks: [{ json: { error: { message: "busy" } } }] }]);
  second.script([chatAnswer({ role: "assistant", content: "Hello" })]);
});

const newTrace = () => {
  const traceId = randomBytes(16).toString("hex");
  const spanId = randomBytes(8).toString("hex");
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-01` };
};

const sendRequest = (headers: Record<string, string>, body: object, signal?: AbortSignal) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "acme/large", provider: { order: ["first", "second"] }, input: "Hi", ...body }),
    ...(signal && { signal }),
  });

/** Each span as its name and its child spans, in the order of their beginnings. */
type Tree = readonly [string, ...Tree[]];
function treeOf(spans: readonly CollectedSpan[], parentSpanId: string): Tree[] {
  return spans
    .filter((span) => span.parentSpanId === parentSpanId)
    .toSorted((a, b) => a.startMs - b.startMs)
    .map((span) => [`${span.service}: ${span.name}`, ...treeOf(spans, span.spanId)]);
}

const named = (spans: readonly CollectedSpan[], name: string): CollectedSpan => {
  const found = spans.filter((span) => span.name === name);
  expect(found).toHaveLength(1);
  return found[0] as CollectedSpan;
};

const transaction = (...statements: readonly string[]): readonly Tree[] =>
  ["start", ...statements, "commit"].map((statement): Tree => [`admin-svc: ${statement}`]);
const reservation: Tree = [
  "admin-svc: sluice.admin.v1.LedgerService/ReserveBudget",
  ...transaction("select", "select", "insert"),
];
const call = (model: string): Tree => [`inference-svc: chat ${model}`];
const request = (...below: readonly Tree[]): Tree => [
  "gateway: POST /api/v1/responses",
  ["inference-svc: turn", ...below],
];
/** Spans of a turn with a fallback from one provider to the other. */
const overTwo = [reservation, call("large-1"), reservation, call("large-2")];
const sizeOf = ([, ...below]: Tree): number => below.reduce((sum, tree) => sum + sizeOf(tree), 1);

/** The spans of a trace, once it has the expected form. */
async function traced(trace: { traceId: string; spanId: string }, form: Tree): Promise<CollectedSpan[]> {
  const spans = await collector.trace(trace.traceId, sizeOf(form));
  expect(treeOf(spans, trace.spanId)).toEqual([form]);
  return spans;
}

describe("the trace of a request", () => {
  test.each([false, true])("spans both calls of the turn, stream: %s", async (stream) => {
    if (stream) second.script([chatStream("Hel", "lo")]);
    const trace = newTrace();
    const response = await sendRequest({ traceparent: trace.traceparent, tracestate: "vendor=1,other=2" }, { stream });
    expect(response.status).toBe(200);
    await response.text();
    const spans = await traced(trace, request(...overTwo));

    const edge = named(spans, "POST /api/v1/responses");
    expect(edge).toMatchObject({ kind: 2, failed: false });
    expect(edge.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/api/v1/responses",
      "http.response.status_code": 200,
      "sluice.request_id": response.headers.get("x-request-id"),
      "url.scheme": "http",
    });
    expect(named(spans, "turn").attributes).toMatchObject({
      "sluice.model": "acme/large",
      "sluice.served_model": "acme/large",
      "sluice.generation_id": response.headers.get("x-generation-id"),
      "sluice.outcome": "completed",
      "sluice.attempts": 2,
      "sluice.stream": stream,
      "sluice.time_to_first_token": expect.any(Number),
    });
    expect(named(spans, "chat large-1")).toMatchObject({ kind: 3, failed: true });
    expect(named(spans, "chat large-1").attributes).toMatchObject({ "error.type": "503", "sluice.outcome": "failed" });
    const served = named(spans, "chat large-2");
    expect(served).toMatchObject({ kind: 3, failed: false });
    expect(served.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "second",
      "gen_ai.request.model": "large-2",
      "gen_ai.request.stream": stream,
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": stream ? 2 : 3,
      "http.response.status_code": 200,
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(second.url).port),
      "sluice.attempt": 2,
      "sluice.outcome": "completed",
    });
    for (const span of spans) expect(span.resource).toMatchObject({ "deployment.environment.name": "test" });
    expect(spans.every(({ startMs, endMs }) => startMs <= endMs)).toBe(true);
  });

  test.each([false, true])("has the failure in the failing spans, stream: %s", async (stream) => {
    second.script([{ status: 500, chunks: [{ json: { error: { message: "broken" } } }] }]);
    const trace = newTrace();
    const response = await sendRequest({ traceparent: trace.traceparent }, { stream });
    expect(response.status).toBe(502);
    const spans = await traced(trace, request(...overTwo));
    expect(
      spans.filter(({ failed }) => failed).map(({ name, attributes }) => [name, attributes["error.type"]]),
    ).toEqual(
      expect.arrayContaining([
        ["POST /api/v1/responses", "502"],
        ["turn", "provider_unavailable"],
        ["chat large-1", "503"],
        ["chat large-2", "500"],
      ]),
    );
  });

  test("broken off after its first words shows the failure in the turn and in its call", async () => {
    second.script([{ chunks: [{ sse: [chatChunk({ content: "Hel" })] }], cut: true }]);
    const trace = newTrace();
    const response = await sendRequest({ traceparent: trace.traceparent }, { stream: true });
    expect(await response.text()).toContain("response.failed");
    const spans = await traced(trace, request(...overTwo));
    expect(named(spans, "POST /api/v1/responses")).toMatchObject({
      failed: false,
      attributes: { "http.response.status_code": 200, "sluice.error_type": "provider_unavailable" },
    });
    expect(named(spans, "turn").failed).toBe(true);
    expect(named(spans, "chat large-2").failed).toBe(true);
  });

  test("whose client leaves has an end, and no failure", async () => {
    second.script([{ chunks: [{ sse: [chatChunk({ content: "Hel" })] }], hang: true }]);
    const trace = newTrace();
    const abort = new AbortController();
    const response = await sendRequest({ traceparent: trace.traceparent }, { stream: true }, abort.signal);
    await response.body?.getReader().read();
    abort.abort();
    const spans = await traced(trace, request(...overTwo));
    expect(named(spans, "POST /api/v1/responses").attributes).toMatchObject({ "http.response.status_code": 499 });
    expect(named(spans, "turn")).toMatchObject({ failed: false, attributes: { "sluice.outcome": "cancelled" } });
    expect(named(spans, "chat large-2")).toMatchObject({
      failed: false,
      attributes: { "sluice.outcome": "cancelled" },
    });
  });

  test("refused for an unknown model has no failure either", async () => {
    const trace = newTrace();
    expect((await sendRequest({ traceparent: trace.traceparent }, { model: "no/such" })).status).toBe(404);
    const spans = await traced(trace, request());
    expect(spans.some(({ failed }) => failed)).toBe(false);
    expect(named(spans, "turn").attributes).toMatchObject({ "sluice.outcome": "not_found" });
  });

  test("refused without a valid key ends in the gateway", async () => {
    const trace = newTrace();
    await sendRequest({ traceparent: trace.traceparent, authorization: "Bearer wrong" }, {});
    const spans = await traced(trace, ["gateway: POST unknown"]);
    expect(spans[0]?.attributes).toMatchObject({ "http.response.status_code": 401 });
  });

  test("has the guardrail's decision, without the text", async () => {
    const made = await installation.admin("guardrails", "create", "--name", "g", "--block", "hush-[0-9]+", "--json");
    const { id } = JSON.parse(made.stdout) as { id: string };
    const guarded = await installation.admin("keys", "create", "--name", "guarded", "--json");
    const { key: guardedKey, hash } = JSON.parse(guarded.stdout) as { key: string; hash: string };
    await installation.admin("guardrails", "assign", id, hash);
    const trace = newTrace();
    const headers = { traceparent: trace.traceparent, authorization: `Bearer ${guardedKey}` };
    expect((await sendRequest(headers, { input: "hush-12345" })).status).toBe(403);
    await eventually(() => collector.spans.some(({ traceId, name }) => traceId === trace.traceId && name === "turn"));
    const turn = named(await collector.trace(trace.traceId, 1), "turn");
    expect(turn.events).toEqual([
      { name: "guardrail", attributes: expect.objectContaining({ "sluice.guardrail.id": id }) },
    ]);
  });

  test("over gRPC begins with the turn", async () => {
    const trace = newTrace();
    const client = dial(`127.0.0.1:${installation.ports.inference}`);
    const { traceparent } = trace;
    try {
      await runTurn(client, key, turnRequest("acme/large", "Hi", { stream: false }), 60_000, { traceparent }).over;
    } finally {
      client.close();
    }
    // Load goes to the priced endpoint, which answers.
    const spans = await traced(trace, ["inference-svc: turn", reservation, call("large-2")]);
    expect(named(spans, "turn")).toMatchObject({
      parentSpanId: trace.spanId,
      attributes: { "sluice.outcome": "completed" },
    });
  });

  test("can be found by the trace id in the log", async () => {
    const trace = newTrace();
    await (await sendRequest({ traceparent: trace.traceparent }, {})).text();
    for (const service of ["gateway", "inference-svc"]) {
      await installation.logged(service, `"trace_id":"${trace.traceId}"`);
    }
  });
});

describe("the trace of an administration request", () => {
  test("reaches down to the database statements", async () => {
    const trace = newTrace();
    const path = "/end-users/alice%40example.com";
    const response = await fetch(`${installation.baseUrl}${path}`, {
      headers: { authorization: `Bearer ${installation.managementKey}`, traceparent: trace.traceparent },
    });
    expect(response.status).toBe(404);
    const spans = await traced(trace, [
      "gateway: GET /api/v1/end-users/:user",
      ["admin-svc: sluice.admin.v1.AccessService/ResolveKey", ["admin-svc: select policy_generation"]],
      [
        "admin-svc: sluice.admin.v1.EndUserService/GetEndUser",
        ["admin-svc: select api_keys"],
        ["admin-svc: select end_users"],
      ],
    ]);
    const rpc = named(spans, "sluice.admin.v1.EndUserService/GetEndUser");
    expect(rpc.attributes).toMatchObject({ "rpc.system.name": "grpc", "rpc.response.status_code": "NOT_FOUND" });
    expect(rpc.failed).toBe(false);
    expect(named(spans, "select end_users").attributes).toEqual({
      "db.system.name": "postgresql",
      "db.operation.name": "select",
      "db.collection.name": "end_users",
      "db.query.summary": "select end_users",
    });
    expect(JSON.stringify(spans)).not.toContain("alice");
  });

  test("between the services themselves is not begun", () => {
    const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === "");
    expect(roots.filter(({ service }) => service !== "gateway")).toEqual([]);
  });
});

describe("tracing headers of a client", () => {
  const traceOf = async (response: Response): Promise<CollectedSpan> => {
    const id = response.headers.get("x-request-id");
    const find = () =>
      collector.spans.find(
        ({ attributes, kind, service }) =>
          attributes["sluice.request_id"] === id && kind === 2 && service === "gateway",
      );
    await eventually(() => find() !== undefined);
    return find() as CollectedSpan;
  };

  test.each([
    ["zeros", "00-00000000000000000000000000000000-0000000000000000-01"],
    ["capitals", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01"],
    ["a version that is none", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"],
    ["8 kB", `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-${"a".repeat(8_000)}`],
  ])("begin a new trace when they are %s", async (_, traceparent) => {
    const response = await sendRequest({ traceparent, baggage: "user=alice" }, {});
    expect(response.status).toBe(200);
    const edge = await traceOf(response);
    expect(edge.parentSpanId).toBe("");
    expect(edge.traceId).not.toMatch(/^4bf92f3577b34da6/i);
    await collector.trace(edge.traceId, sizeOf(request(...overTwo)));
  });

  test("are not sent to providers", async () => {
    await sendRequest({ traceparent: newTrace().traceparent, tracestate: "a=1", baggage: "b=2" }, {});
    const sent = [...first.requests, ...second.requests].flatMap(({ headers }) => Object.keys(headers));
    expect(sent.filter((name) => /trace|baggage|b3/.test(name))).toEqual([]);
  });

  test("are sent to a provider with this option, with a separate span for each call", async () => {
    const trace = newTrace();
    const busy = { status: 503, chunks: [{ json: { error: { message: "busy" } } }] };
    second.script([busy, chatAnswer({ role: "assistant", content: "Hello" })]);
    const before = second.requests.length;
    const body = { model: "own/model", provider: {} };
    await (await sendRequest({ traceparent: trace.traceparent, tracestate: "a=1", baggage: "b=2" }, body)).text();
    const spans = await traced(trace, request(reservation, call("own-model"), reservation, call("own-model")));
    const calls = spans.filter(({ name }) => name === "chat own-model").toSorted((a, b) => a.startMs - b.startMs);
    expect(second.requests.slice(before).map(({ headers }) => [headers["traceparent"], headers["tracestate"]])).toEqual(
      calls.map(({ spanId }) => [`00-${trace.traceId}-${spanId}-01`, "a=1"]),
    );
    expect(calls).toHaveLength(2);
    expect(second.requests.at(-1)?.headers["baggage"]).toBeUndefined();
  });

  test("are also sent through an AI SDK package", async () => {
    const trace = newTrace();
    await (await sendRequest({ traceparent: trace.traceparent }, { model: "package/model", provider: {} })).text();
    const spans = await traced(trace, request(reservation, call("package-model")));
    const { spanId } = named(spans, "chat package-model");
    expect(second.requests.at(-1)?.headers["traceparent"]).toBe(`00-${trace.traceId}-${spanId}-01`);
  });

  test("may exclude the trace", async () => {
    const { traceId, spanId } = newTrace();
    await (await sendRequest({ traceparent: `00-${traceId}-${spanId}-00` }, {})).text();
    const after = newTrace();
    await (await sendRequest({ traceparent: after.traceparent }, {})).text();
    await traced(after, request(...overTwo));
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });
});

test("the request's trace field becomes attributes and a link", async () => {
  const trace = newTrace();
  const linked = newTrace();
  const told = {
    trace_id: linked.traceId,
    parent_span_id: linked.spanId,
    trace_name: "checkout",
    generation_name: "summary",
    tenant: { id: 7 },
    retry: 2,
  };
  await (await sendRequest({ traceparent: trace.traceparent }, { trace: told })).text();
  const turn = named(await traced(trace, request(...overTwo)), "turn");
  expect(turn.links).toEqual([{ traceId: linked.traceId, spanId: linked.spanId }]);
  expect(turn.attributes).toMatchObject({
    "sluice.trace.trace_id": linked.traceId,
    "sluice.trace.trace_name": "checkout",
    "sluice.trace.generation_name": "summary",
    "sluice.trace.tenant": '{"id":7}',
    "sluice.trace.retry": 2,
  });
  expect(second.requests.at(-1)?.body).not.toContain("checkout");
});

test("every span has ended exactly once, without any text of the turn", async () => {
  const trace = newTrace();
  second.script([chatAnswer({ role: "assistant", content: "canary-out" })]);
  await (await sendRequest({ traceparent: trace.traceparent }, { input: "canary-in", user: "canary-user" })).text();
  await traced(trace, request(...overTwo));
  const ids = collector.spans.map(({ traceId, spanId }) => `${traceId}${spanId}`);
  expect(new Set(ids).size).toBe(ids.length);
  const everything = Buffer.concat([...collector.bodies]).toString();
  for (const secret of ["canary-", "hush-12345", key, installation.managementKey, "alice"]) {
    expect(everything).not.toContain(secret);
  }
  expect(collector.headers.every((headers) => headers["x-collector-key"] === "s3cret")).toBe(true);
});
