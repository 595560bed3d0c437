/** The metadata idempotency-key of RunTurn and CreateResponse: equal concurrent calls are one turn, as over HTTP. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { type Fault, FaultReason, FaultSchema } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { RunTurnRequest, TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { fetchGeneration } from "../../support/providers/generation.ts";
import { turnRequest } from "../../support/answers/run-turn.ts";
import { type Reply, type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

const serviceToken = "t".repeat(64);
const model = "acme/large-2";
const streamed = turnRequest(model, "Count.", { stream: true });
const whole = turnRequest(model, "Count.");

let upstream: Upstream;
let installation: Installation;
let client: ReturnType<typeof createClient<typeof InferenceService>>;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    environment: { SLUICE_SERVICE_TOKEN: serviceToken },
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: ${model}, endpoints: [{provider: acme}]}
`,
  });
  client = createClient(
    InferenceService,
    createGrpcTransport({ baseUrl: `http://127.0.0.1:${installation.ports.inference}` }),
  );
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});
beforeEach(() => upstream.script([chatAnswer({ role: "assistant", content: "Hi" })]));

interface Calling {
  readonly idempotencyKey: string;
  readonly key?: string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly onHeader?: (headers: Headers) => void;
}

function optionsOf({ idempotencyKey, key = installation.apiKey, headers, signal, timeoutMs, onHeader }: Calling) {
  return {
    headers: headers ?? { authorization: `Bearer ${key}`, "idempotency-key": idempotencyKey },
    ...(signal && { signal }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(onHeader && { onHeader }),
  };
}

/** A call of RunTurn, with its events so far. */
class Reading {
  readonly events: TurnEvent[] = [];
  readonly #batches: AsyncIterator<{ readonly events: TurnEvent[] }>;

  constructor(calling: Calling, request = streamed) {
    this.#batches = client.runTurn(request, optionsOf(calling))[Symbol.asyncIterator]();
  }

  async read(): Promise<boolean> {
    const { value, done } = await this.#batches.next();
    if (value) this.events.push(...value.events);
    return done !== true;
  }

  async finish(): Promise<readonly TurnEvent[]> {
    while (await this.read());
    return this.events;
  }
}

const create = async (calling: Calling, request = whole) =>
  Buffer.from((await client.createResponse({ request }, optionsOf(calling))).responseJson).toString();

async function failureOf(
  outcome: Promise<unknown>,
): Promise<{ readonly code: Code; readonly fault: Fault | undefined }> {
  const error = await outcome.then(
    () => undefined,
    (failure: unknown) => ConnectError.from(failure),
  );
  if (!error) throw new Error("the call did not fail");
  return { code: error.code, fault: error.findDetails(FaultSchema)[0] };
}

/** An answer held until `release` is called. */
function held(): { readonly reply: Reply; readonly release: () => void } {
  let release = () => {};
  const after = new Promise<void>((resolve) => {
    release = resolve;
  });
  const chunks = [
    { sse: [chatChunk({ content: "One, " })] },
    { after, sse: [chatChunk({ content: "two." }), chatChunk({}, "stop"), "[DONE]"] },
  ];
  return { reply: { chunks }, release: () => release() };
}

