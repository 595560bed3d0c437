import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { type Socket, connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { rawRequest } from "../../support/raw-http.ts";
import { type Upstream, chatChunk, chatStream, startUpstream } from "../../support/providers/upstream.ts";
import { Random } from "../../support/random.ts";
import { fixedSeed } from "../../support/runner/fixed-seed.ts";

const random = new Random(fixedSeed);

const begun = { chunks: [{ sse: [chatChunk({ content: "begun " })] }], hang: true };

/** The ways in which a client ends its connection. */
const ways: Readonly<Record<string, (socket: Socket) => unknown>> = {
  closes: (socket) => socket.destroy(),
  "says that it is done": (socket) => socket.end(),
  resets: (socket) => socket.resetAndDestroy(),
};

describe("a client that leaves at any moment leaves nothing open:", () => {
  let upstream: Upstream;
  let failing: Upstream;
  let installation: Installation;

  beforeAll(async () => {
    upstream = await startUpstream();
    failing = await startUpstream([{ status: 500, chunks: [{ json: {} }] }]);
    installation = await startInstallation({
      config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: failing, dialect: chat, base_url: "${failing.url}/v1"}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
  - {id: acme/second-choice, endpoints: [{provider: failing}, {provider: acme}]}
limits: {streams_per_key: 1000, status_gate_ms: 20, keep_alive_ms: 100}
`,
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
    await failing?.stop();
  });
  beforeEach(() => upstream.script([begun]));

  const request = (key: string, stream: boolean, model = "acme/large-2") =>
    rawRequest(
      "POST",
      "/api/v1/responses",
      [`Authorization: Bearer ${key}`, "Content-Type: application/json"],
      JSON.stringify({ model, input: "x", stream }),
    );

  function send(...requests: readonly (Uint8Array | string)[]): Socket {
    const socket = connect(installation.ports.gateway, "127.0.0.1");
    socket.on("error", () => {});
    for (const bytes of requests) socket.write(bytes);
    return socket;
  }

  const askedTimes = (count: number) => eventually(() => upstream.requests.length >= count);

  /** Metrics of a process, as scraped. */
  async function openTurns(port: number): Promise<number> {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/^sluice_open_turns\{[^}]*\} (\d+)$/m.exec(metrics)?.[1]);
  }

  async function untilNothingIsOpen(): Promise<void> {
    await eventually(() => upstream.openSockets === 0);
    await eventually(async () => (await openTurns(installation.ports.gateway_health)) === 0);
    await eventually(async () => (await openTurns(installation.ports.inference_health)) === 0);
  }

  // Both kinds of answer, with and without a failed attempt before the answer that the client leaves.
  test.each([
    [true, "acme/large-2"],
    [false, "acme/large-2"],
    [true, "acme/second-choice"],
    [false, "acme/second-choice"],
  ] as const)("at a random moment (stream: %s, %s)", async (stream, model) => {
    const leave = Object.values(ways);
    let windowMs = 20;
    let asked = 0;
    for (let round = 0; round < 30; round++) {
      const before = upstream.requests.length;
      const leaving = Array.from({ length: 10 }, async (_, n) => {
        const socket = send(request(installation.apiKey, stream, model));
        await delay(random.next() * windowMs);
        leave[n % leave.length]?.(socket);
      });
      await Promise.all(leaving);
      const reached = upstream.requests.length - before;
      asked += reached;
      // About half before the provider call, half after, on any machine.
      windowMs *= reached > 5 ? 0.8 : 1.25;
    }
    expect(asked).toBeGreaterThan(0);
    await untilNothingIsOpen();
  });

  test.each(Object.keys(ways))("while its requests wait behind another on the connection: %s", async (way) => {
    const before = upstream.requests.length;
    const socket = send(...[true, true, false].map((stream) => request(installation.apiKey, stream)));
    await askedTimes(before + 3);
    ways[way]?.(socket);
    await untilNothingIsOpen();
  });

  test("after queued requests and invalid bytes, which end the connection without mixing answers", async () => {
    const before = upstream.requests.length;
    const socket = send(request(installation.apiKey, true), request(installation.apiKey, false));
    await askedTimes(before + 2);
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    await eventually(() => text.includes("begun "));
    socket.write("nonsense\r\n\r\n");
    await once(socket, "close");
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    await untilNothingIsOpen();
  });

  test("while inference-svc looks up the key", async () => {
    const before = upstream.requests.length;
    const admin = installation.pids()["admin-svc"] as number;
    let key = "";
    const leaveOnce = async () => {
      const created = await installation.admin("keys", "create", "--name", "new", "--json");
      ({ key } = JSON.parse(created.stdout) as { key: string });
      // The gateway learns the key from a request that it refuses by itself; inference-svc does not.
      const refused = await fetch(`${installation.baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: "{",
      });
      expect(refused.status).toBe(400);
      await refused.text();
      process.kill(admin, "SIGSTOP");
      try {
        let text = "";
        const socket = send(request(key, true));
        socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        let waiting = false;
        const over = () => /^HTTP\/1\.1 5|\[DONE\]/.test(text);
        await eventually(async () => {
          waiting = (await openTurns(installation.ports.inference_health)) === 1;
          return waiting || over();
        });
        socket.destroy();
        if (waiting) await eventually(async () => (await openTurns(installation.ports.gateway_health)) === 0);
        return waiting;
      } finally {
        process.kill(admin, "SIGCONT");
      }
    };
    // Each attempt gives up after two seconds, so a slow machine tries again.
    await eventually(leaveOnce);
    await untilNothingIsOpen();
    expect(upstream.requests.length).toBe(before);
    upstream.script([chatStream("here")]);
    const served = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large-2", input: "x", stream: true }),
    });
    expect(await served.text()).toContain("response.completed");
  });

  test("while reading nothing of its direct call to inference-svc", async () => {
    const words = "word ".repeat(2_000);
    upstream.script([{ chunks: [{ sse: [chatChunk({ content: words })], repeat: 1_000 }] }]);
    const json = JSON.stringify({ model: "acme/large-2", inputJson: btoa('"x"'), stream: true });
    const message = Buffer.concat([Buffer.alloc(5), Buffer.from(json)]);
    message.writeUInt32BE(json.length, 1);
    const before = upstream.requests.length;
    const sessions = Array.from({ length: 10 }, () => connectHttp2(`http://127.0.0.1:${installation.ports.inference}`));
    for (const session of sessions) {
      const call = session.request({
        ":method": "POST",
        ":path": "/sluice.inference.v1.InferenceService/RunTurn",
        "content-type": "application/connect+json",
        authorization: `Bearer ${installation.apiKey}`,
      });
      call.on("error", () => {}).end(message);
    }
    await askedTimes(before + 10);
    const written = () => upstream.bytesWritten;
    for (let last = -1; last !== written(); await delay(250)) last = written();
    for (const session of sessions) session.destroy();
    await untilNothingIsOpen();
  });

  test("when the gateway dies", async () => {
    const before = upstream.requests.length;
    for (const stream of [true, false]) for (let n = 0; n < 10; n++) send(request(installation.apiKey, stream));
    await askedTimes(before + 20);
    process.kill(installation.pids()["gateway"] as number, "SIGKILL");
    await eventually(() => upstream.openSockets === 0);
    // After its restart, an inference-svc in the gateway's process answers again.
    await eventually(async () => (await openTurns(installation.ports.inference_health).catch(() => Number.NaN)) === 0);
  });
});
