import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Socket, connect } from "node:net";
import { findShortest } from "../support/clock.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import { rawRequest } from "../support/raw-http.ts";
import { parseSse } from "../support/answers/sse.ts";
import { type Upstream, chatChunk, chatStream, startUpstream } from "../support/providers/upstream.ts";

const begun = chatChunk({ content: "begun " });
const open = { chunks: [{ sse: [begun] }], hang: true };

describe("streams and their clients", () => {
  let upstream: Upstream;
  let installation: Installation;

  beforeAll(async () => {
    upstream = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1", timeouts: {idle_ms: 600000}}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
limits: {streams_per_key: 200, status_gate_ms: 300, keep_alive_ms: 1000, turn_ms: 4000}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
  });

  const post = (stream: boolean, signal?: AbortSignal) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large-2", input: "x", stream }),
      ...(signal && { signal }),
    });

  /** A stream over a separate socket that is never read. */
  function openSocket(): Socket {
    const headers = [`Authorization: Bearer ${installation.apiKey}`, "Content-Type: application/json"];
    const socket = connect(installation.ports.gateway, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(
      rawRequest("POST", "/api/v1/responses", headers, '{"model":"acme/large-2","input":"x","stream":true}'),
    );
    return socket;
  }

  /** Starts an action and waits for so many provider calls. An answer may begin earlier: the status gate waits for no provider. */
  async function asking<Begun>(count: number, begin: () => Begun): Promise<Begun> {
    const before = upstream.requests.length;
    const begun = begin();
    await eventually(() => upstream.requests.length >= before + count);
    return begun;
  }

  const openSockets = (count: number) => asking(count, () => Array.from({ length: count }, openSocket));

  async function untilQuiet(): Promise<void> {
    await eventually(() => upstream.openSockets === 0);
  }

  async function cancelOnce(stream: boolean): Promise<number> {
    const abort = new AbortController();
    const asked = upstream.nextRequest();
    const response = post(stream, abort.signal).catch(() => undefined);
    await asked;
    if (stream) await response;
    const closed = upstream.nextClose();
    const at = performance.now();
    abort.abort();
    const tookMs = (await closed) - at;
    await response;
    return tookMs;
  }

  test.each([true, false])(
    "stop the provider call within 100 ms when the client leaves (stream: %s)",
    async (stream) => {
      upstream.script([open]);
      // The next comment on the stream, which would also detect the leaving client, is a second away.
      expect(await findShortest(100, () => cancelOnce(stream))).toBeLessThan(100);
    },
  );

  // Node closes an HTTP/2 connection after 1,000 resets in a burst, so the calls are divided; the benchmark has the long form of this test.
  test("survive 1,500 cancels of other streams, fifty at a time", async () => {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    upstream.script([{ chunks: [{ sse: [begun] }, { after: finished, sse: [chatChunk({}, "stop"), "[DONE]"] }] }]);
    const posted = await asking(100, () => Array.from({ length: 100 }, () => post(true)));
    const innocent = await Promise.all(posted);
    upstream.script([open]);
    for (let round = 0; round < 30; round++) {
      const sockets = await openSockets(50);
      for (const socket of sockets) socket.destroy();
    }
    finish();
    const ends = await Promise.all(
      innocent.map(async (response) => parseSse(await response.text()).events.at(-1)?.type),
    );
    expect(ends).toEqual(Array.from({ length: 100 }, () => "response.completed"));
    await untilQuiet();
  }, 900_000);

  test("delay only their own provider when the client reads slowly", async () => {
    const words = "word ".repeat(2_000);
    upstream.script([{ chunks: [{ sse: [begun] }, { sse: [chatChunk({ content: words })], repeat: 10_000 }] }]);
    const before = upstream.bytesWritten;
    const stuck = await openSockets(5);
    const written = () => upstream.bytesWritten - before;
    // Settles after a quarter of a second without new bytes: every buffer in between is full.
    for (let last = -1; last !== written(); await new Promise((resolve) => setTimeout(resolve, 250))) last = written();
    // 5 x 100 MB were offered; sockets and windows take some MB each.
    expect(written()).toBeLessThan(5 * 30_000_000);
    upstream.script([chatStream("still ", "here")]);
    const healthy = await post(true);
    expect(parseSse(await healthy.text()).events.at(-1)?.type).toBe("response.completed");
    for (const socket of stuck) socket.destroy();
    await untilQuiet();
  });

  test("send comments in silences, before the first event and between events", async () => {
    let speak = () => {};
    const spoken = new Promise<void>((resolve) => {
      speak = resolve;
    });
    upstream.script([{ chunks: [{ after: spoken, sse: [begun, chatChunk({}, "stop"), "[DONE]"] }] }]);
    const response = await post(true);
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readUntil = async (pattern: RegExp) => {
      while (!pattern.test(text)) {
        const { value, done } = await reader.read();
        if (done) return;
        text += value;
      }
    };
    // The gate has opened without an event of the provider: the stream is open, with keep-alive comments.
    await readUntil(/response\.in_progress[^]*: PROCESSING[^]*: PROCESSING/);
    speak();
    await readUntil(/\[DONE\]\n\n$/);
    expect(parseSse(text).events.map((event) => event.sequence_number)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("are limited for a key, which may open another when one ends", async () => {
    upstream.script([open]);
    const sockets = await openSockets(200);
    const refused = await post(true);
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("x-should-retry")]).toEqual([
      429,
      "1",
      "true",
    ]);
    await refused.text();
    for (const socket of sockets) socket.destroy();
    await untilQuiet();
    upstream.script([chatStream("free")]);
    const served = await post(true);
    expect(served.status).toBe(200);
    await served.text();
  });

  test("end with 408 beyond the time limit when the turn has no stream", async () => {
    upstream.script([{ hang: true }]);
    const response = await post(false);
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([408, "false"]);
    expect(await response.json()).toMatchObject({ error: { code: 408 } });
    await untilQuiet();
  });
});
