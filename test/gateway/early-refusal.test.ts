/** Turns refused before Node's parser has read them, on real sockets: the answers, and the state of the connection afterwards. */
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { type Socket, connect } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { refuseEarly } from "@sluice/gateway/edge/http/early-refusal.js";
import { createEdgeServer } from "@sluice/gateway/edge/http/edge-server.js";
import { writeJson } from "@sluice/gateway/edge/http/errors.js";
import { refuseOverload } from "@sluice/gateway/edge/http/shed.js";
import { close, listen } from "@sluice/proto/lib/http1/server.js";
import { Random } from "../support/random.ts";
import { type RawAnswer, parseAnswer } from "./raw-http.ts";

/** Whether turns are refused at present. */
const door = { overloaded: true, refuses: () => door.overloaded };

/** Requests that Node's parser has passed on. */
let parsed: string[];
/** Answers are sent once this promise settles. */
let held: Promise<void>;
let server: Server;
let port: number;
/** The server's socket of the last connection. */
let accepted: Socket;

/** A server with the gateway's order: a turn is refused before any other step, and admitted requests are described in their answer. */
async function edge(request: IncomingMessage, response: ServerResponse): Promise<void> {
  parsed.push(`${request.method} ${request.url}`);
  if (request.url === "/api/v1/responses" && door.refuses()) {
    refuseEarly(request, door);
    return refuseOverload(request, response);
  }
  const body = await text(request).catch(() => "of a client that left");
  await held;
  writeJson(response, { url: request.url, tag: request.headers["x-tag"], body });
}

