/** Idempotency-Key: equal concurrent requests are one turn, for every caller from its beginning, until the last has left. */
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { waitUntilStable } from "../support/clock.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import { validateError } from "../support/answers/published.ts";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { parseSse } from "../support/answers/sse.ts";
import { type Upstream, chatAnswer, chatChunk, chatStream, startUpstream } from "../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
limits: {streams_per_key: 8, status_gate_ms: 60000}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});
beforeEach(() => upstream.script([chatAnswer({ role: "assistant", content: "Hi" })]));

interface Asking {
  readonly idempotencyKey?: string;
  readonly key?: string;
  readonly signal?: AbortSignal;
}

const sendRequest = (body: object, { idempotencyKey = randomUUID(), key = installation.apiKey, signal }: Asking = {}) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
    },
    body: JSON.stringify({ model: "acme/large-2", input: "Hi", ...body }),
    ...(signal && { signal }),
  });

async function manage(method: string, path: string, body: object) {
  const answer = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.ok).toBe(true);
  return (await answer.json()) as { key: string; data: { hash: string; id: string } };
}

async function newKey(settings: object = {}): Promise<{ key: string; hash: string }> {
  const { key, data } = await manage("POST", "/keys", { name: "idempotent", ...settings });
  return { key, hash: data.hash };
}

