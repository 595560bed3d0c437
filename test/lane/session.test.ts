/** Sessions on real sockets: between processes of this build, with those of earlier builds, with unauthorized callers and with hostile bytes. */
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders, connect } from "node:http2";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { create, toBinary } from "@bufbuild/protobuf";
import type { ClientDuplexStream } from "@grpc/grpc-js";
import { Lane } from "@sluice/gateway/lane/lane.js";
import { sessionConnector } from "@sluice/gateway/lane/link.js";
import type { TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import type { Engine } from "@sluice/inference-svc/engine/engine.js";
import { type SessionDeps, SessionHandler } from "@sluice/inference-svc/entry/handlers/session.js";
import type { EngineTurn } from "@sluice/inference-svc/engine/wire.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import {
  type Open,
  OpenSchema,
  type SessionRequest,
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { RunTurnRequest, TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { Hindrances } from "@sluice/proto/lib/process/hindrances.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { codec, dial, pathOf, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { type RpcServer, type RpcServerOptions, serveRpc } from "@sluice/proto/lib/rpc/serve.js";

const token = "t".repeat(64);
const log = openLog("test", "silent");
const path = pathOf(InferenceService.method.session);
const request = codec(SessionRequestSchema);
const response = codec(SessionResponseSchema);

const text = (delta: string): TurnEvent => ({
  $typeName: "sluice.inference.v1.TurnEvent",
  event: {
    case: "textDelta",
    value: { $typeName: "sluice.inference.v1.TextDelta", index: 0, part: 0, delta, logprobsJson: new Uint8Array() },
  },
});
const openOf = (model: string, input = ""): Open =>
  create(OpenSchema, { keyHash: "k", requestId: "r", request: { model, inputJson: Buffer.from(input) } });

/** Answers with the model and the length of the input; a turn of the model "hang" ends when it is cancelled. */
const cancelled: unknown[] = [];
const engine = {
  run: async ({ model, inputJson }: RunTurnRequest, _: unknown, turn: EngineTurn) => {
    turn.accepted();
    if (model === "fail") throw new Fault(FaultReason.NOT_FOUND, "no such model");
    if (model === "hang") return turn.signal.addEventListener("abort", () => cancelled.push(turn.signal.reason));
    await turn.take({ events: [text(`${model} ${inputJson.length}`)], cost: 20 }, true);
  },
} as unknown as Engine;

const limits = { file: { limits: { stream_ms: 60_000, turn_ms: 60_000 } } } as never;
const servers: RpcServer[] = [];
const sessions: ClientHttp2Session[] = [];

async function serve(options: Partial<RpcServerOptions>): Promise<RpcServer> {
  const lifecycle = new Lifecycle(log);
  const server = await serveRpc({ port: 0, lifecycle, log, services: [], routes: () => {}, token, ...options });
  servers.push(server);
  return server;
}

function sessionServer(more: Partial<SessionDeps> = {}) {
  const hindrances = new Hindrances(log);
  const pipeline = {} as never;
  const deps = { engine, pipeline, config: limits, log, instance: "one", hindrances, beforeSending: () => {} };
  const handler = new SessionHandler({ ...deps, ...more });
  const routes: RpcServerOptions["routes"] = (router) => void router.service(InferenceService, {});
  return { handler, options: { routes, internalCalls: new Map([[path, handler.serve]]) } };
}

afterAll(() => Promise.all(servers.map((server) => server.drain())));
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

const ready = async (lane: Lane) => {
  while (!lane.ready) await new Promise((resolve) => setImmediate(resolve));
  return lane;
};

/** @returns the text of a turn, or its failure */
const answerOf = (lane: Lane, open: Open): Promise<string> =>
  new Promise((resolve) => {
    let said = "";
    const listener: TurnListener = {
      events: (events) => {
        for (const { event } of events) if (event.case === "textDelta") said += event.value.delta;
      },
      ended: () => resolve(said),
      failed: ({ message }) => resolve(`failed: ${message}`),
    };
    lane.open(open, listener);
  });

let server: RpcServer;
beforeAll(async () => {
  server = await serve(sessionServer().options);
});

test.each([
  ["two processes", () => sessionConnector(`127.0.0.1:${server.port}`, token)],
  ["one process", () => sessionServer().handler.connectHere],
] as const)(
  "a lane session of %s runs small turns and a turn of 20 MiB, and reports a failure",
  async (_, connector) => {
    const lane = await ready(new Lane("", connector()));
    const large = "x".repeat(20 * 1024 * 1024);
    const answers = ["one", "two", "fail"].map((model) => answerOf(lane, openOf(model, "1234")));
    expect(await Promise.all([...answers, answerOf(lane, openOf("large", large))])).toEqual([
      "one 4",
      "two 4",
      "failed: no such model",
      `large ${large.length}`,
    ]);
    lane.stop();
  },
);

describe("two processes of this build on a lane", () => {
  test("end the session in order when the server drains", async () => {
    const { handler, options } = sessionServer();
    const draining = await serve(options);
    const lane = await ready(new Lane("", sessionConnector(`127.0.0.1:${draining.port}`, token)));
    handler.drain();
    await draining.drain();
    lane.stop();
    expect(lane.failure).toBeUndefined();
  });

  test("lose their session when the client is gone, and its turns are cancelled", async () => {
    const stream = openStream(await connected());
    stream.write(framed(toBinary(SessionRequestSchema, sayingOpen(1, "hang"))));
    await once(stream, "data");
    const before = cancelled.length;
    stream.session?.destroy();
    while (cancelled.length === before) await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("a lane session within one process", () => {
  const connectTo = (handler: SessionHandler) => ready(new Lane("", handler.connectHere));

  test("passes on only events that are recorded", async () => {
    const steps: string[] = [];
    const { handler } = sessionServer({ beforeSending: () => steps.push("recorded") });
    const lane = await connectTo(handler);
    steps.length = 0;
    await new Promise<void>((resolve) => {
      lane.open(openOf("one"), {
        events: () => steps.push("said"),
        ended: resolve,
        failed: () => steps.push("failed"),
      });
    });
    expect(steps.slice(0, steps.indexOf("said") + 1)).toEqual(["recorded", "said"]);
  });

  test("ends after its last turn when the service drains", async () => {
    const { handler } = sessionServer();
    const lane = await connectTo(handler);
    const turn = lane.open(openOf("hang"), { events: () => {}, ended: () => {}, failed: () => {} });
    handler.drain();
    expect([lane.ready, lane.openTurns]).toEqual([false, 1]);
    const before = cancelled.length;
    turn.cancel();
    while (cancelled.length === before) await new Promise((resolve) => setImmediate(resolve));
    expect(lane.failure).toBeUndefined();
    lane.stop();
  });

  test("is lost when an end of it breaks: every turn fails, the log has the cause, and the lane reconnects", async () => {
    const logged: unknown[] = [];
    const { handler } = sessionServer({
      log: { warn: () => {}, error: ({ err }: { readonly err?: unknown }) => logged.push(err) } as never,
    });
    let breaks = false;
    const lane = await ready(
      new Lane("", (listener) =>
        handler.connectHere({
          message: (message) => {
            if (breaks) throw new Error("broken");
            listener.message(message);
          },
          drained: () => {},
          closed: (error) => listener.closed(error),
        }),
      ),
    );
    const before = cancelled.length;
    breaks = true;
    expect(await answerOf(lane, openOf("hang"))).toBe("failed: The turn was interrupted");
    expect([lane.failure?.message, cancelled.length]).toEqual(["broken", before + 1]);
    expect(logged).toEqual([new Error("broken")]);
    breaks = false;
    await ready(lane);
    expect(await answerOf(lane, openOf("again", "12"))).toBe("again 2");
    lane.stop();
  });
});

const sayingOpen = (turn: number, model: string): SessionRequest =>
  create(SessionRequestSchema, { frames: [{ turn, frame: { case: "open", value: openOf(model, "{}") } }] });

describe("an upgrade with lanes, pod by pod:", () => {
  test("a gateway of an earlier build, which calls by grpc-js, is served", async () => {
    const client = dial(`127.0.0.1:${server.port}`);
    const call: ClientDuplexStream<SessionRequest, SessionResponse> = client.makeBidiStreamRequest(
      path,
      request.encode,
      response.decode,
      serviceMetadata(token),
    );
    const said: string[] = [];
    call.on("data", ({ hello, frames }: SessionResponse) => {
      if (hello) call.write(sayingOpen(1, "early"));
      for (const { frame, last } of frames) {
        if (frame.case === "batch" && frame.value.events[0]?.event.case === "textDelta") {
          said.push(frame.value.events[0].event.value.delta);
        }
        if (last) call.end();
      }
    });
    const [{ code }] = (await once(call, "status")) as [{ code: number }];
    expect([said, code]).toEqual([["early 2"], 0]);
    client.close();
  });

  test("a process of an earlier build, which serves by connect, runs turns", async () => {
    const earlier = await serve({
      routes: (router) => {
        router.service(InferenceService, {
          async *session(requests) {
            yield create(SessionResponseSchema, { hello: { instance: "earlier" } });
            for await (const { frames } of requests) {
              for (const { turn, frame } of frames) {
                if (frame.case !== "open") continue;
                const events = [text(`earlier ${frame.value.request?.inputJson.length}`)];
                yield create(SessionResponseSchema, {
                  frames: [{ turn, last: true, frame: { case: "batch", value: { events } } }],
                });
              }
            }
          },
        });
      },
    });
    const lane = await ready(new Lane("", sessionConnector(`127.0.0.1:${earlier.port}`, token)));
    const large = "x".repeat(300_000);
    expect(await answerOf(lane, openOf("m", "12"))).toBe("earlier 2");
    expect(await answerOf(lane, openOf("m", large))).toBe("earlier 300000");
    lane.stop();
    expect(lane.openTurns).toBe(0);
  });
});

async function connected(): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${server.port}`);
  session.on("error", () => {});
  sessions.push(session);
  await once(session, "connect");
  return session;
}

function openStream(session: ClientHttp2Session, headers: Readonly<Record<string, string>> = {}): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc+proto",
    te: "trailers",
    "x-sluice-service-token": token,
    ...headers,
  });
  stream.on("error", () => {});
  return stream;
}

/** @param flags 1 means compressed */
function framed(bytes: Uint8Array, flags = 0, length = bytes.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags, 0);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** Status of a call and whether it has sent a message. */
async function statusOf(stream: ClientHttp2Stream): Promise<{ status: unknown; message: unknown; greeted: boolean }> {
  let headers: IncomingHttpHeaders = {};
  let greeted = false;
  stream.on("response", (head) => (headers = { ...headers, ...head }));
  stream.on("trailers", (trailers) => (headers = { ...headers, ...trailers }));
  stream.on("data", () => (greeted = true));
  await once(stream, "close");
  return { status: headers["grpc-status"], message: headers["grpc-message"], greeted };
}

describe("a client of the lane without the service token", () => {
  test.each([
    ["without a token", { "x-sluice-service-token": "" }, "16"],
    ["with another token", { "x-sluice-service-token": "w".repeat(64) }, "16"],
    ["with compressed messages", { "grpc-encoding": "gzip" }, "12"],
  ])("with %s is refused before anything is read", async (_, headers, status) => {
    const stream = openStream(await connected(), headers);
    stream.write(framed(Buffer.alloc(1_000)));
    expect(await statusOf(stream)).toMatchObject({ status, greeted: false });
  });

  test("gets the status unimplemented for gRPC-Web and Connect", async () => {
    for (const type of ["application/grpc-web+proto", "application/connect+proto"]) {
      const stream = openStream(await connected(), { "content-type": type });
      stream.end(framed(new Uint8Array()));
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      await once(stream, "end");
      expect(Buffer.concat(chunks).toString()).toMatch(/unimplemented|grpc-status: 12/);
    }
  });
});

describe("a lane client that violates the protocol loses its own session only:", () => {
  const garbage = Buffer.from("no message at all");
  test.each([
    ["bytes that are no message", framed(garbage), "13"],
    ["a group without end", framed(Buffer.alloc(5_000, 0x0b)), "13"],
    ["a number without end", framed(Buffer.alloc(20, 0xff)), "13"],
    ["a frame that is longer than its message", framed(Buffer.from([0x0a, 0x7f, 0x08])), "13"],
    ["a compressed message", framed(garbage, 1), "13"],
    ["a message of four gigabytes", framed(garbage, 0, 0xffff_ffff), "8"],
  ])("with %s", async (_, bytes, status) => {
    const session = await connected();
    const other = openStream(session);
    await once(other, "data");
    const stream = openStream(session);
    const outcome = statusOf(stream);
    stream.write(bytes);
    expect(await outcome).toMatchObject({ status, greeted: true });
    other.write(framed(toBinary(SessionRequestSchema, sayingOpen(1, "other"))));
    const [answer] = (await once(other, "data")) as [Buffer];
    expect(answer.length).toBeGreaterThan(5);
  });

  test("with a reset of one stream", async () => {
    const session = await connected();
    const other = openStream(session);
    await once(other, "data");
    const stream = openStream(session);
    await once(stream, "data");
    stream.close(8);
    await once(stream, "close");
    other.end();
    expect(await statusOf(other)).toMatchObject({ status: "0" });
  });

  test.each(["t", "w"])("with a thousand streams, each reset at once (token %s…)", async (letter) => {
    const session = await connected();
    const other = openStream(session);
    await once(other, "data");
    for (let count = 0; count < 1_000; count++) {
      openStream(session, { "x-sluice-service-token": letter.repeat(64) }).close(8);
      if (count % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    other.end();
    expect(await statusOf(other)).toMatchObject({ status: "0" });
  });

  test("while messages may come in any pieces", async () => {
    const stream = openStream(await connected());
    const said: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => said.push(chunk));
    const both = [1, 2].map((turn) => framed(toBinary(SessionRequestSchema, sayingOpen(turn, `turn-${turn}`))));
    const bytes = Buffer.concat([...both, framed(new Uint8Array())]);
    for (let at = 0; at < bytes.length; at++) {
      stream.write(bytes.subarray(at, at + 1));
      await new Promise((resolve) => setImmediate(resolve));
    }
    stream.end();
    expect(await statusOf(stream)).toMatchObject({ status: "0" });
    expect(Buffer.concat(said).toString("latin1")).toMatch(/turn-1 2[^]*turn-2 2/);
  });
});