beforeEach(async () => {
  door.overloaded = true;
  parsed = [];
  held = Promise.resolve();
  server = createEdgeServer((request, response) => void edge(request, response));
  server.on("connection", (socket: Socket) => (accepted = socket));
  port = await listen(server, 0);
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

class Client {
  readonly socket = connect({ port, host: "127.0.0.1", noDelay: true });
  #sent = 0;
  #come = "";

  constructor() {
    this.socket.setEncoding("latin1").on("data", (bytes: string) => (this.#come += bytes));
    this.socket.on("error", () => {});
  }

  /** Sends one piece, and settles when the server has read it. */
  async send(piece: string): Promise<void> {
    this.#sent += piece.length;
    this.socket.write(piece, "latin1");
    const isOnItsWay = () => this.socket.connecting || (!accepted.destroyed && accepted.bytesRead < this.#sent);
    while (!this.socket.destroyed && isOnItsWay()) await turn();
    await turn();
  }

  async answer(): Promise<RawAnswer> {
    for (;;) {
      const end = this.#come.indexOf("\r\n\r\n") + 4;
      const length = end + Number(/content-length: (\d+)/i.exec(this.#come)?.[1]);
      if (end >= 4 && this.#come.length >= length) {
        const answer = parseAnswer(this.#come.slice(0, length));
        this.#come = this.#come.slice(length);
        return answer;
      }
      if (this.socket.closed) throw new Error(`closed after ${JSON.stringify(this.#come)}`);
      await Promise.race([once(this.socket, "data"), once(this.socket, "close")]);
    }
  }

  async ask(request: string): Promise<RawAnswer> {
    await this.send(request);
    return await this.answer();
  }
}

const request = (line: string, fields: readonly string[], body: string) =>
  `${[`${line} HTTP/1.1`, "Host: a", ...fields, `Content-Length: ${body.length}`].join("\r\n")}\r\n\r\n${body}`;
const turnOf = (tag: string, body = "{}", ...fields: readonly string[]) =>
  request("POST /api/v1/responses", ["Authorization: Bearer k", `X-Tag: ${tag}`, ...fields], body);

/** The parser reads the first two requests: one before the early refusal is active, and one to find where a request begins. */
async function refusedClient(): Promise<{ client: Client; answer: RawAnswer }> {
  const client = new Client();
  const answer = await client.ask(turnOf("first"));
  await client.ask(turnOf("second"));
  expect(parsed.splice(0)).toHaveLength(2);
  return { client, answer };
}

const served = ({ status, body }: RawAnswer): unknown => [status, (JSON.parse(body) as { tag: string }).tag];

describe("a turn on a connection with an earlier refusal", () => {
  test("is refused unparsed, with the same answer", async () => {
    const { client, answer } = await refusedClient();
    const early = await client.ask(turnOf("third"));
    expect(parsed).toEqual([]);
    const lasting = ({ status, headers, body }: RawAnswer) => [
      status,
      { ...headers, "x-request-id": "", "retry-after": "", "retry-after-ms": "" },
      body,
    ];
    expect(lasting(early)).toEqual(lasting(answer));
    expect(early.status).toBe(503);
    expect(early.headers["x-request-id"]).toMatch(/^req_[0-9A-Za-z]{22}$/);
    expect(early.headers["x-request-id"]).not.toBe(answer.headers["x-request-id"]);
    const ms = Number(early.headers["retry-after-ms"]);
    expect([ms >= 1_000, ms <= 5_001, Number(early.headers["retry-after"])]).toEqual([true, true, Math.ceil(ms / 1e3)]);
  });

  test("is refused unparsed also as a chat completion", async () => {
    const { client } = await refusedClient();
    const answer = await client.ask(request("POST /api/v1/chat/completions", ["Authorization: Bearer k"], "{}"));
    expect([answer.status, parsed]).toEqual([503, []]);
  });

  test("is served whole once turns are accepted, and refused unparsed when they are refused again", async () => {
    const { client } = await refusedClient();
    await client.ask(turnOf("third"));
    door.overloaded = false;
    expect(served(await client.ask(turnOf("fourth", '{"input":"Hi"}')))).toEqual([200, "fourth"]);
    expect(served(await client.ask(turnOf("fifth")))).toEqual([200, "fifth"]);
    door.overloaded = true;
    await client.ask(turnOf("sixth"));
    parsed = [];
    expect((await client.ask(turnOf("seventh"))).status).toBe(503);
    expect(parsed).toEqual([]);
  });

  test("is accepted when other turns are refused", async () => {
    const { client } = await refusedClient();
    const { refuses } = door;
    door.refuses = () => false;
    expect(served(await client.ask(turnOf("third")))).toEqual([200, "third"]);
    door.refuses = refuses;
    parsed = [];
    expect((await client.ask(turnOf("fourth"))).status).toBe(503);
    expect(parsed).toEqual([]);
  });

  test("is refused before its body has arrived, and its body is skipped to the last byte", async () => {
    const { client } = await refusedClient();
    const whole = turnOf("third", "0123456789".repeat(10));
    await client.send(whole.slice(0, -100));
    expect((await client.answer()).status).toBe(503);
    await client.send(whole.slice(-100, -40));
    await client.send(whole.slice(-40, -1));
    // The bytes hold the end of one request and all of the next.
    expect((await client.ask(`${whole.slice(-1)}${turnOf("fourth")}`)).status).toBe(503);
    expect(parsed).toEqual([]);
    door.overloaded = false;
    expect(served(await client.ask(turnOf("fifth")))).toEqual([200, "fifth"]);
  });

  test("is answered after the request before it", async () => {
    const { client } = await refusedClient();
    let release: () => void = () => {};
    held = new Promise((resolve) => (release = resolve));
    const { refuses } = door;
    door.refuses = () => false;
    await client.send(turnOf("third"));
    door.refuses = refuses;
    await client.send(turnOf("fourth"));
    release();
    expect(served(await client.answer())).toEqual([200, "third"]);
    expect((await client.answer()).status).toBe(503);
  });

  test("goes to the parser, with its backpressure, while answers pile up", async () => {
    const { client } = await refusedClient();
    accepted.cork();
    await client.send(turnOf("third"));
    expect(parsed).toEqual([]);
    await client.send(turnOf("fourth"));
    expect(parsed).toHaveLength(1);
    accepted.uncork();
    expect([(await client.answer()).status, (await client.answer()).status]).toEqual([503, 503]);
  });

  test.each([
    ["its client", "Connection: close", () => {}],
    ["a server that ends", "X-A: b", () => void close(server)],
  ])(
    "whose connection is closed by %s is read to its end, so that no reset overtakes the answer",
    async (_, field, end) => {
      const client = new Client();
      await client.ask(request("GET /other", [], ""));
      end();
      const whole = turnOf("last", "x".repeat(60_000), field);
      client.socket.pause();
      for (let at = 0; at < whole.length; at += 10_000) await client.send(whole.slice(at, at + 10_000));
      client.socket.resume();
      const answer = await client.answer();
      expect([answer.status, answer.headers["connection"]]).toEqual([503, "close"]);
      if (!client.socket.closed) await once(client.socket, "close");
      expect(client.socket.errored).toBeNull();
    },
  );

  test("gets an answer that closes its connection when the server closes", async () => {
    const { client } = await refusedClient();
    const closed = close(server);
    door.overloaded = false;
    const answer = await client.ask(turnOf("third"));
    expect([served(answer), answer.headers["connection"]]).toEqual([[200, "third"], "close"]);
    await closed;
  });
});

describe("the early refusal of turns leaves to the parser", () => {
  test.each([
    ["another path", request("POST /api/v1/guardrails", [], "{}"), 200],
    ["a path that only looks like it", request("POST /API/V1/responses", [], "{}"), 200],
    ["a client that waits for 100 Continue", turnOf("x", "{}", "Expect: 100-continue"), 503],
    ["a page of another origin", turnOf("x", "{}", "Origin: https://a.example"), 503],
    ["a last request", turnOf("x", "{}", "Connection: close"), 503],
    ["an older protocol", turnOf("x").replace("HTTP/1.1", "HTTP/1.0"), 503],
    ["a body in chunks", "POST /api/v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 503],
    ["a head of more than 4 KiB", turnOf("x", "{}", `X-A: ${"a".repeat(4_096)}`), 503],
    ["two in one piece", turnOf("x").repeat(2), 503],
  ])("%s", async (_, bytes, status) => {
    const { client } = await refusedClient();
    expect((await client.ask(bytes)).status).toBe(status);
    expect(parsed).not.toEqual([]);
  });

  test("a body too long to be skipped, and the connection ends", async () => {
    const { client } = await refusedClient();
    await client.send(turnOf("x", "x".repeat(65_537)).slice(0, 1_000));
    const answer = await client.answer();
    expect([answer.status, answer.headers["connection"], parsed.length]).toEqual([503, "close", 1]);
  });

  test.each([
    ["two lengths", "Content-Length: 2"],
    ["a length and chunks", "Transfer-Encoding: chunked"],
    ["a space before a colon", "X-A : b"],
    ["a folded field", "X-A: b\r\n c"],
    ["a bare line feed", "X-A: b\nX-B: c"],
    ["a bare carriage return", "X-A: b\rX-B: c"],
    ["a NUL", "X-A: b\0c"],
  ])("a request with %s, which the parser refuses", async (_, field) => {
    const { client } = await refusedClient();
    expect((await client.ask(turnOf("x", "{}", field))).status).toBe(400);
  });
});

describe("the beginning of a request on a connection with early refusals", () => {
  /** The bytes after the first refused request are in Node's parser, and were not checked before. */
  test.each([
    ["in the middle of a header", "GET /hidden HTTP/1.1\r\nHost: a\r\nX-A: ", "GET /hidden"],
    ["before its first header", "GET /hidden HTTP/1.1\r\n", undefined],
    ["in its request line", "GET /hidden", undefined],
    ["in its body", "POST /hidden HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", "POST /hidden"],
  ])("is not confused with the rest of an unfinished earlier request: cut %s", async (_, hidden, seen) => {
    const client = new Client();
    await client.send(turnOf("first") + hidden);
    expect((await client.answer()).status).toBe(503);
    for (const tag of ["second", "third", "fourth"]) await client.send(turnOf(tag));
    if (seen === undefined) {
      expect((await client.answer()).status).toBe(400);
      expect(parsed).toHaveLength(1);
    } else {
      expect(parsed[1]).toBe(seen);
    }
  });

  test("is found after the end of a body in the same piece of bytes", async () => {
    const client = new Client();
    const following = "GET /inner HTTP/1.1\r\nHost: a\r\n\r\nGET /last HTTP/1.1\r\nHost: a\r\nX-A: ";
    const looksLikeTurn = turnOf("second", following);
    const bodyBytes = looksLikeTurn.length - following.length;
    await client.send(`${turnOf("first")}POST /hidden HTTP/1.1\r\nHost: a\r\nContent-Length: ${bodyBytes}\r\n\r\n`);
    await client.send(looksLikeTurn);
    await client.send(turnOf("third"));
    expect(parsed).toEqual(["POST /api/v1/responses", "POST /hidden", "GET /inner", "GET /last"]);
  });

  test("is found at any cut of the bytes and any time of refusals, so each request has one answer", async () => {
    let sent = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const random = new Random(seed);
      const requests = Array.from({ length: 12 }, (_, index) => anyRequest(`${seed}-${index}`, random));
      sent += requests.length;
      const client = new Client();
      for (const piece of cut(requests, random)) {
        door.overloaded = random.chance(0.7);
        await client.send(piece);
      }
      for (const { tag, body, refusable } of requests) {
        const answer = await client.answer();
        if (answer.status === 503) expect([tag, refusable]).toEqual([tag, true]);
        else expect(JSON.parse(answer.body)).toMatchObject({ tag, body });
      }
      client.socket.destroy();
    }
    expect(parsed.length).toBeLessThan(sent);
  });
});

interface AnyRequest {
  readonly tag: string;
  readonly bytes: string;
  readonly body: string;
  readonly refusable: boolean;
}

function anyRequest(tag: string, random: Random): AnyRequest {
  // A body full of lookalikes of requests.
  const body = turnOf("inner", "x".repeat(random.below(40))).repeat(random.below(3));
  const kind = random.next();
  if (kind < 0.75) return { tag, bytes: turnOf(tag, body), body, refusable: true };
  if (kind < 0.9) return { tag, bytes: request("POST /other", [`X-Tag: ${tag}`], body), body, refusable: false };
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n${body === "" ? "" : "0\r\n\r\n"}`;
  const head = `POST /other HTTP/1.1\r\nHost: a\r\nX-Tag: ${tag}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  return { tag, bytes: head + chunks, body, refusable: false };
}

/** The bytes are mostly cut into one piece for each request, as clients send them; otherwise anywhere, also at lookalikes of a beginning. */
function* cut(requests: readonly AnyRequest[], random: Random): Generator<string> {
  let pending = "";
  for (const { bytes } of requests) {
    pending += bytes;
    while (random.chance(0.3) && pending.length > 1) {
      const line = pending.indexOf("POST", 1);
      const at = line > 0 && random.chance(0.5) ? line : 1 + random.below(pending.length - 1);
      yield pending.slice(0, at);
      pending = pending.slice(at);
    }
    if (random.chance(0.2)) continue;
    yield pending;
    pending = "";
  }
  if (pending !== "") yield pending;
}
