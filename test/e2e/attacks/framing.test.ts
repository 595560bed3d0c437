/** Attacks 56 to 80: HTTP read differently by different servers, byte by byte. */
import { once } from "node:events";
import { connect } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { eventually } from "../../support/processes.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { chatStream, responsesAnswer } from "../../support/providers/upstream.ts";
import { AttackedInstallation, expectFault, jsonHeader, attackedModel, parseBody } from "./attacked.ts";

let attacked: AttackedInstallation;
beforeAll(async () => {
  attacked = await AttackedInstallation.start();
});
beforeEach(() => attacked.upstream.script([chatStream("Hello")]));
afterEach(() => attacked.stands());
afterAll(() => attacked?.stop());

const echo = '{"model":"sluice/echo","input":"x"}';
const bearer = () => `Authorization: Bearer ${attacked.installation.apiKey}`;
const head = (lines: readonly string[], first = "POST /api/v1/responses HTTP/1.1") =>
  `${[first, ...lines].join("\r\n")}\r\n\r\n`;
const raw = (bytes: string | Uint8Array) => sendRaw(attacked.installation.ports.gateway, bytes);
/** A request with these header lines after host, key, type and length. */
const withHeaders = (...lines: readonly string[]) =>
  raw(head(["Host: sluice", bearer(), jsonHeader, `Content-Length: ${echo.length}`, ...lines]) + echo);

