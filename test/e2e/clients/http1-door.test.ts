import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { connect } from "node:net";
import { Code, ConnectError, type Transport, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { portsOf, replicasOf } from "@sluice/local/ports.js";
import { readSettings } from "@sluice/local/settings.js";
import { FaultReason, FaultSchema } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { RunTurnRequest, TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { findShortest } from "../../support/clock.ts";
import { freePort } from "../../support/runner/free-ports.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { rawRequest } from "../../support/raw-http.ts";
import { turnRequest } from "../../support/answers/run-turn.ts";
import { type Reply, type Upstream, chatChunk, chatStream, startUpstream } from "../../support/providers/upstream.ts";

const model = "acme/large-2";
const begun: Reply = { chunks: [{ sse: [chatChunk({ content: "begun " })] }], hang: true };
const runTurnPath = "/sluice.inference.v1.InferenceService/RunTurn";

/** A length and flags before each message: the stream format of Connect. */
function envelope(message: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(json.length, 1);
  return Buffer.concat([head, json]);
}

interface Message {
  /** The last message: an error, or an empty object. */
  readonly last: boolean;
  readonly json: Record<string, unknown>;
}

function messagesIn(body: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    const json = JSON.parse(body.subarray(at + 5, end).toString()) as Record<string, unknown>;
    messages.push({ last: body[at] === 2, json });
    at = end;
  }
  return messages;
}

describe("the HTTP/1.1 door of the inference service", () => {
  let upstream: Upstream;
  let installation: Installation;
  let door: string;
  const transports: Record<string, Transport> = {};

  beforeAll(async () => {
    upstream = await startUpstream();
    installation = await startInstallation({
      environment: { SLUICE_INFERENCE_HTTP_PORT: String(await freePort()) },
      config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: ${model}, endpoints: [{provider: acme}]}
cors: {allow_origins: ["https://app.example"]}
`,
    });
    door = `http://127.0.0.1:${installation.ports.inference_http}`;
    const options = { baseUrl: door, httpVersion: "1.1" } as const;
    transports["Connect"] = createConnectTransport(options);
    transports["Connect with JSON"] = createConnectTransport({ ...options, useBinaryFormat: false });
    transports["gRPC-Web"] = createGrpcWebTransport(options);
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
  });

  const clientOf = (name: string) => createClient(InferenceService, transports[name] as Transport);
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

  async function openTurns(): Promise<number> {
    const metrics = await (await fetch(`http://127.0.0.1:${installation.ports.inference_health}/metrics`)).text();
    return Number(/^sluice_open_turns\{[^}]*\} (\d+)$/m.exec(metrics)?.[1]);
  }

  async function untilNothingIsOpen(): Promise<void> {
    await eventually(() => upstream.openSockets === 0);
    await eventually(async () => (await openTurns()) === 0);
  }

  const stream = turnRequest(model, "Count.", { stream: true });
  const streamJson = { model, inputJson: Buffer.from('"Count."').toString("base64"), stream: true };

  const postStream = (message: unknown, headers: Record<string, string>, signal?: AbortSignal) =>
    fetch(door + runTurnPath, {
      method: "POST",
      headers: { "content-type": "application/connect+json", ...headers },
      body: envelope(message),
      ...(signal && { signal }),
    });

  async function eventsOf(name: string, request: RunTurnRequest): Promise<TurnEvent[]> {
    const events: TurnEvent[] = [];
    for await (const batch of clientOf(name).runTurn(request, { headers: bearer(installation.apiKey) })) {
      events.push(...batch.events);
    }
    return events;
  }

  async function errorOf(name: string, key: string, request = stream): Promise<ConnectError> {
    try {
      for await (const _ of clientOf(name).runTurn(request, { headers: bearer(key) }));
    } catch (error) {
      return ConnectError.from(error);
    }
    throw new Error("the turn did not fail");
  }

  describe.each(["Connect", "Connect with JSON", "gRPC-Web"])("with %s", (name) => {
    test("streams a turn", async () => {
      upstream.script([chatStream("One, ", "two.")]);
      const events = await eventsOf(name, stream);
      expect(events.map(({ event }) => event.case)).toEqual([
        "start",
        "itemStart",
        "textDelta",
        "textDelta",
        "itemEnd",
        "end",
      ]);
      const texts = events.map(({ event }) => (event.case === "textDelta" ? event.value.delta : ""));
      expect(texts.join("")).toBe("One, two.");
    });

    test("lists the models", async () => {
      const { models } = await clientOf(name).listModels({}, { headers: bearer(installation.apiKey) });
      expect(models.map(({ id }) => id)).toEqual([model]);
    });

    test("refuses a wrong key with the same Fault as every other door", async () => {
      const before = upstream.requests.length;
      const error = await errorOf(name, "sk-sl-nonsense");
      expect(error.code).toBe(Code.Unauthenticated);
      const [fault] = error.findDetails(FaultSchema);
      expect(fault).toMatchObject({ reason: FaultReason.UNAUTHENTICATED, message: "Invalid API key" });
      expect(upstream.requests.length).toBe(before);
    });

    test("reports a failure of the provider with its Fault", async () => {
      upstream.script([{ status: 429, headers: { "retry-after": "7" }, chunks: [{ json: {} }] }]);
      const error = await errorOf(name, installation.apiKey);
      expect(error.code).toBe(Code.ResourceExhausted);
      const [fault] = error.findDetails(FaultSchema);
      expect(fault?.reason).toBe(FaultReason.RATE_LIMITED);
      // The provider named a wait of seven seconds, of which less than one has passed.
      expect(Math.ceil((fault?.retryAfterMs ?? 0) / 1_000)).toBe(7);
    });

    test("stops its provider call when the client leaves", async () => {
      upstream.script([begun]);
      const abort = new AbortController();
      const batches = clientOf(name).runTurn(stream, { headers: bearer(installation.apiKey), signal: abort.signal });
      const reading = batches[Symbol.asyncIterator]();
      await reading.next();
      expect(upstream.openSockets).toBeGreaterThan(0);
      abort.abort();
      await expect(reading.next()).rejects.toMatchObject({ code: Code.Canceled });
      await untilNothingIsOpen();
    });
  });

  describe("with plain fetch", () => {
    test("streams a turn", async () => {
      upstream.script([chatStream("One, ", "two.")]);
      const response = await postStream(streamJson, bearer(installation.apiKey));
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/connect+json"]);
      const messages = messagesIn(Buffer.from(await response.arrayBuffer()));
      expect(messages.map(({ last }) => last).indexOf(true)).toBe(messages.length - 1);
      const events = messages.flatMap(({ json }) => (json["events"] ?? []) as Record<string, { delta?: string }>[]);
      expect(events.map((event) => event["textDelta"]?.delta ?? "").join("")).toBe("One, two.");
      expect(messages.at(-1)?.json).not.toHaveProperty("error");
    });

    test("refuses a wrong key with the Fault as JSON, in a stream and before one", async () => {
      const expected = {
        code: "unauthenticated",
        message: "Invalid API key",
        details: [{ type: "sluice.common.v1.Fault", debug: { reason: "FAULT_REASON_UNAUTHENTICATED" } }],
      };
      const inStream = await postStream(streamJson, bearer("sk-sl-nonsense"));
      expect(messagesIn(Buffer.from(await inStream.arrayBuffer()))).toMatchObject([
        { last: true, json: { error: expected } },
      ]);
      const before = await fetch(`${door}/sluice.inference.v1.InferenceService/ListModels`, {
        method: "POST",
        headers: { "content-type": "application/json", ...bearer("sk-sl-nonsense") },
        body: "{}",
      });
      expect(before.status).toBe(401);
      expect(await before.json()).toMatchObject(expected);
    });

    test("stops its provider call within 100 ms when the client leaves", async () => {
      upstream.script([begun]);
      const leaveOnce = async () => {
        const abort = new AbortController();
        const response = await postStream(streamJson, bearer(installation.apiKey), abort.signal);
        await (response.body as ReadableStream<Uint8Array>).getReader().read();
        const closed = upstream.nextClose();
        const at = performance.now();
        abort.abort();
        return (await closed) - at;
      };
      expect(await findShortest(100, leaveOnce)).toBeLessThan(100);
      await untilNothingIsOpen();
      // A leaving client is no failure of the service, so nothing is logged.
      expect(await installation.allLogged()).not.toContain('"msg":"rpc failed"');
    });

    test("opens no connection to a provider after the deadline", async () => {
      await untilNothingIsOpen();
      let opened = false;
      void upstream.nextClose().then(() => {
        opened = true;
      });
      for (let n = 0; n < 20; n++) {
        const response = await postStream(streamJson, { ...bearer(installation.apiKey), "connect-timeout-ms": "0" });
        expect(messagesIn(Buffer.from(await response.arrayBuffer()))).toMatchObject([
          { last: true, json: { error: { code: "deadline_exceeded" } } },
        ]);
      }
      await untilNothingIsOpen();
      expect(opened).toBe(false);
    });

    test("refuses a message of more than 48 MiB by its declared length", async () => {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(48 * 1024 * 1024 + 1, 1);
      const response = await fetch(door + runTurnPath, {
        method: "POST",
        headers: { "content-type": "application/connect+json", ...bearer(installation.apiKey) },
        body: head,
      });
      expect(messagesIn(Buffer.from(await response.arrayBuffer()))).toMatchObject([
        { last: true, json: { error: { code: "resource_exhausted" } } },
      ]);
    });

    test("answers health checks, and refuses a session", async () => {
      const post = (path: string, type: string, body: string) =>
        fetch(door + path, { method: "POST", headers: { "content-type": type }, body });
      const health = await post("/grpc.health.v1.Health/Check", "application/json", "{}");
      expect(await health.json()).toEqual({ status: "SERVING" });
      const session = await post("/sluice.inference.v1.InferenceService/Session", "application/connect+json", "");
      expect(session.status).toBe(505);
      await session.arrayBuffer();
    });

    test("answers pages of configured origins, and no other pages", async () => {
      const preflight = (origin: string) =>
        fetch(door + runTurnPath, {
          method: "OPTIONS",
          headers: { origin, "access-control-request-method": "POST" },
        });
      const allowed = await preflight("https://app.example");
      expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([
        204,
        "https://app.example",
      ]);
      expect(allowed.headers.get("access-control-expose-headers")).toContain("Grpc-Status");
      const refused = await preflight("https://other.example");
      expect(refused.headers.get("access-control-allow-origin")).toBeNull();
    });
  });

  const rawTurn = () =>
    rawRequest(
      "POST",
      runTurnPath,
      [`Authorization: Bearer ${installation.apiKey}`, "Content-Type: application/connect+json"],
      envelope(streamJson),
    );

  test("delays only the provider call of a slow reader, and leaves nothing open", async () => {
    const words = "word ".repeat(2_000);
    upstream.script([{ chunks: [{ sse: [chatChunk({ content: words })], repeat: 10_000 }] }]);
    const before = { asked: upstream.requests.length, bytes: upstream.bytesWritten };
    const sockets = Array.from({ length: 8 }, () => connect(Number(new URL(door).port), "127.0.0.1"));
    for (const socket of sockets) socket.on("error", () => {}).write(rawTurn());
    await eventually(() => upstream.requests.length === before.asked + 8);
    const written = () => upstream.bytesWritten - before.bytes;
    for (let last = -1; last !== written(); await new Promise((resolve) => setTimeout(resolve, 250))) last = written();
    // 8 x 100 MB were offered; sockets and flow control windows take some MB each.
    expect(written()).toBeLessThan(8 * 30_000_000);
    upstream.script([chatStream("still ", "here")]);
    expect((await eventsOf("Connect", stream)).at(-1)?.event.case).toBe("end");
    for (const socket of sockets) socket.destroy();
    await untilNothingIsOpen();
  });

  test("stops the queued calls of a client that leaves during its first call on the connection", async () => {
    upstream.script([begun]);
    const before = upstream.requests.length;
    const socket = connect(Number(new URL(door).port), "127.0.0.1");
    socket.on("error", () => {}).write(Buffer.concat([rawTurn(), rawTurn()]));
    await eventually(() => upstream.requests.length === before + 2);
    socket.destroy();
    await untilNothingIsOpen();
  });

  test("lets the running turn end on SIGTERM, and takes no other", async () => {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    upstream.script([
      {
        chunks: [
          { sse: [chatChunk({ content: "begun " })] },
          { after: finished, sse: [chatChunk({ content: "done" }), chatChunk({}, "stop"), "[DONE]"] },
        ],
      },
    ]);
    const response = await postStream(streamJson, bearer(installation.apiKey));
    process.kill(installation.pids()["inference-svc"] as number, "SIGTERM");
    await eventually(async () => {
      const other = await postStream(streamJson, bearer(installation.apiKey)).catch(() => undefined);
      await other?.body?.cancel();
      return other === undefined;
    });
    finish();
    const messages = messagesIn(Buffer.from(await response.arrayBuffer()));
    expect(messages.at(-1)).toEqual({ last: true, json: {} });
    expect(JSON.stringify(messages)).toContain('"end"');
  });
});

describe("the port of the HTTP/1.1 door", () => {
  const ports = (environment: NodeJS.ProcessEnv) => replicasOf(portsOf(readSettings(environment)), 2);

  test("is closed by default, and differs for each replica", () => {
    expect(ports({}).map(({ http }) => http)).toEqual([undefined, undefined]);
    expect(ports({ SLUICE_INFERENCE_HTTP_PORT: "8091" }).map(({ http }) => http)).toEqual([8091, 8191]);
  });
});
