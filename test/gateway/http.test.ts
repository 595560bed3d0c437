/** The gateway on real sockets: framing, headers, bodies, and complete answers for clients. */
import { changeDigit } from "../support/altered.ts";
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { type AddressInfo, type Socket, connect } from "node:net";
import * as zlib from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readKeyHash } from "@sluice/gateway/edge/http/auth.js";
import { readBody } from "@sluice/gateway/edge/http/body.js";
import { createEdgeServer } from "@sluice/gateway/edge/http/edge-server.js";
import { toClientFault, writeFault, writeJson } from "@sluice/gateway/edge/http/errors.js";
import { readClientRequestId } from "@sluice/gateway/edge/http/exchange.js";
import { rawPath } from "@sluice/gateway/edge/http/path.js";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { openMetrics } from "@sluice/proto/lib/metrics/metrics.js";
import { exchange, parseAnswer } from "./raw-http.ts";

const key = mintKey(KeyKind.INFERENCE);
const limitBytes = 1_000_000;
/** Time limit for a body, long enough not to mistake a pausing machine for a slow client; a single test waits for it. */
const bodyTimeoutMs = 3_000;

const read = async (request: IncomingMessage) => await readBody(request, limitBytes, budget.open("key"));

/** Key, path, body, in the order of the gateway; the answer repeats the data read. */
async function edge(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const requestId = newId("req_");
  const clientRequestId = readClientRequestId(request);
  try {
    const keyHash = readKeyHash(request);
    const path = rawPath(request);
    const body = await readBody(request, limitBytes, budget.open(keyHash), bodyTimeoutMs);
    writeJson(response, { keyHash, path, length: body.length, clientRequestId }, { requestId });
  } catch (error) {
    writeFault(response, Fault.from(error), { requestId });
  }
}

const budget = new ByteBudget({ origin: FaultOrigin.GATEWAY, registry: openMetrics("test") });
let server: Server;
let port: number;

