/** Attacks 81 to 91: connections held open, starved, reset or flooded, at the gateway and at the internal ports. */
import { once } from "node:events";
import { type ClientHttp2Session, type IncomingHttpHeaders, connect as connectHttp2, constants } from "node:http2";
import { type Socket, connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { chatChunk } from "../../support/providers/upstream.ts";
import { AttackedInstallation, chatModel, jsonHeader } from "./attacked.ts";

let attacked: AttackedInstallation;
/** Key of the attacker: its open connections must not count against other keys. */
let key: string;
const sockets: Socket[] = [];
const sessions: ClientHttp2Session[] = [];
beforeAll(async () => {
  attacked = await AttackedInstallation.start();
  key = await attacked.makeKey();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const session of sessions.splice(0)) session.destroy();
  await attacked.stands();
});
afterAll(() => attacked?.stop());

async function open(port = attacked.installation.ports.gateway): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
}
const openMany = (count: number) => Promise.all(Array.from({ length: count }, () => open()));
/** Text received until the server closed the connection. */
async function heard(socket: Socket): Promise<string> {
  let said = "";
  socket.setEncoding("latin1").on("data", (text: string) => (said += text));
  await once(socket, "close");
  return said;
}
const posting = (length: number) =>
  `POST /api/v1/responses HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer ${key}\r\n${jsonHeader}\r\nContent-Length: ${length}\r\n\r\n`;

test("attack 81: endless request heads are closed after a while", async () => {
  const slow = await openMany(300);
  for (const socket of slow) socket.write("POST /api/v1/responses HTTP/1.1\r\nHost: ho");
  await attacked.stands();
  expect(await heard(slow[0] as Socket)).toMatch(/^HTTP\/1\.1 408/);
}, 300_000);

test("attack 82: endless request bodies are closed after a while", async () => {
  const slow = await openMany(300);
  for (const socket of slow) socket.write(`${posting(1_000)}{"model":`);
  await attacked.stands();
  expect(await heard(slow[0] as Socket)).toMatch(/^HTTP\/1\.1 408/);
}, 300_000);

test("attack 83: clients that never read delay no other client", async () => {
  const words = chatChunk({ content: "word ".repeat(2_000) });
  attacked.upstream.script([{ chunks: [{ sse: [words], repeat: 1_000 }] }]);
  const body = JSON.stringify({ model: chatModel, input: "x", stream: true });
  for (const socket of await openMany(20)) {
    socket.pause();
    socket.write(posting(body.length) + body);
  }
  await attacked.stands();
});

test("attack 84: a thousand silent connections delay no other client", async () => {
  await openMany(1_000);
  await attacked.stands();
});

/** A connection to the port of inference-svc for turns, without a key. */
async function openHttp2(): Promise<ClientHttp2Session> {
  const session = connectHttp2(`http://127.0.0.1:${attacked.installation.ports.inference}`);
  session.on("error", () => {});
  sessions.push(session);
  await once(session, "connect");
  return session;
}
const runTurn = "/sluice.inference.v1.InferenceService/RunTurn";
const grpc = { ":method": "POST", ":path": runTurn, "content-type": "application/grpc", te: "trailers" };

interface Said {
  readonly head: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
}
async function call(headers: Readonly<Record<string, string>>, bytes: Uint8Array, isWhole = true): Promise<Said> {
  const session = await openHttp2();
  const stream = session.request(headers);
  stream.on("error", () => {});
  let head: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  stream.on("response", (said: IncomingHttpHeaders) => (head = said));
  stream.on("trailers", (said: IncomingHttpHeaders) => (trailers = said));
  stream.resume();
  if (!isWhole) stream.write(bytes);
  else if (!stream.writableEnded) stream.end(bytes);
  // The answer may be complete before the whole request has been sent.
  await new Promise<void>((resolve) => stream.on("end", () => resolve()).on("close", () => resolve()));
  return { head, trailers };
}
const statusOf = ({ head, trailers }: Said): unknown => trailers["grpc-status"] ?? head["grpc-status"];

/** @param flags 1: compressed */
function message(flags: number, length: number, bytes: Uint8Array = Buffer.alloc(0)): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags, 0);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, bytes]);
}

test("attack 86: 3,000 streams, each reset at once, end no stream of other clients", async () => {
  const session = await openHttp2();
  for (let count = 0; count < 3_000 && !session.closed && !session.destroyed; count++) {
    const stream = session.request(grpc);
    stream.on("error", () => {});
    stream.close(constants.NGHTTP2_CANCEL);
  }
  await attacked.stands();
});

/** A frame of HTTP/2: https://www.rfc-editor.org/rfc/rfc9113#section-4.1. */
function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const settings = frame(4, 0, 0);
const floods: [number, string, () => Buffer[]][] = [
  [
    87,
    "continuations of one head",
    () => [frame(1, 0, 1, Buffer.alloc(10)), ...repeated(frame(9, 0, 1, Buffer.alloc(16_000)))],
  ],
  [88, "settings", () => repeated(settings)],
  [88, "pings", () => repeated(frame(6, 0, 0, Buffer.alloc(8)))],
  [88, "data of no bytes", () => repeated(frame(0, 0, 1))],
];
const repeated = (one: Buffer): Buffer[] => Array.from({ length: 20_000 }, () => one);
test.each(floods)("attack %i: a flood of %s ends at most its own connection", async (_, __, frames) => {
  const socket = await open(attacked.installation.ports.inference);
  const bytes = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settings, ...frames()]);
  await new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
    socket.resume().write(bytes, () => resolve());
  });
  await attacked.stands();
});

test("attack 89: a message of four gigabytes is refused by its declared length", async () => {
  // UNAUTHENTICATED: a message without a key is refused before its length is read.
  expect(statusOf(await call(grpc, message(0, 0xffff_ffff), false))).toBe("16");
  const keyed = { ...grpc, authorization: `Bearer ${attacked.installation.apiKey}` };
  // RESOURCE_EXHAUSTED, the status for a message above the size limit.
  expect(statusOf(await call(keyed, message(0, 0xffff_ffff), false))).toBe("8");
});

test("attack 90: a compressed message is refused before it is unpacked", async () => {
  const bomb = gzipSync(Buffer.alloc(40 * 1024 * 1024));
  const said = await call({ ...grpc, "grpc-encoding": "gzip" }, message(1, bomb.length, bomb));
  // UNIMPLEMENTED, the protocol's status for an unsupported encoding.
  expect(statusOf(said)).toBe("12");
});

test.each(["application/grpc-web+proto", "application/json", "application/connect+json"])(
  "attack 91: a web page without a key gets no turn as %s",
  async (type) => {
    const headers = { ...grpc, "content-type": type, origin: "https://evil.example" };
    const { head } = await call(
      headers,
      type === "application/json" ? Buffer.from("{}") : message(0, 2, Buffer.from("{}")),
    );
    expect(head["access-control-allow-origin"]).toBeUndefined();
  },
);

test("attack 91: a GET request starts no turn", async () => {
  const path = `${runTurn}?connect=v1&encoding=json&message=%7B%7D`;
  const { head } = await call({ ":method": "GET", ":path": path, origin: "https://evil.example" }, Buffer.alloc(0));
  expect([405, 415]).toContain(head[":status"]);
});