/** Value of a metric of inference-svc. */
async function figure(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${installation.ports.inference_health}/metrics`)).text();
  return Number(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
}

async function manage(method: string, path: string, body: object) {
  const answer = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.ok).toBe(true);
  return (await answer.json()) as { key: string; data: { hash: string; id: string } };
}

const newKey = () => manage("POST", "/keys", { name: "idempotent" });

describe("gRPC calls with the same idempotency key and request", () => {
  test("are one turn with RunTurn, and late callers get it from its first event", async () => {
    const idempotencyKey = randomUUID();
    const { reply, release } = held();
    upstream.script([reply]);
    const before = upstream.requests.length;
    let headers = new Headers();
    const first = new Reading({ idempotencyKey, onHeader: (sent) => (headers = sent) });
    await first.read();
    const second = new Reading({ idempotencyKey });
    await second.read();
    expect(second.events.slice(0, 1)).toEqual(first.events.slice(0, 1));
    release();
    expect(await second.finish()).toEqual(await first.finish());
    expect(first.events.at(-1)?.event.case).toBe("end");
    expect(upstream.requests.length - before).toBe(1);
    expect((await fetchGeneration(installation, { headers })).provider_responses).toHaveLength(1);
    await eventually(async () => (await figure("sluice_idempotency_log_bytes")) === 0);
  });

  test("get the same bytes with CreateResponse", async () => {
    const idempotencyKey = randomUUID();
    const { key, data } = await newKey();
    const { reply, release } = held();
    upstream.script([reply]);
    const before = upstream.requests.length;
    const asked = upstream.nextRequest();
    const asService = {
      "x-sluice-service-token": serviceToken,
      "x-sluice-key-hash": data.hash,
      "idempotency-key": idempotencyKey,
    };
    expect(data.hash).toBe(hashKey(key));
    const created = [create({ idempotencyKey, key })];
    await asked;
    for (let n = 0; n < 19; n++)
      created.push(create({ idempotencyKey, key, ...(n % 2 === 0 && { headers: asService }) }));
    // Once the last call on the connection has joined and been refused, all earlier calls have joined, too.
    await failureOf(create({ idempotencyKey, key }, turnRequest(model, "Another.")));
    release();
    const texts = await Promise.all(created);
    expect(new Set(texts).size).toBe(1);
    expect(JSON.parse(texts[0] as string)).toMatchObject({ status: "completed" });
    expect(upstream.requests.length - before).toBe(1);
  });

  test("are another turn after the first has ended", async () => {
    const idempotencyKey = randomUUID();
    const before = upstream.requests.length;
    const [one, two] = [await create({ idempotencyKey }), await create({ idempotencyKey })];
    expect(JSON.parse(one)).not.toMatchObject({ id: (JSON.parse(two) as { id: string }).id });
    expect(upstream.requests.length - before).toBe(2);
  });

  test("share a failure", async () => {
    const idempotencyKey = randomUUID();
    let fail = () => {};
    const after = new Promise<void>((resolve) => {
      fail = resolve;
    });
    upstream.script([{ chunks: [{ sse: [chatChunk({ content: "half" })] }, { after, bytes: "" }], cut: true }]);
    const both = [new Reading({ idempotencyKey }), new Reading({ idempotencyKey })] as const;
    await both[0].read();
    await both[1].read();
    fail();
    for (const reading of both) {
      const { fault } = await failureOf(reading.finish());
      expect(fault?.reason).toBe(FaultReason.PROVIDER_FAILED);
    }
  });
});

describe("a gRPC call with the idempotency key of a running call", () => {
  test("is refused with another request or method; a call with another key is a separate turn", async () => {
    const idempotencyKey = randomUUID();
    const { reply, release } = held();
    upstream.script([reply, chatAnswer({ role: "assistant", content: "Hi" })]);
    const first = new Reading({ idempotencyKey });
    await first.read();
    const other: RunTurnRequest = turnRequest(model, "Another.", { stream: true });
    for (const refused of [new Reading({ idempotencyKey }, other).finish(), create({ idempotencyKey })]) {
      const { code, fault } = await failureOf(refused);
      expect([code, fault?.reason]).toEqual([Code.InvalidArgument, FaultReason.UNPROCESSABLE]);
      expect(fault?.message).toBe("idempotency-key: another request is running under this key");
    }
    const { key } = await newKey();
    expect(JSON.parse(await create({ idempotencyKey, key }))).toMatchObject({ status: "completed" });
    release();
    await first.finish();
  });

  test("starts a separate turn when the policy of its key has changed", async () => {
    const idempotencyKey = randomUUID();
    const { key, data } = await newKey();
    const { reply, release } = held();
    upstream.script([reply]);
    const first = new Reading({ idempotencyKey, key });
    await first.read();
    const filters = [{ pattern: "two", action: "block" }];
    const guardrail = await manage("POST", "/guardrails", { name: "words", content_filters: filters });
    await manage("POST", `/guardrails/${guardrail.data.id}/assignments/keys`, { key_hashes: [data.hash] });
    const { code, fault } = await failureOf(new Reading({ idempotencyKey, key }).finish());
    expect([code, fault?.reason]).toEqual([Code.ResourceExhausted, FaultReason.RATE_LIMITED]);
    release();
    await first.finish();
  });

  test("continues for others when callers leave or time out, and ends with the last caller", async () => {
    const idempotencyKey = randomUUID();
    upstream.script([{ chunks: [{ sse: [chatChunk({ content: "One" })] }], hang: true }]);
    const [leaving, later] = [new AbortController(), new AbortController()];
    const first = new Reading({ idempotencyKey, signal: leaving.signal });
    await first.read();
    const hasty = new Reading({ idempotencyKey, timeoutMs: 500 });
    const second = new Reading({ idempotencyKey, signal: later.signal });
    await second.read();
    leaving.abort();
    expect((await failureOf(first.finish())).code).toBe(Code.Canceled);
    expect((await failureOf(hasty.finish())).code).toBe(Code.DeadlineExceeded);
    const last = new AbortController();
    const joined = new Reading({ idempotencyKey, signal: last.signal });
    await joined.read();
    later.abort();
    expect((await failureOf(second.finish())).code).toBe(Code.Canceled);
    expect(await figure("sluice_open_turns")).toBe(1);
    const closed = upstream.nextClose();
    last.abort();
    await failureOf(joined.finish());
    await closed;
    await eventually(async () => (await figure("sluice_open_turns")) === 0);
    await eventually(async () => (await figure("sluice_idempotency_log_bytes")) === 0);
  });
});

test("a caller that reads a shared gRPC call far more slowly than another is cut off", async () => {
  const idempotencyKey = randomUUID();
  const { reply, release } = held();
  const [head, tail] = reply.chunks ?? [];
  const long = { sse: [chatChunk({ content: "x".repeat(65_536) })], repeat: 200 };
  upstream.script([{ chunks: [head ?? {}, { ...tail, sse: [] }, long, { sse: [chatChunk({}, "stop"), "[DONE]"] }] }]);
  const [slow, quick] = [new Reading({ idempotencyKey }), new Reading({ idempotencyKey })];
  await slow.read();
  await quick.read();
  release();
  expect((await quick.finish()).at(-1)?.event.case).toBe("end");
  const { code, fault } = await failureOf(slow.finish());
  expect([code, fault?.message]).toEqual([
    Code.Unavailable,
    "Other callers with this idempotency-key read much faster",
  ]);
  await eventually(async () => (await figure("sluice_idempotency_log_bytes")) === 0);
});

test("an idempotency key has 1 to 255 visible characters", async () => {
  for (const idempotencyKey of ["a".repeat(256), "a b"]) {
    const { code, fault } = await failureOf(create({ idempotencyKey }));
    expect(code).toBe(Code.InvalidArgument);
    expect(fault?.message).toContain("idempotency-key");
  }
  expect(JSON.parse(await create({ idempotencyKey: "a".repeat(255) }))).toMatchObject({ status: "completed" });
});
