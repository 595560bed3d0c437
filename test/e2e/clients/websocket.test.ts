/** Responses over a WebSocket, as Codex requests them: one connection, many responses, the same events. */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { changeDigit } from "../../support/altered.ts";
import { type ServerEvent, SocketClient, textOf } from "../../support/answers/socket-client.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import {
  type Received,
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  startUpstream,
} from "../../support/providers/upstream.ts";

const says = (text: string): Reply => ({
  chunks: [{ sse: [chatChunk({ content: text }), chatChunk({}, "stop"), "[DONE]"] }],
});

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: acme/large-2, endpoints: [{provider: acme}]}
cors: {allow_origins: ["https://pages.example"]}
limits: {streams_per_key: 300}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const bearer = () => ({ authorization: `Bearer ${installation.apiKey}` });

async function connect(headers: Readonly<Record<string, string>> = bearer()): Promise<SocketClient> {
  const client = new SocketClient(installation.ports.gateway, headers);
  await once(client.socket, "open");
  return client;
}

/** Status and body of a refused connection. @throws when the connection opens */
async function refusal(headers: Readonly<Record<string, string>>): Promise<[status: number, body: string]> {
  const { socket } = new SocketClient(installation.ports.gateway, headers);
  const opened = once(socket, "open").then(() => Promise.reject(new Error("the connection was not refused")));
  const refused = once(socket, "unexpected-response") as Promise<[unknown, import("node:http").IncomingMessage]>;
  const [, response] = await Promise.race([refused, opened]);
  let body = "";
  for await (const bytes of response) body += String(bytes);
  return [response.statusCode ?? 0, body];
}

const idOf = (events: readonly ServerEvent[]) => events.at(-1)?.response?.id;
const lastMessages = () =>
  ((upstream.requests.at(-1) as Received).json as { messages: { role: string; content: unknown }[] }).messages;

describe("a response over a WebSocket", () => {
  test("has the events of a stream, one in a frame, and the connection stays open", async () => {
    const client = await connect();
    for (const word of ["one", "two"]) {
      upstream.script([says(word)]);
      const events = await client.ask({ input: "x" });
      expect(events.map(({ type }) => type)).toEqual([
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
      ]);
      expect(textOf(events)).toBe(word);
    }
    client.socket.close();
  });

  test("continues the previous response by its id, and no other response", async () => {
    const client = await connect();
    upstream.script([says("Anna")]);
    const first = idOf(await client.ask({ input: [{ type: "message", role: "user", content: "Who?" }] }));
    upstream.script([says("Bern")]);
    const second = idOf(await client.ask({ previous_response_id: first, input: "Where?" }));
    expect(lastMessages().map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(lastMessages())).toMatch(/Who\?.*Anna.*Where\?/);

    const asked = upstream.requests.length;
    const [stale] = await client.ask({ previous_response_id: first, input: "When?" });
    expect(stale).toMatchObject({
      type: "error",
      status: 400,
      error: { code: "previous_response_not_found", param: "previous_response_id" },
    });
    expect(upstream.requests).toHaveLength(asked);
    upstream.script([says("1291")]);
    expect(textOf(await client.ask({ previous_response_id: second, input: "When?" }))).toBe("1291");
    expect(lastMessages()).toHaveLength(5);
    client.socket.close();
  });

  test("is remembered only by its connection", async () => {
    const [one, other] = [await connect(), await connect()];
    upstream.script([says("x")]);
    const id = idOf(await one.ask({ input: "x" }));
    expect(await other.ask({ previous_response_id: id, input: "y" })).toMatchObject([{ status: 400 }]);
    for (const { socket } of [one, other]) socket.close();
  });

  test("is prepared without a model when generate is false, and can be continued", async () => {
    const client = await connect();
    const asked = upstream.requests.length;
    const prepared = await client.ask({
      generate: false,
      instructions: "Be brief.",
      input: [{ type: "message", role: "developer", content: "rules" }],
    });
    expect(prepared.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.completed",
    ]);
    expect(upstream.requests).toHaveLength(asked);
    upstream.script([says("ok")]);
    await client.ask({ previous_response_id: idOf(prepared), input: "go" });
    expect(JSON.stringify(lastMessages())).toMatch(/rules.*go/);
    client.socket.close();
  });

  test("is refused in one frame, and the connection stays open", async () => {
    const client = await connect();
    expect(await client.ask({ input: "x", temperature: 9 })).toMatchObject([
      { type: "error", status: 400, error: { code: "invalid_request" } },
    ]);
    expect(await client.ask({ input: "x", model: "acme/none" })).toMatchObject([{ type: "error", status: 404 }]);
    client.socket.send("{");
    expect(await client.response()).toMatchObject([{ status: 400 }]);
    client.socket.send(Buffer.from("{}"));
    expect(await client.response()).toMatchObject([{ error: { message: "frame: must be text" } }]);
    upstream.script([says("still here")]);
    expect(textOf(await client.ask({ input: "x" }))).toBe("still here");
    client.socket.close();
  });

  test("begins after the end of the response before it", async () => {
    const client = await connect();
    upstream.script([says("first"), says("second")]);
    client.send({ input: "a" });
    client.send({ input: "b" });
    expect(textOf(await client.response())).toBe("first");
    expect(textOf(await client.response())).toBe("second");
    client.socket.close();
  });

  test("ends when the client cancels it, and so does the provider call", async () => {
    const client = await connect();
    upstream.script([{ chunks: [{ sse: [chatChunk({ content: "begun " })] }], hang: true }]);
    client.send({ input: "x" });
    await eventually(() => client.events.some(({ delta }) => delta === "begun "));
    const closed = upstream.nextClose();
    client.socket.send('{"type":"response.cancel"}');
    expect((await client.response()).at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } });
    await closed;
    client.socket.close();
  });

  test("ends at the provider when the client leaves", async () => {
    const client = await connect();
    upstream.script([{ chunks: [{ sse: [chatChunk({ content: "begun " })] }], hang: true }]);
    client.send({ input: "x" });
    await eventually(() => client.events.some(({ delta }) => delta === "begun "));
    const closed = upstream.nextClose();
    client.socket.terminate();
    await closed;
  });
});

