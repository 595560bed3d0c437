/** The end of an HTTP/1 server loses no request. */
import { once } from "node:events";
import { Agent, type IncomingMessage, type Server, type ServerResponse, createServer, get } from "node:http";
import { type Socket, connect } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { addPendingResponse } from "@sluice/proto/lib/http1/pending-responses.js";
import { close, listen } from "@sluice/proto/lib/http1/server.js";

let server: Server;
let port: number;
let agent: Agent;
let held: ServerResponse | undefined;

beforeEach(async () => {
  held = undefined;
  server = createServer((request, response) => {
    addPendingResponse(request.socket, response);
    if (request.url !== "/held") return void response.end("answer");
    held = response;
    response.write("begun ");
  });
  port = await listen(server, 0);
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
});
afterEach(() => {
  agent.destroy();
  server.closeAllConnections();
});

async function ask(path: string): Promise<IncomingMessage> {
  const [response] = (await once(get({ port, path, agent }), "response")) as [IncomingMessage];
  return response;
}

test("a connection whose answer ends while the server closes takes one more request, and ends with it", async () => {
  const first = await ask("/held");
  const closed = close(server);
  held?.end("done");
  first.resume();
  await once(first, "end");
  const second = await ask("/");
  expect([second.statusCode, second.headers.connection]).toEqual([200, "close"]);
  second.resume();
  await closed;
});

test("a connection that answers just before the server closes takes one more request, and ends with it", async () => {
  const first = await ask("/");
  first.resume();
  await once(first, "end");
  const closed = close(server);
  const second = await ask("/");
  expect([second.statusCode, second.headers.connection]).toEqual([200, "close"]);
  second.resume();
  await closed;
});

/** The request is sent before the connection would end. The process is kept busy past this time, and checks its timers next. */
async function lateRequest(socket: Socket): Promise<void> {
  await setImmediate();
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const until = performance.now() + 1_500;
  while (performance.now() < until);
}

test("a request received by a busy process is answered, however late the process reads it", async () => {
  const accepted = once(server, "connection");
  const socket = connect(port, "127.0.0.1");
  await accepted;
  const closed = close(server);
  void lateRequest(socket);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 OK\r\nconnection: close\r\n/);
  await closed;
});

test("a request behind an answer that ends while the server closes is not lost", async () => {
  const socket = connect(port, "127.0.0.1");
  socket.write("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
  await once(server, "request");
  const closed = close(server);
  held?.end("done");
  await once(held as ServerResponse, "finish");
  void lateRequest(socket);
  expect(await text(socket)).toMatch(/begun .*done.*HTTP\/1.1 200 OK\r\nconnection: close\r\n/s);
  await closed;
});

test("silent connections do not delay the close of a server, and new connections are refused", async () => {
  const silent = connect(port, "127.0.0.1");
  await once(silent, "connect");
  (await ask("/")).resume();
  const closed = close(server);
  const late = connect(port, "127.0.0.1");
  await expect(once(late, "connect")).rejects.toThrow("ECONNREFUSED");
  await closed;
  if (!silent.closed) await once(silent.resume(), "close");
});