beforeAll(async () => {
  server = createEdgeServer((request, response) => void edge(request, response));
  server.keepAliveTimeout = 200;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

const head = (lines: readonly string[], line = "POST /x HTTP/1.1") => `${[line, ...lines].join("\r\n")}\r\n\r\n`;
const host = "Host: a";
const bearer = `Authorization: Bearer ${key}`;
const json = "Content-Type: application/json";
const close = "Connection: close";
const good = [host, bearer, json, close];

/** The answer to a request without a specific answer must be the contract's. */
async function refused(bytes: string | Buffer, status: number): Promise<string> {
  const answer = await exchange(port, bytes);
  const { error } = JSON.parse(answer.body) as { error: { code: number; message: string } };
  expect([answer.status, error.code]).toEqual([status, status]);
  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(Number(answer.headers["content-length"])).toBe(Buffer.byteLength(answer.body, "latin1"));
  expect(answer.headers["x-should-retry"]).toBe("false");
  return error.message;
}

describe("a valid request", () => {
  test.each([
    ["with a length", head([...good, "Content-Length: 2"]) + "{}", 2],
    ["in chunks", head([...good, "Transfer-Encoding: chunked"]) + "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", 2],
    ["without a body", head(good), 0],
    ["with the largest body", head([...good, `Content-Length: ${limitBytes}`]) + " ".repeat(limitBytes), limitBytes],
  ])("arrives whole with a body %s", async (_, bytes, length) => {
    const answer = await exchange(port, bytes);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toEqual({ keyHash: hashKey(key), path: "/x", length });
    expect(answer.headers["x-request-id"]).toMatch(/^req_[0-9A-Za-z]{22}$/);
  });

  test.each([
    "application/json; charset=utf-8",
    'Application/JSON;charset="UTF-8"',
    "application/json ; charset=UTF-8",
    "application/json; charset=utf8",
    "application/json;",
    'application/json; odata.metadata=minimal;charset="utf-8"; profile="https://a/b, c"',
    "application/json",
  ])("is accepted with the type %s", async (type) => {
    expect((await exchange(port, head([host, bearer, close, `Content-Type: ${type}`]))).status).toBe(200);
  });

  test.each([
    ["abc_DEF-9", "abc_DEF-9"],
    ["a".repeat(64), "a".repeat(64)],
    ["a".repeat(65), undefined],
    ["a b", undefined],
    ['"><script>', undefined],
  ])("keeps its request id %s only in a short plain form", async (id, kept) => {
    const answer = await exchange(port, head([...good, `X-Request-Id: ${id}`]));
    expect((JSON.parse(answer.body) as { clientRequestId?: string }).clientRequestId).toBe(kept);
    expect(answer.headers["x-request-id"]).not.toBe(id);
  });

  test.each([
    ["an upgrade", [...good, "Upgrade: h2c"]],
    ["another method in a header", [...good, "X-HTTP-Method-Override: DELETE", "X-Original-URL: /y"]],
    ["a host with a path in it", [`Host: localhost:4000/#@evil`, bearer, json, close]],
    ["an expectation that nobody knows", [...good, "Expect: miracles"]],
    ["identity encoding", [...good, "Content-Encoding: identity"]],
    ["a lower-case scheme", [host, `authorization: bearer ${key}`, json, close]],
  ])("is accepted with %s", async (_, lines) => {
    const answer = await exchange(port, head(lines));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({ path: "/x" });
  });

  test("may have an absolute URL of this host", async () => {
    const answer = await exchange(port, head([...good], "POST http://a/y?z=1 HTTP/1.1"));
    expect(JSON.parse(answer.body)).toMatchObject({ path: "/y" });
  });

  test("follows others on the same connection, each with its own key", async () => {
    const other = mintKey(KeyKind.INFERENCE);
    const keys = [key, other, other, key];
    const requests = keys.map((own, index) => {
      const last = index === keys.length - 1 ? [close] : [];
      return head([host, `Authorization: Bearer ${own}`, json, "Content-Length: 0", ...last]);
    });
    const { text } = await exchange(port, requests.join(""));
    expect(text.match(/"keyHash":"[0-9a-f]{64}"/g)).toEqual(keys.map((own) => `"keyHash":"${hashKey(own)}"`));
  });

  test("follows another on the same connection whose trailer has an ignored key", async () => {
    const first = head([host, bearer, json, "Transfer-Encoding: chunked", "Trailer: Authorization"]);
    const answer = await exchange(port, `${first}0\r\n${bearer}\r\n\r\n${head([host, json, close])}`);
    expect(answer.text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 401"]);
  });
});

describe("the parser of HTTP requests", () => {
  const chunked = "Transfer-Encoding: chunked";
  test.each<[string, string | Buffer]>([
    ["length and chunks", `${head([...good, "Content-Length: 2", chunked])}0\r\n\r\n`],
    ["two lengths", `${head([...good, "Content-Length: 2", "Content-Length: 3"])}{}`],
    ["an unknown transfer coding", head([...good, "Transfer-Encoding: xchunked"])],
    ["chunks that are not last", head([...good, "Transfer-Encoding: chunked, identity"])],
    ["a space before a colon", head([...good, "Content-Length : 2"])],
    ["a folded header", head([host, bearer, json, "X-A: b\r\n c"])],
    ["bare line feeds", "POST /x HTTP/1.1\nHost: a\n\n"],
    ["a NUL in a header", head([...good, "X-A: b\0c"])],
    ["no host", head([bearer, json, close])],
    ["a negative chunk", `${head([...good, chunked])}-1\r\n`],
    ["an endless chunk size", `${head([...good, chunked])}FFFFFFFFFFFFFFFFFF\r\n`],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
    ["17 kB of headers", head([...good, `X-A: ${"a".repeat(17_000)}`])],
    ["101 headers", head([...good, ...Array.from({ length: 97 }, (_, i) => `X-${i}: a`)])],
    ["2,500 headers", head([...good, ...Array.from({ length: 2_500 }, () => "X:")])],
    ["two hosts", head([...good, "Host: b"])],
    ["two keys", head([...good, bearer])],
    ["two types", head([...good, json])],
    ["a URL of another host", head(good, "POST http://evil/x HTTP/1.1")],
  ])("refuses %s with 400", async (_, bytes) => {
    await refused(bytes, 400);
  });

  test.each(["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/2", "HTTP/3.0", "HTTP/9.9"])(
    "refuses %s with 505",
    async (version) => {
      for (const line of [`GET /livez ${version}`, `POST /x ${version}`])
        expect(await refused(head(["Connection: keep-alive", ...good], line), 505)).toContain("HTTP/1.1");
    },
  );

  test("accepts 100 headers", async () => {
    const lines = [...good, ...Array.from({ length: 96 }, (_, i) => `X-${i}: a`)];
    expect((await exchange(port, head(lines))).status).toBe(200);
  });

  test.each([
    [[], "content-type: must be application/json, in UTF-8"],
    [["Content-Type: text/plain"], "content-type: must be application/json, in UTF-8"],
    [["Content-Type: application/json; charset=utf-16"], "content-type: must be application/json, in UTF-8"],
    [["Content-Type: application/json; charset=x"], "content-type: must be application/json, in UTF-8"],
    [["Content-Type: application/json, text/html"], "content-type: must be application/json, in UTF-8"],
    [["Content-Type: application/json; a=b; charset=latin1"], "content-type: must be application/json, in UTF-8"],
    [["Content-Type: application/json; a=b, text/html"], "content-type: must be application/json, in UTF-8"],
    [["Content-Type: application/jsonp"], "content-type: must be application/json, in UTF-8"],
    [[json, "Content-Encoding: compress"], "content-encoding not supported; take one of gzip, deflate, br"],
    [[json, "Content-Encoding: gzip, br"], "content-encoding not supported; take one of gzip, deflate, br"],
    [[json, "Content-Encoding: br"], "content-encoding: the body is not what content-encoding says, or not whole"],
  ])("refuses the headers %j with 400", async (lines, message) => {
    const body = zlib.gzipSync(Buffer.alloc(1_000_000));
    const bytes = Buffer.concat([
      Buffer.from(head([host, bearer, close, ...lines, `Content-Length: ${body.length}`])),
      body,
    ]);
    expect(await refused(bytes, 400)).toContain(message);
  });
});

describe("the key of a request", () => {
  test("is required", async () => {
    expect(await refused(head([host, json, close]), 401)).toBe("Missing Authentication header");
  });

  test.each([
    ["another scheme", `Basic ${key}`],
    ["no scheme", key],
    ["a tab", `Bearer\t${key}`],
    ["two spaces", `Bearer  ${key}`],
    ["a list", `Bearer ${key}, Bearer ${key}`],
    ["a wrong checksum", `Bearer ${changeDigit(key)}`],
    ["the hash of a key", `Bearer ${hashKey(key)}`],
    ["10 kB", `Bearer sk-sl-${"a".repeat(10_000)}`],
  ])("is refused with 401 in a header with %s", async (_, value) => {
    const message = await refused(head([host, json, close, `Authorization: ${value}`]), 401);
    expect(message).toBe("Invalid API key");
  });

  test.each([
    ["x-api-key", [`x-api-key: ${key}`]],
    ["both headers with one key", [bearer, `x-api-key: ${key}`]],
  ])("is accepted in %s", async (_, lines) => {
    const answer = await exchange(port, `${head([host, json, close, "Content-Length: 2", ...lines])}{}`);
    expect(parseAnswer(answer.text)).toMatchObject({ status: 200 });
    expect(answer.text).toContain(hashKey(key));
  });

  test("is refused when malformed in x-api-key like in any other header", async () => {
    expect(await refused(head([host, json, close, "x-api-key: x"]), 401)).toBe("Invalid API key");
  });

  test("is refused when two headers have different keys", async () => {
    const other = mintKey(KeyKind.INFERENCE);
    const message = "Malformed HTTP request: the headers authorization and x-api-key name different keys";
    expect(await refused(head([host, json, close, bearer, `x-api-key: ${other}`]), 400)).toBe(message);
    expect(await refused(head([host, json, close, `x-api-key: ${key}`, `x-api-key: ${other}`]), 400)).toContain(
      "x-api-key",
    );
  });

  test("is refused before 100 Continue when it is wrong", async () => {
    const lines = [host, json, "Content-Length: 1000000", "Expect: 100-continue", "Authorization: Bearer x", close];
    const answer = await exchange(port, head(lines));
    expect(answer.text).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("gets 100 Continue when it is valid", async () => {
    const socket = connect(port, "127.0.0.1");
    const lines = [...good, "Content-Length: 2", "Expect: 100-continue"];
    socket.write(head(lines));
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first.toString()).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write("{}");
    const [second] = (await once(socket, "data")) as [Buffer];
    expect(second.toString()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

/** Sends everything without reading, like clients that read the answer only after sending the request. */
async function sendAll(lines: readonly string[], chunks: readonly Buffer[]): Promise<string> {
  const socket: Socket = connect(port, "127.0.0.1");
  const failures: Error[] = [];
  socket.on("error", (error) => failures.push(error));
  socket.pause();
  socket.write(head(lines));
  for (const chunk of chunks) {
    if (!socket.write(chunk)) await once(socket, "drain");
  }
  const received: Buffer[] = [];
  socket.on("data", (data: Buffer) => received.push(data));
  socket.resume();
  await once(socket, "close");
  expect(failures).toEqual([]);
  return Buffer.concat(received).toString();
}

describe("the body of a request", () => {
  test("with a declared length above the limit is refused with 413 at once, without reading on", async () => {
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head([host, bearer, json, `Content-Length: ${limitBytes + 1}`])}{`);
    const [data] = (await once(socket, "data")) as [Buffer];
    const answer = parseAnswer(data.toString());
    expect(answer.status).toBe(413);
    expect(answer.headers["connection"]).toBe("close");
    socket.destroy();
  });

  test("that comes in chunks is refused with 413 as soon as the limit is passed", async () => {
    const chunk = Buffer.from(`10000\r\n${" ".repeat(0x1_0000)}\r\n`);
    const end = Buffer.from("0\r\n\r\n");
    const chunks = [...Array<Buffer>(20).fill(chunk), end];
    const answer = parseAnswer(await sendAll([host, bearer, json, "Transfer-Encoding: chunked"], chunks));
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.body)).toEqual({
      error: {
        code: 413,
        message: `Request payload too large: at most ${limitBytes} bytes`,
        type: "invalid_request_error",
        metadata: { error_type: "payload_too_large" },
      },
    });
  });

  /** The types of Node 20 do not know zstd. */
  const { zstdCompressSync } = zlib as { zstdCompressSync?: (bytes: Buffer) => Buffer };
  const codings: [string, (bytes: Buffer) => Buffer][] = [
    ["gzip", zlib.gzipSync],
    ["GZip, identity", zlib.gzipSync],
    ["deflate", zlib.deflateSync],
    ["br", zlib.brotliCompressSync],
    ...(zstdCompressSync ? [["zstd", zstdCompressSync] as [string, (bytes: Buffer) => Buffer]] : []),
  ];
  const coded = (coding: string, body: Buffer) =>
    Buffer.concat([
      Buffer.from(head([...good, `Content-Encoding: ${coding}`, `Content-Length: ${body.length}`])),
      body,
    ]);

  test.each(codings)("compressed with %s is decoded", async (coding, compress) => {
    const body = Buffer.from(JSON.stringify(Array.from({ length: 50_000 }, (_, index) => index)));
    const answer = await exchange(port, coded(coding, compress(body)));
    expect(JSON.parse(answer.body)).toMatchObject({ path: "/x", length: body.length });
    const pieces = Array.from(compress(body), (byte) => Buffer.from(`1\r\n${String.fromCharCode(byte)}\r\n`, "latin1"));
    const chunked = [host, bearer, json, close, `Content-Encoding: ${coding}`, "Transfer-Encoding: chunked"];
    const slow = parseAnswer(await sendAll(chunked, [...pieces.slice(0, 200), Buffer.from("0\r\n\r\n")]));
    expect([slow.status, slow.body]).toEqual([400, expect.stringContaining("not whole")]);
  });

  test.each(codings)("compressed with %s is 413 once it grows above the limit", async (coding, compress) => {
    const bomb = compress(Buffer.alloc(50 * limitBytes));
    expect(bomb.length).toBeLessThan(limitBytes);
    expect(await refused(coded(coding, bomb), 413)).toBe(`Request payload too large: at most ${limitBytes} bytes`);
  });

  test("in an unknown coding is refused with the list of known ones", async () => {
    const answer = await exchange(port, coded("compress", Buffer.from("{}")));
    expect([answer.status, answer.headers["accept-encoding"]]).toEqual([
      400,
      expect.stringMatching(/^gzip, deflate, br/),
    ]);
  });

  test.each([
    ["413", bearer],
    ["401", "Authorization: Bearer x"],
  ])(
    "does not keep the answer from its client: %s reaches a client still sending 20 MB",
    async (status, authorization) => {
      const length = 20 * 2 ** 20;
      const chunks = Array<Buffer>(length / 2 ** 16).fill(Buffer.alloc(2 ** 16));
      const text = await sendAll([host, authorization, json, `Content-Length: ${length}`], chunks);
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    },
  );

  test.each([
    ["that nobody can read", "X-A : b"],
    ["that is too long", `X-A: ${"a".repeat(17_000)}`],
  ])("does not keep a 400 for a head %s from a client still sending 4 MB", async (_, line) => {
    const chunks = Array<Buffer>(64).fill(Buffer.alloc(2 ** 16));
    expect(await sendAll([...good, line, `Content-Length: ${2 ** 22}`], chunks)).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("that arrives too slowly is refused with 408", async () => {
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head([...good, "Content-Length: 10"])}{`);
    const [data] = (await once(socket, "data")) as [Buffer];
    const answer = parseAnswer(data.toString());
    expect(answer.status).toBe(408);
    expect(answer.headers["x-should-retry"]).toBe("false");
    socket.destroy();
  });

  test("with 20 kB of chunk extensions is refused with 413", async () => {
    await refused(`${head([...good, "Transfer-Encoding: chunked"])}1;${"a".repeat(20_000)}\r\n{\r\n0\r\n\r\n`, 413);
  });

  test("that breaks off with its client is not logged as a server error", async () => {
    const failed = new Promise<Fault>((resolve) => {
      server.once("request", (request: IncomingMessage) => {
        read(request).catch((error: unknown) => resolve(error as Fault));
      });
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(`${head([...good, "Content-Length: 10"])}{`);
    await once(server, "request");
    socket.destroy();
    expect((await failed).status).toBe(400);
  });

  test("that is aborted before it is read does not hang", async () => {
    const late = new Promise<Fault>((resolve) => {
      server.once("request", (request: IncomingMessage) => {
        request.on("error", () => {});
        request.on("close", () => {
          read(request).catch((error: unknown) => resolve(error as Fault));
        });
      });
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(head([host, json, "Content-Length: 10"]));
    await once(server, "request");
    socket.destroy();
    expect((await late).status).toBe(400);
  });
});

describe("a failure over HTTP", () => {
  let answering: (response: ServerResponse) => void;
  let faults: Server;
  beforeAll(async () => {
    faults = createEdgeServer((_, response) => answering(response));
    faults.listen(0, "127.0.0.1");
    await once(faults, "listening");
  });
  afterAll(async () => {
    faults.closeAllConnections();
    faults.close();
    await once(faults, "close");
  });
  const get = (bytes = head([host, close], "GET / HTTP/1.1")) =>
    exchange((faults.address() as AddressInfo).port, bytes);

  test.each<[FaultReason, number, string]>([
    [FaultReason.INVALID_REQUEST, 400, "false"],
    [FaultReason.UNAUTHENTICATED, 401, "false"],
    [FaultReason.PAYMENT_REQUIRED, 402, "false"],
    [FaultReason.PERMISSION_DENIED, 403, "false"],
    [FaultReason.NOT_FOUND, 404, "false"],
    [FaultReason.DEADLINE_EXCEEDED, 408, "false"],
    [FaultReason.PAYLOAD_TOO_LARGE, 413, "false"],
    [FaultReason.UNPROCESSABLE, 422, "false"],
    [FaultReason.RATE_LIMITED, 429, "true"],
    [FaultReason.BUDGET_HELD, 429, "true"],
    [FaultReason.INTERNAL, 500, "false"],
    [FaultReason.PROVIDER_FAILED, 502, "true"],
    [FaultReason.UNAVAILABLE, 503, "true"],
    [FaultReason.PROVIDER_TIMEOUT, 524, "true"],
    [FaultReason.PROVIDER_OVERLOADED, 529, "true"],
  ])("with reason %i has the status %i, retry %s", async (reason, status, retry) => {
    answering = (response) => writeFault(response, new Fault(reason), { requestId: "req_1", generationId: "gen-1" });
    const answer = await get();
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      "x-should-retry": retry,
      "x-request-id": "req_1",
      "x-generation-id": "gen-1",
    });
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: status } });
    expect(answer.headers["retry-after"]).toBeUndefined();
  });

  test.each([
    ["HPE_HEADER_OVERFLOW", 400],
    ["HPE_INVALID_METHOD", 400],
    ["HPE_CHUNK_EXTENSIONS_OVERFLOW", 413],
    ["ERR_HTTP_REQUEST_TIMEOUT", 408],
    [undefined, 400],
  ])("of Node's parser, %s, has the status %i", (code, status) => {
    expect(toClientFault(Object.assign(new Error("x"), { code })).status).toBe(status);
  });

  test("carries hints, metadata and the unchanged receipt", async () => {
    answering = (response) =>
      writeFault(
        response,
        new Fault(FaultReason.RATE_LIMITED, "Slow down", {
          retryAfterMs: 1_200,
          metadata: { error_type: "rate_limit_exceeded", provider_code: "x" },
          serviceMetadataJson: Buffer.from('{"n":12345678901234567890}'),
        }),
      );
    const answer = await get();
    expect(answer.headers).toMatchObject({ "retry-after": "2", "retry-after-ms": "1200" });
    expect(answer.body).toBe(
      '{"error":{"code":429,"message":"Slow down","type":"rate_limit_error",' +
        '"metadata":{"error_type":"rate_limit_exceeded","provider_code":"x"}},' +
        '"service_metadata":{"n":12345678901234567890}}',
    );
  });

  test("by invalid bytes after a begun answer sends no second answer", async () => {
    answering = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
    };
    const socket = connect((faults.address() as AddressInfo).port, "127.0.0.1");
    socket.write(head([host], "GET / HTTP/1.1"));
    const [begun] = (await once(socket, "data")) as [Buffer];
    expect(begun.toString()).toMatch(/^HTTP\/1\.1 200 /);
    let more = "";
    socket.on("data", (data: Buffer) => (more += data.toString()));
    socket.write("garbage\r\n\r\n");
    await once(socket, "close");
    expect(more).not.toContain("HTTP/1.1");
  });
});
