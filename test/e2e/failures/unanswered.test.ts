/** Why a provider gave no HTTP answer: in the error, the receipt and the log, in words without a host or an address. */
import { once } from "node:events";
import { type AddressInfo, type Server, createServer } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type House, startHouse } from "../../support/house.ts";
import { freePort } from "../../support/runner/free-ports.ts";

let house: House;
let silent: Server;
let closing: Server;
let plain: Server;

const portOf = (server: Server) => (server.address() as AddressInfo).port;
const listening = async (server: Server): Promise<Server> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
};

beforeAll(async () => {
  silent = await listening(createServer());
  closing = await listening(createServer((socket) => socket.once("data", () => socket.destroy())));
  plain = await listening(createServer((socket) => socket.once("data", () => socket.end("This is no TLS.\r\n"))));
  const provider = (id: string, url: string) => `  - {id: ${id}, dialect: chat, base_url: "${url}", api_keys: [k]}`;
  const providers = [
    provider("nameless", "http://nobody.invalid/v1"),
    provider("refusing", `http://127.0.0.1:${await freePort()}/v1`),
    provider("closing", `http://127.0.0.1:${portOf(closing)}/v1`),
    provider("plain", `https://127.0.0.1:${portOf(plain)}/v1`),
    `${provider("silent", `http://127.0.0.1:${portOf(silent)}/v1`).slice(0, -1)}, timeouts: {headers_ms: 300}}`,
  ];
  const ids = ["nameless", "refusing", "closing", "plain", "silent"];
  const models = ids.map((id) => `  - {id: acme/${id}, endpoints: [{provider: ${id}}]}`);
  house = await startHouse({ config: `providers:\n${providers.join("\n")}\nmodels:\n${models.join("\n")}\n` });
});
afterAll(async () => {
  await house?.stop();
  silent?.close();
  closing?.close();
  plain?.close();
});

test.each([
  ["nameless", "dns_not_found", 502],
  ["refusing", "connection_refused", 502],
  ["closing", "connection_lost", 502],
  ["plain", "tls", 502],
  ["silent", "timeout", 524],
])("%s: %s", async (id, error, status) => {
  const response = await fetch(`${house.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${house.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: `acme/${id}`, input: "Hi" }),
  });
  const text = await response.text();
  const body = JSON.parse(text);
  expect(response.status).toBe(status);
  expect(body.error.metadata).toMatchObject({ provider_status: null, provider_error: error });
  const { attempts } = body.service_metadata;
  expect(attempts.length).toBeGreaterThan(0);
  for (const attempt of attempts) expect(attempt).toMatchObject({ status, error });
  const logged = JSON.stringify({ error }).slice(1, -1);
  await house.logged("inference-svc", new RegExp(`"model":"acme/${id}".*"attempts":\\[.*${logged}`));
  expect(text).not.toMatch(/127\.0\.0\.1|nobody\.invalid/);
});