/** Value of a metric of the gateway. */
async function figure(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${installation.ports.gateway_health}/metrics`)).text();
  return Number(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
}

/** Sends one word, and the rest of the answer when the returned function is called. */
function paused(): () => void {
  let goOn = () => {};
  const after = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const said = chatStream("One ", "two").chunks?.[0]?.sse ?? [];
  upstream.script([{ chunks: [{ sse: said.slice(0, 2) }, { sse: said.slice(2), after }] }, chatStream("again")]);
  return goOn;
}

/** Reads the stream until the text contains a given part. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, word: string): Promise<void> {
  const decoder = new TextDecoder();
  for (let text = ""; !text.includes(word); ) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`ended before ${word}`);
    text = text.slice(-word.length) + decoder.decode(value, { stream: true });
  }
}

/** Sends two requests on new connections, which the gateway reads after everything sent before. */
async function taken(): Promise<void> {
  for (let n = 0; n < 2; n++) {
    const { status } = await sendRaw(
      installation.ports.gateway,
      "GET /livez HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n\r\n",
    );
    expect(status).toBe(200);
  }
}

describe("hundreds of requests with one idempotency key at once", () => {
  test.each([false, true])(
    "with stream %s are one call of the provider, one record, and one answer",
    async (stream) => {
      const { key, hash } = await newKey();
      const before = upstream.requests.length;
      let goOn = () => {};
      const after = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const reply = stream ? chatStream("One ", "two") : chatAnswer({ role: "assistant", content: "One two" });
      upstream.script([{ ...reply, chunks: (reply.chunks ?? []).map((chunk) => ({ ...chunk, after })) }]);
      const idempotencyKey = randomUUID();
      const asked: Promise<Response>[] = [];
      // Batches of a hundred, because the system queues only some hundreds of unaccepted connections.
      while (asked.length < 300) {
        for (let n = 0; n < 100; n++) asked.push(sendRequest({ stream }, { idempotencyKey, key }));
        await eventually(() => upstream.requests.length > before);
        await taken();
      }
      goOn();
      const answers = await Promise.all(asked);
      const texts = await Promise.all(answers.map((answer) => answer.text()));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(new Set(texts).size).toBe(1);
      expect(new Set(answers.map(({ headers }) => headers.get("x-request-id"))).size).toBe(300);
      expect(new Set(answers.map(({ headers }) => headers.get("x-generation-id"))).size).toBe(1);
      expect(upstream.requests.length - before).toBe(1);
      await eventually(async () => (await requestsOf(hash)) === 1);
      await eventually(async () => (await figure("sluice_idempotency_log_bytes")) === 0);
      await eventually(async () => (await figure("sluice_open_turns")) === 0);
    },
  );

  async function requestsOf(hash: string): Promise<number> {
    const answer = await fetch(`${installation.baseUrl}/activity?api_key_hash=${hash}`, {
      headers: { authorization: `Bearer ${installation.managementKey}` },
    });
    const { data } = (await answer.json()) as { data: { requests: number }[] };
    return data.reduce((sum, row) => sum + row.requests, 0);
  }
});

describe("a later request with the idempotency key of an earlier one", () => {
  test("gets the answer from its beginning", async () => {
    const goOn = paused();
    const idempotencyKey = randomUUID();
    const first = await sendRequest({ stream: true }, { idempotencyKey });
    const reader = first.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    await readUntil(reader, "One ");
    const second = await sendRequest({ stream: true }, { idempotencyKey });
    goOn();
    const stream = parseSse(await second.text());
    await readUntil(reader, "[DONE]");
    expect(stream.done).toBe(true);
    expect(stream.events.map(({ sequence_number: number }) => number)).toEqual([...stream.events.keys()]);
    expect(stream.events.filter(({ type }) => type === "response.output_text.delta")).toHaveLength(2);
    expect(stream.events.at(-1)?.type).toBe("response.completed");
  });

  test("starts a new turn after the earlier one has ended", async () => {
    const before = upstream.requests.length;
    const idempotencyKey = randomUUID();
    const [one, two] = [await sendRequest({}, { idempotencyKey }), await sendRequest({}, { idempotencyKey })];
    expect([one.status, two.status, upstream.requests.length - before]).toEqual([200, 200, 2]);
    await eventually(async () => (await figure("sluice_idempotency_log_bytes")) === 0);
  });

  test("gets 422 with another body, and a separate turn with another API key or without an idempotency key", async () => {
    const goOn = paused();
    const idempotencyKey = randomUUID();
    const first = await sendRequest({ stream: true }, { idempotencyKey });
    const reader = first.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    await readUntil(reader, "One ");
    for (const body of [{ stream: true, input: "Ho" }, { stream: false }]) {
      const other = await sendRequest(body, { idempotencyKey });
      const refusal = (await other.json()) as { error: { message: string } };
      expect([other.status, other.headers.get("x-should-retry")]).toEqual([422, "false"]);
      expect(refusal.error.message).toBe("idempotency-key: another request is running under this key");
      expect(validateError(422, refusal)).toEqual([]);
    }
    const before = upstream.requests.length;
    const { key } = await newKey();
    const independent = await sendRequest({ stream: true }, { idempotencyKey, key });
    expect(await independent.text()).toContain("again");
    expect(upstream.requests.length - before).toBe(1);
    goOn();
    await readUntil(reader, "[DONE]");
  });

  test("does not join a turn that began before a guardrail was assigned to its key", async () => {
    const goOn = paused();
    const [{ key, hash }, idempotencyKey] = [await newKey(), randomUUID()];
    const first = await sendRequest({ stream: true }, { idempotencyKey, key });
    const reader = first.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    await readUntil(reader, "One ");
    await manage("PATCH", `/keys/${hash}`, { name: "called otherwise" });
    const joined = await sendRequest({ stream: true }, { idempotencyKey, key });
    const filters = [{ pattern: "two", action: "block" }];
    const { id } = (await manage("POST", "/guardrails", { name: "words", content_filters: filters })).data;
    await manage("POST", `/guardrails/${id}/assignments/keys`, { key_hashes: [hash] });
    const refused = await sendRequest({ stream: true }, { idempotencyKey, key });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    goOn();
    await readUntil(reader, "two");
    expect(await joined.text()).toContain("two");
  });

  test("gets the refusal of the earlier one", async () => {
    const idempotencyKey = randomUUID();
    let refuse = () => {};
    const after = new Promise<void>((resolve) => {
      refuse = resolve;
    });
    upstream.script([{ status: 400, chunks: [{ json: { error: { message: "no" } }, after }] }]);
    const before = upstream.requests.length;
    const asked = [1, 2, 3, 4].map(() => sendRequest({}, { idempotencyKey }));
    await taken();
    refuse();
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    expect(upstream.requests.length - before).toBe(1);
    const malformed = await Promise.all(
      [1, 2].map(() => sendRequest({ temperature: 9 }, { idempotencyKey: randomUUID() })),
    );
    expect(malformed.map(({ status }) => status)).toEqual([400, 400]);
  });
});

describe("a client that leaves a shared turn", () => {
  test("does not end the turn for the others; when the last one leaves, the provider call stops at once", async () => {
    paused();
    const idempotencyKey = randomUUID();
    const leaving = [new AbortController(), new AbortController()] as const;
    const readers = [];
    for (const { signal } of leaving) {
      const answer = await sendRequest({ stream: true }, { idempotencyKey, signal });
      const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
      await readUntil(reader, "One ");
      readers.push(reader);
    }
    let closed = false;
    const closing = upstream.nextClose().then(() => (closed = true));
    leaving[0].abort();
    await readers[0]?.closed.catch(() => {});
    // A third client can still join the turn.
    const third = new AbortController();
    const joined = await sendRequest({ stream: true }, { idempotencyKey, signal: third.signal });
    await readUntil(joined.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>, "One ");
    expect(closed).toBe(false);
    leaving[1].abort();
    third.abort();
    await closing;
    await eventually(async () => (await figure("sluice_open_turns")) === 0);
    await eventually(async () => (await figure("sluice_idempotency_log_bytes")) === 0);
  });

  test("before it has sent its body does not affect the others", async () => {
    const idempotencyKey = randomUUID();
    const body = JSON.stringify({ model: "acme/large-2", input: "Hi" });
    const head = rawRequest(
      "POST",
      "/api/v1/responses",
      [
        `Authorization: Bearer ${installation.apiKey}`,
        "Content-Type: application/json",
        `Idempotency-Key: ${idempotencyKey}`,
      ],
      body,
    );
    const socket = connect(installation.ports.gateway, "127.0.0.1");
    await new Promise((resolve) => socket.write(Buffer.from(head).subarray(0, head.length - 5), resolve));
    await eventually(async () => (await figure("sluice_open_turns")) === 1);
    const second = sendRequest({}, { idempotencyKey });
    // The second request waits for the answer to the first.
    expect(await Promise.race([second, taken()])).toBeUndefined();
    socket.destroy();
    const answer = await second;
    expect([answer.status, answer.headers.get("retry-after"), answer.headers.get("x-should-retry")]).toEqual([
      429,
      "1",
      "true",
    ]);
    expect((await sendRequest({}, { idempotencyKey })).status).toBe(200);
  });
});

/** Words of 64 KiB each; the returned function ends the answer. */
function long(words = 400): () => void {
  let finish = () => {};
  const after = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const word = chatChunk({ role: "assistant", content: "x".repeat(65_536) });
  const end = chatStream("end").chunks?.[0]?.sse?.slice(1) ?? [];
  upstream.script([
    {
      chunks: [
        { sse: [word], repeat: words },
        { sse: end, after },
      ],
    },
  ]);
  return finish;
}

test("a client that stops reading a shared turn slows no other, holds little memory, and is disconnected", async () => {
  const finish = long();
  const before = upstream.requests.length;
  const idempotencyKey = randomUUID();
  const slow = await sendRequest({ stream: true }, { idempotencyKey });
  const quick = await sendRequest({ stream: true }, { idempotencyKey });
  const reader = quick.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  let [read, largest] = [0, 0];
  const looking = (async () => {
    for (;;) {
      if (read >= 400 * 65_536) return;
      largest = Math.max(largest, await figure("sluice_idempotency_log_bytes"));
    }
  })();
  while (read < 400 * 65_536) read += (await reader.read()).value?.length ?? 0;
  await looking;
  expect(largest).toBeGreaterThan(0);
  expect(largest).toBeLessThan(5_000_000);
  await expect(slow.text()).rejects.toThrow();
  finish();
  await readUntil(reader, "[DONE]");
  expect(upstream.requests.length - before).toBe(1);
  await eventually(async () => (await figure("sluice_idempotency_log_bytes")) === 0);
});

test("the provider of a shared turn pauses while all clients pause, until a client reads on", async () => {
  // The answer is larger than the maximum of a receive buffer of Linux, 33 MB.
  const words = 600;
  const finish = long(words);
  const idempotencyKey = randomUUID();
  const already = upstream.bytesWritten;
  const both = [
    await sendRequest({ stream: true }, { idempotencyKey }),
    await sendRequest({ stream: true }, { idempotencyKey }),
  ];
  const written = await waitUntilStable(() => upstream.bytesWritten - already);
  expect(written).toBeLessThan(words * 65_536);
  finish();
  // Sockets buffer different amounts, so one client may fall too far behind.
  const [first] = (await Promise.allSettled(both.map((answer) => answer.text()))).flatMap((result) =>
    result.status === "fulfilled" ? [result.value] : [],
  );
  expect(parseSse(first ?? "").events.at(-1)?.type).toBe("response.completed");
});

describe("the Idempotency-Key header", () => {
  const status = async (idempotencyKey: string) => (await sendRequest({}, { idempotencyKey })).status;

  test("has 1 to 255 visible characters", async () => {
    expect(await status("k".repeat(255))).toBe(200);
    for (const wrong of ["k".repeat(256), "", "a b", "\u00e9"]) {
      const refused = await sendRequest({}, { idempotencyKey: wrong });
      expect(refused.status).toBe(400);
      expect(((await refused.json()) as { error: { message: string } }).error.message).toContain("idempotency-key");
    }
  });

  test("may be sent only once", async () => {
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(installation.ports.gateway, "127.0.0.1");
      socket.once("data", (bytes) => {
        resolve(bytes.toString());
        socket.destroy();
      });
      const headers = [`Authorization: Bearer ${installation.apiKey}`, "Idempotency-Key: a", "Idempotency-Key: b"];
      socket.write(rawRequest("POST", "/api/v1/responses", headers, "{}"));
    });
    expect(answer).toContain("HTTP/1.1 400");
    expect(answer).toContain("idempotency-key is sent more than once");
  });
});

test("a request that joins a shared turn counts as a request, and opens no turn", async () => {
  const { key } = await newKey({ requests_per_minute: 3, concurrent_requests: 1 });
  const goOn = paused();
  const idempotencyKey = randomUUID();
  const first = await sendRequest({ stream: true }, { idempotencyKey, key });
  const second = await sendRequest({ stream: true }, { idempotencyKey, key });
  expect([first, second].map(({ headers }) => headers.get("x-ratelimit-remaining-requests"))).toEqual(["2", "1"]);
  const alone = await sendRequest({ stream: true }, { key });
  expect([alone.status, alone.headers.get("x-ratelimit-remaining-requests")]).toEqual([429, "1"]);
  goOn();
  await Promise.all([first.text(), second.text()]);
  await (await sendRequest({ stream: true }, { key })).text();
  expect((await sendRequest({ stream: true }, { idempotencyKey, key })).status).toBe(429);
});