describe("a WebSocket connection", () => {
  test("needs a key, and an active key", async () => {
    expect(await refusal({})).toMatchObject([401, expect.stringContaining("Missing Authentication header")]);
    expect(await refusal({ authorization: `Bearer ${changeDigit(installation.apiKey)}` })).toMatchObject([
      401,
      expect.any(String),
    ]);
  });

  test("is refused to pages of origins outside the allow list", async () => {
    expect(await refusal({ ...bearer(), origin: "https://other.example" })).toMatchObject([
      403,
      expect.stringContaining("cors.allow_origins"),
    ]);
    (await connect({ ...bearer(), origin: "https://pages.example" })).socket.close();
  });

  test("ends when its key is revoked", async () => {
    const { stdout } = await installation.admin("keys", "create", "--name", "for a socket", "--json");
    const { key, hash } = JSON.parse(stdout) as { key: string; hash: string };
    const client = await connect({ authorization: `Bearer ${key}` });
    await installation.admin("keys", "revoke", hash);
    const closed = once(client.socket, "close");
    expect(await client.ask({ input: "x" })).toMatchObject([{ status: 401 }]);
    expect((await closed)[0]).toBe(1008);
  });

  test("with another Upgrade header is an ordinary request", async () => {
    upstream.script([chatAnswer({ role: "assistant", content: "plain" })]);
    const body = JSON.stringify({ model: "acme/large-2", input: "x" });
    const request = httpRequest(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: {
        ...bearer(),
        "content-type": "application/json",
        "content-length": body.length,
        connection: "Upgrade, HTTP2-Settings",
        upgrade: "h2c",
        "http2-settings": "AAMAAABk",
      },
    });
    request.end(body);
    const [response] = (await once(request, "response")) as [import("node:http").IncomingMessage];
    let answer = "";
    for await (const bytes of response) answer += String(bytes);
    expect([response.statusCode, answer]).toEqual([200, expect.stringContaining("plain")]);
  });
});

test("two hundred WebSocket connections with ten responses each neither lose nor mix up frames", async () => {
  const clients = await Promise.all(Array.from({ length: 200 }, () => connect()));
  const echo = (name: string) => ({ model: "sluice/echo", input: name });
  await Promise.all(
    clients.map(async (client, number) => {
      for (let turn = 0; turn < 10; turn++) {
        const name = `client ${number} turn ${turn}`;
        let events = await client.ask(echo(name));
        // Processes delayed by a busy machine refuse requests.
        while (events.at(-1)?.status === 503) events = await client.ask(echo(name));
        expect(events.flatMap(({ delta }) => delta ?? []).join("")).toBe(textOf(events));
        expect(textOf(events)).toContain(name);
      }
      client.socket.close();
    }),
  );
});
