/** Addresses of clients in the audit log and, if this is enabled, in the log of requests. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { SocketClient } from "../../support/answers/socket-client.ts";
import { type AddressedRequest, askFrom, callFrom } from "../../support/clients-by-address.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";

let installation: Installation;

beforeAll(async () => {
  installation = await startInstallation({
    config: `
providers:
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
trusted_proxies: [127.0.0.9]
console: {enabled: true}
log_client_addresses: true
`,
  });
});
afterAll(() => installation?.stop());

const proxy = "127.0.0.9";
const behindProxy = { "x-forwarded-for": "203.0.113.1, 198.51.100.7" };

const ask = (address: string, path: string, { headers, ...asked }: AddressedRequest = {}) =>
  askFrom(address, new URL(path, installation.baseUrl).href, {
    ...asked,
    headers: { authorization: `Bearer ${installation.managementKey}`, ...headers },
  });

interface Entry {
  readonly action: string;
  readonly target: string;
  readonly address: string | null;
}

const entries = async (query: string): Promise<readonly Entry[]> => {
  const { text } = await ask("127.0.0.1", `/api/v1/audit?${query}`);
  return (JSON.parse(text) as { readonly data: readonly Entry[] }).data;
};

describe("an entry of the audit log has the address of the client", () => {
  test("for a change over HTTP, also behind a trusted proxy, and never an invented one", async () => {
    const made: string[] = [];
    for (const [address, headers] of [
      ["127.0.0.5", {}],
      [proxy, behindProxy],
      ["127.0.0.6", { "x-forwarded-for": "198.51.100.8", "x-sluice-client-address": "198.51.100.8" }],
    ] as const) {
      const { text } = await ask(address, "/api/v1/keys", { headers, body: { name: "made" } });
      made.push((JSON.parse(text) as { data: { hash: string } }).data.hash);
    }
    const written = await Promise.all(made.map((hash) => entries(`target=${hash}`)));
    expect(written.flat().map(({ address }) => address)).toEqual(["127.0.0.5", "198.51.100.7", "127.0.0.6"]);
    expect((await entries("address=::ffff:198.51.100.7")).map(({ target }) => target)).toEqual([made[1]]);
    expect((await entries("q=198.51.100.")).map(({ target }) => target)).toEqual([made[1]]);
    expect(await entries("address=198.51.100.8")).toEqual([]);
    const { stdout } = await installation.admin("audit", "list", "--address", "127.0.0.5", "--json");
    expect(JSON.parse(stdout)).toMatchObject([{ target: made[0], address: "127.0.0.5" }]);
  });

  test("for a sign-in to the console, a change there and the sign-out", async () => {
    const page = { "sec-fetch-site": "same-origin", "content-type": "application/json" };
    const console = (path: string, asked: AddressedRequest) =>
      askFrom("127.0.3.1", new URL(`/console/api${path}`, installation.baseUrl).href, {
        ...asked,
        headers: { ...page, ...asked.headers },
      });
    const opened = await console("/session", { body: { management_key: installation.managementKey } });
    const headers = { cookie: String(opened.headers["set-cookie"]).split(";", 1)[0] ?? "" };
    expect((await console("/keys", { headers, body: { name: "clicked" } })).status).toBe(201);
    expect((await console("/session", { method: "DELETE", headers })).status).toBe(204);
    const written = await entries("address=127.0.3.1");
    expect(written.map(({ action }) => action)).toEqual(["sessions.end", "keys.create", "sessions.open"]);
  });

  test("for a provider that inference-svc stores", async () => {
    const body = {
      id: "stored",
      dialect: "chat",
      base_url: "http://127.0.0.1:9/v1",
      models: ["one"],
      api_keys: ["none"],
    };
    const { status, text } = await ask("127.0.3.2", "/api/v1/providers", { body });
    expect([status, text]).toEqual([201, expect.anything()]);
    expect(await entries("address=127.0.3.2")).toMatchObject([{ target: "stored" }]);
  });

  test("for a call of admin-svc without a gateway, whatever address the call names", async () => {
    const headers = {
      authorization: `Bearer ${installation.managementKey}`,
      "x-sluice-client-address": "198.51.100.8",
      "x-forwarded-for": "198.51.100.8",
    };
    const { admin } = installation.ports;
    const made = await callFrom("127.0.3.3", admin, "/sluice.admin.v1.KeyService/CreateKey", headers, {
      name: "direct",
    });
    expect([made.status, made.text]).toEqual([200, expect.anything()]);
    expect(await entries("address=127.0.3.3")).toMatchObject([{ action: "keys.create" }]);
    expect(await entries("address=198.51.100.8")).toEqual([]);
  });
});

test("an audit entry of the command line has no address, and the log verifies with entries of both kinds", async () => {
  const { stdout } = await installation.admin("keys", "create", "--name", "cli", "--json");
  const { hash } = JSON.parse(stdout) as { hash: string };
  expect(await entries(`target=${hash}`)).toMatchObject([{ address: null }]);
  const { text } = await ask("127.0.0.1", "/api/v1/audit/verify");
  expect(JSON.parse(text)).toMatchObject({ data: [{ wrong: [], unverifiable: [] }] });
});

describe("the line of a request in the log has the address of the client", () => {
  const lineOf = (requestId: unknown) => installation.logged("gateway", '"msg":"request"', String(requestId));

  test.each<[string, string, number]>([
    ["of a turn", "/api/v1/responses", 200],
    ["of a list", "/api/v1/models", 200],
    ["of an unknown path", "/api/v1/nowhere", 404],
    ["of a request with a wrong key", "/api/v1/key", 401],
  ])("for %s", async (_, path, status) => {
    const body = path.endsWith("/responses") ? { model: "sluice/echo", input: "Hi" } : undefined;
    const key = status === 401 ? "sk-sl-wrong" : installation.apiKey;
    const headers = { authorization: `Bearer ${key}`, ...behindProxy };
    const answer = await ask(proxy, path, { headers, ...(body && { body }) });
    expect(answer.status).toBe(status);
    expect(JSON.parse(await lineOf(answer.headers["x-request-id"]))).toMatchObject({ address: "198.51.100.7", status });
  });

  test("for a response over a WebSocket", async () => {
    const headers = { authorization: `Bearer ${installation.apiKey}` };
    const client = new SocketClient(installation.ports.gateway, headers, "127.0.3.4");
    await once(client.socket, "open");
    await client.ask({ model: "sluice/echo", input: "Hi" });
    client.socket.close();
    expect(JSON.parse(await installation.logged("gateway", '"method":"WEBSOCKET"'))).toMatchObject({
      address: "127.0.3.4",
    });
  });
});
