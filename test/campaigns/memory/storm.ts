/** Role: clients that send too much, in a thread of their own so they delay no measurement. */
import { once } from "node:events";
import { type IncomingHttpHeaders, connect as connectHttp2 } from "node:http2";
import { request } from "node:http";
import { toBinary } from "@bufbuild/protobuf";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { turnRequest } from "../../support/answers/run-turn.ts";
import { parentPort, workerData } from "node:worker_threads";

export interface RequestStorm {
  readonly kind: "bodies" | "messages";
  readonly port: number;
  readonly count: number;
  readonly bytes: number;
  /** API key; a client without one is unknown to the service. */
  readonly key?: string;
}

/** Number of outcomes, by status or by the name of the failure. */
export type Outcomes = Readonly<Record<string, number>>;

const { kind, port, count, bytes, key } = workerData as RequestStorm;
const bearer: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };

/** A JSON body with parts that a chat provider accepts. */
function bodyOf(length: number): Buffer {
  const partBytes = 1_000_000;
  const parts = Array.from({ length: Math.ceil(length / partBytes) }, () => ({
    role: "user",
    content: "x".repeat(Math.min(length, partBytes) - 50),
  }));
  return Buffer.from(JSON.stringify({ model: "acme/large", input: parts }));
}

function postBody(body: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const headers = { ...bearer, "content-type": "application/json", "content-length": body.length };
    const asking = request({
      host: "127.0.0.1",
      port,
      path: "/api/v1/responses",
      method: "POST",
      headers,
      agent: false,
    });
    asking.on("response", (answer) => {
      answer.resume().on("close", () => resolve(String(answer.statusCode)));
    });
    asking.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    asking.end(body);
  });
}

async function sendMessage(message: Buffer): Promise<string> {
  const session = connectHttp2(`http://127.0.0.1:${port}`, { maxSessionMemory: 256 });
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": "/sluice.inference.v1.InferenceService/RunTurn",
    "content-type": "application/grpc+proto",
    te: "trailers",
    ...bearer,
  });
  stream.on("error", () => {});
  let status = "";
  const note = (headers: IncomingHttpHeaders) => (status = (headers["grpc-status"] as string | undefined) ?? status);
  stream.on("response", note).on("trailers", note);
  stream.resume().end(message);
  await once(stream, "close").catch(() => {});
  session.destroy();
  return status || "no answer";
}

function messageOf(length: number): Buffer {
  const { input } = JSON.parse(bodyOf(length - 1_000).toString()) as { input: unknown };
  const message = toBinary(RunTurnRequestSchema, turnRequest("acme/large", input));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const content = kind === "messages" ? messageOf(bytes) : bodyOf(bytes);
const send = kind === "messages" ? sendMessage : postBody;
const outcomes = await Promise.all(Array.from({ length: count }, () => send(content)));
const tally: Record<string, number> = {};
for (const outcome of outcomes) tally[outcome] = (tally[outcome] ?? 0) + 1;
parentPort?.postMessage(tally);
