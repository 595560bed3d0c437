/** Causes of provider failures: in the error, the receipt, the log and the record, without a host or an address. */
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { validate } from "../../support/answers/published.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { freePort } from "../../support/runner/free-ports.ts";

let installation: Installation;
const servers: Server[] = [];

async function serve(answer: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => socket.once("data", () => answer(socket)));
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** @param body after this body, the connection is closed */
const reply = (status: number, type: string, body: string) => (socket: Socket) =>
  void socket.end(`HTTP/1.1 ${status} Status\r\ncontent-type: ${type}\r\nconnection: close\r\n\r\n${body}`);

const streamHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const piece = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "Half an" }, finish_reason: null }] })}\n\n`;
const failure = (code: string) => JSON.stringify({ error: { message: "Limit 30000, used 29000 by 10.0.0.7", code } });
const silent = () => {};

/** How a server answers; null where nothing listens. */
const endings: Readonly<Record<string, ((socket: Socket) => void) | null>> = {
  refusing: null,
  closing: (socket) => socket.destroy(),
  plain: (socket) => void socket.end("This is no TLS.\r\n"),
  silent,
  pausing: (socket) => void socket.write(streamHead + piece),
  cutting: reply(200, "text/event-stream", piece),
  breaking: reply(200, "text/event-stream", `${piece}data: ${failure("engine_failed")}\n\n`),
  paging: reply(200, "text/html", "<html>Welcome</html>"),
  failing: reply(500, "application/json", failure("engine_failed")),
  limiting: reply(429, "application/json", failure("tokens_per_minute")),
  locked: reply(401, "application/json", failure("invalid_api_key")),
};

beforeAll(async () => {
  const providers: string[] = [
    '  - {id: nameless, dialect: chat, base_url: "http://nobody.invalid/v1", api_keys: [k]}',
  ];
  for (const [id, answer] of Object.entries(endings)) {
    const host = answer ? await serve(answer) : `127.0.0.1:${await freePort()}`;
    const url = `${id === "plain" ? "https" : "http"}://${host}/v1`;
    // Other cases have no time limit, since a busy machine may answer late.
    const timeouts = { silent: ", timeouts: {headers_ms: 300}", pausing: ", timeouts: {idle_ms: 300}" }[id] ?? "";
    providers.push(`  - {id: ${id}, dialect: chat, base_url: "${url}", api_keys: [k]${timeouts}}`);
  }
  const models = ["nameless", ...Object.keys(endings)].map(
    (id) => `  - {id: acme/${id}, endpoints: [{provider: ${id}}]}`,
  );
  installation = await startInstallation({
    config: `providers:\n${providers.join("\n")}\nmodels:\n${models.join("\n")}\n`,
  });
});
afterAll(async () => {
  await installation?.stop();
  for (const server of servers) server.close();
});

const sendRequest = (id: string, stream: boolean): Promise<Response> =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: `acme/${id}`, input: "Hi", stream }),
  });

test.each([
  ["nameless", "dns", 502],
  ["refusing", "connect_refused", 502],
  ["closing", "connection_lost", 502],
  ["plain", "tls", 502],
  ["silent", "timeout_first_event", 524],
  ["paging", "bad_answer", 502],
])("a request to a %s provider reports %s", async (id, error, status) => {
  const response = await sendRequest(id, false);
  const text = await response.text();
  const body = JSON.parse(text);
  expect(response.status).toBe(status);
  expect(body.error.metadata).toMatchObject({ provider_status: null, provider_error: error });
  const { attempts } = body.service_metadata;
  expect(attempts.length).toBeGreaterThan(0);
  for (const attempt of attempts) expect(attempt).toMatchObject({ status, error });
  const logged = JSON.stringify({ error }).slice(1, -1);
  await installation.logged("inference-svc", new RegExp(`"model":"acme/${id}".*"attempts":\\[.*${logged}`));
  expect(text).not.toMatch(/127\.0\.0\.1|nobody\.invalid/);
});

test.each([
  ["nameless", "dns", null],
  ["refusing", "connect_refused", null],
  ["closing", "connection_lost", null],
  ["plain", "tls", null],
  ["silent", "timeout_first_event", null],
  ["pausing", "timeout", null],
  ["cutting", "cut", null],
  ["breaking", "error_event", "engine_failed"],
  ["paging", "bad_answer", null],
  ["failing", "http_500", "engine_failed"],
  ["limiting", "http_429", "tokens_per_minute"],
  ["locked", "http_401", "invalid_api_key"],
])("the record of a stream from a %s provider has %s", async (id, error, code) => {
  const response = await sendRequest(id, true);
  await response.text();
  const generationId = response.headers.get("x-generation-id") ?? "";
  const read = (path: string) =>
    fetch(`${installation.baseUrl}${path}`, { headers: { authorization: `Bearer ${installation.managementKey}` } });
  let generation: { error_type?: string | null } | undefined;
  // The record of the call may come before the record of the turn.
  await eventually(async () => {
    generation = ((await (await read(`/generation?id=${generationId}`)).json()) as { data?: object }).data;
    return typeof generation?.error_type === "string";
  });
  const list = (await (await read("/generations?limit=200")).json()) as { data: { id: string }[] };
  expect(validate("GenerationList", list)).toEqual([]);
  const words = { provider_error: error, provider_code: code };
  expect([generation, list.data.find((turn) => turn.id === generationId)]).toMatchObject([words, words]);
  expect(JSON.stringify([generation, list])).not.toMatch(/\b29000\b|10\.0\.0\.7|127\.0\.0\.1/);
});