const chunked = "Transfer-Encoding: chunked";
const framings: [number, string, (good: readonly string[]) => string][] = [
  [56, "a length and chunks", (good) => `${head([...good, "Content-Length: 5", chunked])}0\r\n\r\n`],
  [57, "two lengths", (good) => `${head([...good, "Content-Length: 2", "Content-Length: 3"])}{}`],
  [58, "an unknown coding", (good) => head([...good, "Transfer-Encoding: xchunked"])],
  [59, "chunks that are not last", (good) => head([...good, "Transfer-Encoding: chunked, identity"])],
  [59, "a coding before the chunks", (good) => `${head([...good, "Transfer-Encoding: gzip, chunked"])}0\r\n\r\n`],
  [59, "chunks in HTTP/1.0", (good) => `${head([...good, chunked], "POST /api/v1/responses HTTP/1.0")}0\r\n\r\n`],
  [60, "a space before the colon", (good) => `${head([...good, "Content-Length : 2"])}{}`],
  [61, "a folded header", (good) => head([...good, "X-A: b\r\n c"])],
  [62, "bare line feeds", (good) => head(good).replaceAll("\r\n", "\n")],
  [63, "NUL in a value", (good) => head([...good, "X-A: b\0c"])],
  [64, "no host", (good) => head([...good.filter((line) => !line.startsWith("Host")), "Content-Length: 0"])],
  [65, "a negative chunk", (good) => `${head([...good, chunked])}-1\r\n`],
  [65, "a chunk beyond all bounds", (good) => `${head([...good, chunked])}FFFFFFFFFFFFFFFFFF\r\n`],
  [67, "17 kB of headers", (good) => head([...good, `X-A: ${"a".repeat(17_000)}`])],
  [68, "2,500 headers", (good) => head([...good, ...Array.from({ length: 2_500 }, () => "X:")])],
  [69, "two hosts", (good) => head([...good, "Host: other", "Content-Length: 0"])],
  [69, "two keys", (good) => head([...good, bearer(), "Content-Length: 0"])],
  [69, "two types", (good) => head([...good, jsonHeader, "Content-Length: 0"])],
  [73, "the preface of HTTP/2", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
];
test.each(framings)("attack %i: %s is 400", async (_, __, bytes) => {
  expectFault(await raw(bytes(["Host: sluice", bearer(), jsonHeader])), 400);
});

test("attack 66: 20 kB of extensions of a chunk are 413", async () => {
  const good = ["Host: sluice", bearer(), jsonHeader, chunked];
  expectFault(await raw(`${head(good)}1;${"a".repeat(20_000)}\r\n{\r\n0\r\n\r\n`), 413);
});

test("attack 70: a key other than one scheme, one space and one word is refused", async () => {
  const { apiKey } = attacked.installation;
  const values = [
    `Bearer\t${apiKey}`,
    `Bearer  ${apiKey}`,
    `Bearer ${apiKey}, Bearer ${apiKey}`,
    `Bearer ${"a".repeat(10_000)}`,
    apiKey,
  ];
  const bodies = new Set<string>();
  for (const value of values) {
    const answer = await attacked.send("POST", "/api/v1/responses", [`Authorization: ${value}`, jsonHeader], echo);
    expectFault(answer, 401);
    bodies.add(answer.body);
  }
  expect(bodies.size).toBe(1);
  // Libraries and proxies decide the case of the scheme and white space at the end of a header, so any is accepted.
  for (const value of [`bearer ${apiKey}`, `BEARER ${apiKey}`, `Bearer ${apiKey}  `]) {
    const answer = await attacked.send("POST", "/api/v1/responses", [`Authorization: ${value}`, jsonHeader], echo);
    expect(answer.status).toBe(200);
  }
});

test.each([
  [71, "X-HTTP-Method-Override: DELETE"],
  [71, "X-Original-URL: /api/v1/keys"],
  [71, "X-Rewrite-URL: /api/v1/keys"],
  [71, "Forwarded: for=127.0.0.1;host=admin"],
  [73, "Upgrade: h2c"],
])("attack %i: the header %s has no effect", async (_, line) => {
  expect((await withHeaders(line)).status).toBe(200);
});

test("attack 72: a Host header with a path in it leads to no other path", async () => {
  const lines = [bearer(), jsonHeader, `Content-Length: ${echo.length}`];
  expect((await raw(head(["Host: localhost:4000/#@evil", ...lines]) + echo)).status).toBe(200);
  const without = await raw(head(["Host: localhost:4000/livez#@evil", jsonHeader, "Content-Length: 0"]));
  expectFault(without, 401);
});

test("attack 73: CONNECT opens no tunnel", async () => {
  const socket = connect(attacked.installation.ports.gateway, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(`CONNECT 127.0.0.1:${attacked.installation.ports.admin} HTTP/1.1\r\nHost: x\r\n\r\n`);
  let text = "";
  socket.on("data", (bytes: Buffer) => (text += bytes.toString()));
  await once(socket, "close");
  expect(text).not.toMatch(/^HTTP\/1\.1 2/);
});

test("attack 74: a key in a trailer is ignored", async () => {
  const lines = ["Host: sluice", jsonHeader, chunked, "Trailer: Authorization"];
  expectFault(await raw(`${head(lines)}2\r\n{}\r\n0\r\n${bearer()}\r\n\r\n`), 401, /Missing Authentication header/);
});

test('attack 75: a bad key is refused before "100 Continue" is sent', async () => {
  const lines = [
    "Host: sluice",
    jsonHeader,
    "Content-Length: 1000000",
    "Expect: 100-continue",
    "Authorization: Bearer x",
  ];
  expectFault(await raw(head(lines)), 401);
});

test("attack 76: compressed bodies are unpacked up to the limit of bodies, and refused in unknown codings", async () => {
  const zeros = Buffer.alloc(64 * 1024 * 1024);
  const bombs = { gzip: gzipSync(zeros), br: brotliCompressSync(zeros), deflate: deflateSync(zeros) };
  for (const [encoding, bomb] of Object.entries(bombs)) {
    expectFault(await attacked.respond(bomb, [`Content-Encoding: ${encoding}`]), 413);
  }
  for (const encoding of ["compress", "gzip, gzip", "aws-chunked"]) {
    const refused = await attacked.respond("x", [`Content-Encoding: ${encoding}`]);
    expectFault(refused, 400, /content-encoding not supported/);
  }
});

test("attack 77: X-Service-Metadata is enabled only by the word enabled, and wins over its legacy name", async () => {
  const legacy = "X-Service-Experimental-Metadata";
  const receipts: [readonly string[], boolean][] = [
    [["X-Service-Metadata: enabled"], true],
    [[`${legacy}: enabled`], true],
    [["X-Service-Metadata: ENABLED"], true],
    [["X-Service-Metadata: enabled!"], false],
    [["X-Service-Metadata: enabled, disabled"], false],
    [["X-Service-Metadata: enabled", "X-Service-Metadata: enabled"], false],
    [["X-Service-Metadata: disabled", `${legacy}: enabled`], false],
    [["X-Service-Metadata: enabled", `${legacy}: disabled`], true],
  ];
  for (const [lines, given] of receipts) {
    const answer = await withHeaders(...lines);
    expect([lines, "service_metadata" in (parseBody(answer) as object)]).toEqual([lines, given]);
  }
});

test("attack 78: x-session-id has the limits of session_id, which takes precedence", async () => {
  expectFault(await withHeaders(`x-session-id: ${"s".repeat(257)}`), 400, /256/);
  expectFault(await withHeaders("x-session-id: a\rb"), 400);
  const own = await attacked.respond({ model: "sluice/echo", input: "x", session_id: "mine" }, [
    `x-session-id: ${"s".repeat(257)}`,
  ]);
  expect(own.status).toBe(200);
});

test("attack 79: a stream is never compressed, in spite of the client's Accept-Encoding", async () => {
  const lines = ["Accept: text/html", "Accept-Encoding: br, gzip"];
  const answer = await attacked.respond({ model: "sluice/echo", input: "x", stream: true }, [
    ...lines,
    "Connection: close",
  ]);
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({ "content-type": "text/event-stream; charset=utf-8" });
  expect(answer.headers["content-encoding"]).toBeUndefined();
});

test("attack 80: a hundred requests on one socket open no more turns than the key may have open", async () => {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { chunks = [] } = responsesAnswer();
  attacked.upstream.script([
    { chunks: [{ bytes: " ", after: finished }, ...chunks], headers: { "content-type": "application/json" } },
  ]);
  const before = attacked.upstream.requests.length;
  const body = JSON.stringify({ model: attackedModel, input: "x" });
  const one = head(["Host: sluice", bearer(), jsonHeader, `Content-Length: ${body.length}`]) + body;
  const socket = connect(attacked.installation.ports.gateway, "127.0.0.1");
  let text = "";
  socket.on("data", (bytes: Buffer) => (text += bytes.toString()));
  socket.write(one.repeat(100));
  await eventually(() => attacked.upstream.requests.length - before === 64);
  finish();
  const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  // A request refused before its body was read ends the connection, and with it all requests already sent.
  await eventually(() => statuses().length === 100 || socket.closed);
  socket.destroy();
  expect(statuses().slice(0, 64)).toEqual(Array<string>(64).fill("200"));
  expect(new Set(statuses().slice(64))).toEqual(new Set(["429"]));
  expect(attacked.upstream.requests.length - before).toBe(64);
});
