/** Networks from which a key may be used, with clients of several addresses: every door, the console, gRPC, proxies, and a change in force at once. */
import { once } from "node:events";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { validateError } from "../../support/answers/published.ts";
import { SocketClient } from "../../support/answers/socket-client.ts";
import { type AddressedRequest, askFrom, callFrom } from "../../support/clients-by-address.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";
import { administer } from "./keys.ts";

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));
const withIpv6 = hasIpv6 ? test : test.skip;

let upstream: Upstream;
let installation: Installation;
let manager: string;

beforeAll(async () => {
  upstream = await startUpstream([chatAnswer({ role: "assistant", content: "fine" })]);
  installation = await startInstallation({
    environment: { SLUICE_HOST: hasIpv6 ? "::" : "127.0.0.1" },
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/large, endpoints: [{provider: acme}]}
  - {id: acme/vectors, output_modalities: [embeddings], endpoints: [{provider: acme}]}
trusted_proxies: [127.0.0.9]
console: {enabled: true}
`,
  });
  const create = ["keys", "create", "--management", "--account", "--name", "office"];
  const { stdout } = await installation.admin(...create, "--allowed-networks", "127.0.1.0/24, 2001:db8::/32", "--json");
  manager = (JSON.parse(stdout) as { readonly key: string }).key;
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const allowed = "127.0.0.2";
const other = "127.0.0.3";
const proxy = "127.0.0.9";
const office = "127.0.1.7";

interface Made {
  readonly key: string;
  readonly data: { readonly hash: string; readonly allowed_networks: readonly string[] | null };
}

const newKey = async (...networks: readonly string[]): Promise<Made> => {
  const body = { name: "fixed", ...(networks.length > 0 && { allowed_networks: networks }) };
  return (await administer(installation, "POST", "/keys", body)) as Made;
};

const ask = (address: string, key: string, path: string, { headers, ...asked }: AddressedRequest = {}) =>
  askFrom(address, `${installation.baseUrl}${path}`, {
    ...asked,
    headers: { authorization: `Bearer ${key}`, ...headers },
  });

const user = [{ role: "user", content: "Hi" }];

/** A request at each door and for each kind of list. */
const requests: readonly (readonly [string, object | undefined])[] = [
  ["/responses", { model: "acme/large", input: "Hi" }],
  ["/responses/dry-run", { model: "acme/large", input: "Hi" }],
  ["/responses/input_tokens", { model: "acme/large", input: "Hi" }],
  ["/responses/compact", { model: "acme/large", input: "Hi" }],
  ["/chat/completions", { model: "acme/large", messages: user }],
  ["/messages", { model: "acme/large", messages: user, max_tokens: 9 }],
  ["/messages/count_tokens", { model: "acme/large", messages: user }],
  ["/embeddings/dry-run", { model: "acme/vectors", input: "Hi" }],
  ["/models", undefined],
  ["/models/count", undefined],
  ["/providers", undefined],
  ["/key", undefined],
];

/** The refusal of a request from an address. */
const refusalOf = (address: string, status = 403) => ({
  status,
  text: expect.stringContaining(`This key may not be used from ${address} (allowed_networks)`),
});

describe("a key limited to a network", () => {
  test.each(requests)(
    "may use %s from the network, and is refused from elsewhere before its body is read",
    async (path, body) => {
      const { key } = await newKey("127.0.0.2", "2001:db8::/32");
      const served = await ask(allowed, key, path, { ...(body && { body }) });
      expect([served.status, served.text]).toEqual([200, expect.anything()]);
      const refused = await ask(other, key, path, { ...(body && { body, waits: true }) });
      expect(refused).toMatchObject({ ...refusalOf(other), wantedBody: false });
      if (path.startsWith("/messages")) return;
      const answer = JSON.parse(refused.text) as { error: { metadata: object } };
      expect(answer.error.metadata).toMatchObject({ permission: "allowed_networks", value: other });
      expect(validateError(403, answer)).toEqual([]);
    },
  );

  test("is refused a WebSocket from elsewhere, and each response once the network was removed", async () => {
    const { key, data } = await newKey("127.0.0.2");
    const open = (address: string) =>
      new SocketClient(installation.ports.gateway, { authorization: `Bearer ${key}` }, address);
    const refused = open("127.0.0.4");
    const [, answer] = (await once(refused.socket, "unexpected-response")) as [unknown, IncomingMessage];
    refused.socket.terminate();
    const line = await installation.logged("gateway", '"msg":"request"', String(answer.headers["x-request-id"]));
    expect(JSON.parse(line)).toMatchObject({
      method: "GET",
      route: "/api/v1/responses",
      status: 403,
      error_type: "permission_denied",
    });
    const client = open(allowed);
    await once(client.socket, "open");
    const asked = { model: "acme/large", input: "Hi" };
    expect((await client.ask(asked)).at(-1)).toMatchObject({ type: "response.completed" });
    await administer(installation, "PATCH", `/keys/${data.hash}`, { allowed_networks: [other] });
    const closed = once(client.socket, "close");
    expect((await client.ask(asked)).at(-1)).toMatchObject({ type: "error", status: 403 });
    const [code, reason] = (await closed) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([1008, `This key may not be used from ${allowed} (allowed_networks)`]);
  });

  test("is refused by inference-svc and admin-svc over gRPC without a gateway from elsewhere", async () => {
    const { key, data } = await newKey("127.0.0.2");
    const authorization = `Bearer ${key}`;
    const { inference, admin } = installation.ports;
    const list = "/sluice.inference.v1.InferenceService/ListModels";
    expect(await callFrom(allowed, inference, list, { authorization })).toMatchObject({ status: 200 });
    expect(await callFrom(other, inference, list, { authorization })).toMatchObject(refusalOf(other));
    const spoofed = { authorization, "x-forwarded-for": allowed };
    expect(await callFrom(other, inference, list, spoofed)).toMatchObject(refusalOf(other));
    const line = await installation.logged("inference-svc", '"msg":"request"', `"route":"${list}"`, '"status":403');
    expect(JSON.parse(line)).toMatchObject({ error_type: "permission_denied", key_hash: data.hash });
    expect(await callFrom(proxy, inference, list, spoofed)).toMatchObject(refusalOf(proxy));
    const read = "/sluice.admin.v1.KeyService/GetCurrentKey";
    expect(await callFrom(allowed, admin, read, { authorization })).toMatchObject({ status: 200 });
    expect(await callFrom(other, admin, read, { authorization })).toMatchObject(refusalOf(other));
    expect(await callFrom(other, admin, read, spoofed)).toMatchObject(refusalOf(other));
  });

  test("has its refusals from elsewhere recorded", async () => {
    const { key, data } = await newKey("127.0.0.2");
    await ask(other, key, "/responses", { body: { model: "acme/large", input: "Hi" } });
    let listed: readonly object[] = [];
    await eventually(async () => {
      const { text } = await ask(other, installation.managementKey, `/generations?key=${data.hash}`);
      listed = (JSON.parse(text) as { data: readonly object[] }).data;
      return listed.length > 0;
    });
    expect(listed).toMatchObject([{ outcome: "refused", status: 403, error_type: "permission_denied" }]);
  });

  test.each<[string, string | string[], number]>([
    ["its own address behind a proxy", "127.0.0.2", 200],
    ["another address behind a proxy", "127.0.0.3", 403],
    ["its own address before that of another client", "127.0.0.2, 127.0.0.3", 403],
    ["its own address in a header before that of the proxy", ["127.0.0.2", "127.0.0.3"], 403],
    ["its own address before the proxy's", "127.0.0.2, 127.0.0.9", 200],
    ["its own address with a port", "127.0.0.2:4711", 200],
    ["its own address within IPv6", "[::ffff:127.0.0.2]:4711", 200],
    ["something that is no address", "127.0.0.2, unknown", 403],
    ["an address of its IPv6 network", "2001:db8::7", 200],
    ["an address of another IPv6 network", "2001:db9::7", 403],
  ])("is checked by the address that a trusted proxy names: %s", async (_, forwarded, status) => {
    const { key } = await newKey("127.0.0.2", "2001:db8::/32");
    const headers = { "x-forwarded-for": forwarded };
    expect(await ask(proxy, key, "/models/count", { headers })).toMatchObject({ status });
  });

  test.each<[string, OutgoingHttpHeaders]>([
    ["X-Forwarded-For", { "x-forwarded-for": "127.0.0.2" }],
    ["X-Forwarded-For with a proxy", { "x-forwarded-for": "127.0.0.2, 127.0.0.9" }],
    ["X-Forwarded-For twice", { "x-forwarded-for": ["127.0.0.2", "127.0.0.9"] }],
    ["X-Forwarded-For within IPv6", { "x-forwarded-for": "::ffff:127.0.0.2" }],
    ["X-Forwarded-For in brackets", { "x-forwarded-for": "[2001:db8::1]:80" }],
    ["Forwarded", { forwarded: "for=127.0.0.2" }],
    ["X-Real-IP", { "x-real-ip": "127.0.0.2" }],
    ["X-Client-IP", { "x-client-ip": "127.0.0.2", "true-client-ip": "127.0.0.2", "cf-connecting-ip": "127.0.0.2" }],
    ["X-Forwarded-Host", { "x-forwarded-host": "127.0.0.2", host: "127.0.0.2" }],
  ])("cannot be used from elsewhere with an invented header %s", async (_, headers) => {
    const { key } = await newKey("127.0.0.2", "2001:db8::/32");
    expect(await ask(other, key, "/models/count", { headers })).toMatchObject(refusalOf(other));
  });

  withIpv6("of IPv6 may be used from there, and from nowhere else", async () => {
    const { key } = await newKey("::1");
    const url = `http://[::1]:${installation.ports.gateway}/api/v1/models/count`;
    const headers = { authorization: `Bearer ${key}` };
    expect(await askFrom("::1", url, { headers })).toMatchObject({ status: 200 });
    expect(await ask(allowed, key, "/models/count")).toMatchObject(refusalOf(allowed));
    const { key: mapped } = await newKey("::ffff:127.0.0.2");
    expect(await ask(allowed, mapped, "/models/count")).toMatchObject({ status: 200 });
  });
});

describe("the networks of a key", () => {
  const settings = (hash: string) => administer(installation, "GET", `/keys/${hash}`);
  const isRefused = async (key: string) => (await ask(other, key, "/models/count")).status === 403;

  test("are shown, changed and removed over HTTP, in force on the next request", async () => {
    const { key, data } = await newKey("127.0.0.2", "2001:db8::/32");
    expect(data.allowed_networks).toEqual(["127.0.0.2", "2001:db8::/32"]);
    expect(await isRefused(key)).toBe(true);
    const change = (networks: readonly string[] | null) =>
      administer(installation, "PATCH", `/keys/${data.hash}`, { allowed_networks: networks });
    expect(await change(["127.0.0.0/8"])).toMatchObject({ data: { allowed_networks: ["127.0.0.0/8"] } });
    expect(await isRefused(key)).toBe(false);
    await change([allowed]);
    expect(await isRefused(key)).toBe(true);
    expect(await change(null)).toMatchObject({ data: { allowed_networks: null } });
    expect(await isRefused(key)).toBe(false);
    expect(await settings(data.hash)).toMatchObject({ data: { allowed_networks: null } });
  });

  test("are set, shown and removed on the command line, and kept by a rotation", async () => {
    const { stdout } = await installation.admin(
      "keys",
      "create",
      "--name",
      "cli",
      "--allowed-networks",
      "::1,127.0.0.2",
      "--json",
    );
    const { hash, key } = JSON.parse(stdout) as { hash: string; key: string };
    await eventually(() => isRefused(key));
    expect((await installation.admin("keys", "show", hash)).stdout).toContain("networks       ::1, 127.0.0.2");
    const rotated = await administer(installation, "POST", `/keys/${hash}/rotate`, {});
    expect(rotated).toMatchObject({ data: { allowed_networks: ["::1", "127.0.0.2"] } });
    const { key: next, data } = rotated as Made;
    expect(await isRefused(next)).toBe(true);
    await installation.admin("keys", "update", data.hash, "--no-allowed-networks");
    await eventually(async () => !(await isRefused(next)));
  });

  test("are set and cleared over gRPC", async () => {
    const { key, data } = await newKey();
    const update = (allowedNetworks: readonly string[]) =>
      callFrom(
        "127.0.0.1",
        installation.ports.admin,
        "/sluice.admin.v1.KeyService/UpdateKey",
        { authorization: `Bearer ${installation.managementKey}` },
        { key: { hash: data.hash, allowedNetworks }, updateMask: "allowedNetworks" },
      );
    expect(JSON.parse((await update([allowed])).text)).toMatchObject({ key: { allowedNetworks: [allowed] } });
    expect(await isRefused(key)).toBe(true);
    expect((await update([])).status).toBe(200);
    expect(await isRefused(key)).toBe(false);
    const refused = await update(["10.0.0.0/8", "office"]);
    expect(refused.text).toContain("allowed_networks.1: office is neither an address nor a network");
  });

  test.each<[string, unknown, string]>([
    [
      "a name",
      ["10.0.0.1", "office"],
      "allowed_networks.1: office is neither an address nor a network such as 10.0.0.0/8",
    ],
    ["a prefix that is too long", ["10.0.0.0/33"], "allowed_networks.0: 10.0.0.0/33 is neither an address"],
    ["no entry", [], "allowed_networks: at least 1 network"],
    ["51 entries", Array.from({ length: 51 }, () => "10.0.0.1"), "allowed_networks: at most 50 networks"],
    ["a number", [10], "allowed_networks.0: must be a string"],
    ["a text", "10.0.0.1", "allowed_networks: must be an array"],
  ])("are refused with %s", async (_, networks, message) => {
    const body = { name: "wrong", allowed_networks: networks };
    const refused = await ask(other, installation.managementKey, "/keys", { body });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(message)]);
  });
});

test("the log has the address of no client, unless this is enabled", async () => {
  const lines = await installation.allLogged();
  expect(lines).toContain('"msg":"request"');
  expect(lines).not.toMatch(/"address":|127\.0\.1\.7|2001:db8/);
});

describe("a management key limited to a network", () => {
  const page = { "sec-fetch-site": "same-origin", "content-type": "application/json" };
  const console = (address: string, path: string, asked: AddressedRequest = {}) =>
    askFrom(address, new URL(`/console/api${path}`, installation.baseUrl).href, {
      ...asked,
      headers: { ...page, ...asked.headers },
    });

  test("administers from the network, over HTTP and MCP, and is refused from elsewhere", async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const headers = { accept: "application/json, text/event-stream", authorization: `Bearer ${manager}` };
    const mcp = new URL("/mcp/admin", installation.baseUrl).href;
    expect(await askFrom(office, mcp, { headers, body })).toMatchObject({ status: 200 });
    expect(await askFrom(other, mcp, { headers, body })).toMatchObject(refusalOf(other));
    expect(await ask(office, manager, "/keys")).toMatchObject({ status: 200 });
    expect(await ask(other, manager, "/keys")).toMatchObject(refusalOf(other));
    expect(await ask(other, manager, "/keys", { body: { name: "stolen" } })).toMatchObject(refusalOf(other));
    const { admin } = installation.ports;
    const list = "/sluice.admin.v1.KeyService/ListKeys";
    const authorization = `Bearer ${manager}`;
    expect(await callFrom(office, admin, list, { authorization })).toMatchObject({ status: 200 });
    expect(await callFrom(other, admin, list, { authorization })).toMatchObject(refusalOf(other));
  });

  /** Calls of the key that are in the audit log as refused from an address. */
  const entered = async (hash: string, address: string): Promise<readonly string[]> => {
    const query = `/audit?limit=100&action=keys.refuse&target=${hash}&address=${address}`;
    const { data } = (await administer(installation, "GET", query)) as {
      data: readonly { readonly actor: string; readonly after: { readonly call: string; readonly setting: string } }[];
    };
    expect(data.every(({ actor, after }) => actor === hash && after.setting === "allowed_networks")).toBe(true);
    return data.map(({ after }) => after.call);
  };

  const newManager = async () => {
    const create = ["keys", "create", "--management", "--account", "--name", "watched", "--allowed-networks", office];
    return JSON.parse((await installation.admin(...create, "--json")).stdout) as { key: string; hash: string };
  };

  test("is audited when used elsewhere, once a minute for each address and ten times in all", async () => {
    const { key, hash } = await newManager();
    const authorization = `Bearer ${key}`;
    const signIn = { body: { management_key: key } };
    const from = (address: string) => ask(address, key, "/keys?limit=1");
    expect(await console("127.0.2.1", "/session", signIn)).toMatchObject(refusalOf("127.0.2.1"));
    expect(await entered(hash, "127.0.2.1")).toEqual(["POST /console/api/session"]);
    for (let n = 0; n < 3; n++) expect(await from("127.0.2.2")).toMatchObject(refusalOf("127.0.2.2"));
    expect(await entered(hash, "127.0.2.2")).toEqual(["GET /api/v1/keys"]);
    const list = "/sluice.admin.v1.KeyService/ListKeys";
    for (let n = 0; n < 3; n++) await callFrom("127.0.2.3", installation.ports.admin, list, { authorization });
    expect(await entered(hash, "127.0.2.3")).toEqual([list]);
    const socket = new SocketClient(installation.ports.gateway, { authorization }, "127.0.2.4");
    await once(socket.socket, "unexpected-response");
    socket.socket.terminate();
    expect(await entered(hash, "127.0.2.4")).toEqual(["GET /api/v1/responses"]);
    const models = "/sluice.inference.v1.InferenceService/ListModels";
    for (let n = 0; n < 3; n++) await callFrom("127.0.2.5", installation.ports.inference, models, { authorization });
    expect(await entered(hash, "127.0.2.5")).toEqual([models]);
    for (let last = 6; last < 20; last++) await from(`127.0.2.${last}`);
    const all = await Promise.all(Array.from({ length: 20 }, (_, last) => entered(hash, `127.0.2.${last}`)));
    expect(all.flat()).toHaveLength(10);
  });

  test("is audited when its session is used elsewhere", async () => {
    const { key, hash } = await newManager();
    const opened = await console(office, "/session", { body: { management_key: key } });
    const cookie = String(opened.headers["set-cookie"]).split(";", 1)[0] ?? "";
    for (const path of ["/session", "/keys"]) await console("127.0.2.1", path, { headers: { cookie } });
    expect(await entered(hash, "127.0.2.1")).toEqual(["GET /console/api/session"]);
  });

  test("has refusals in the audit log, unlike an API key", async () => {
    const { key, data } = await newKey(allowed);
    expect(await ask(other, key, "/models/count")).toMatchObject(refusalOf(other));
    expect(await entered(data.hash, other)).toEqual([]);
  });

  test("signs in to the console from the network only, and its session is refused elsewhere", async () => {
    const signIn = { body: { management_key: manager } };
    expect(await console(other, "/session", signIn)).toMatchObject(refusalOf(other));
    const opened = await console(office, "/session", signIn);
    expect(opened.status).toBe(201);
    const cookie = String(opened.headers["set-cookie"]).split(";", 1)[0] ?? "";
    const headers = { cookie };
    for (const path of ["/keys", "/live", "/configuration"]) {
      expect(await console(other, path, { headers })).toMatchObject(refusalOf(other));
    }
    for (const path of ["/session", "/keys", "/configuration"]) {
      expect(await console(office, path, { headers })).toMatchObject({ status: 200 });
    }
    expect(await console(other, "/keys", { headers: { ...headers, "x-forwarded-for": office } })).toMatchObject(
      refusalOf(other),
    );
  });

  test("can be signed out of the console from anywhere, and the sign-in page shows why there is no session", async () => {
    const open = async () => {
      const opened = await console(office, "/session", { body: { management_key: manager } });
      return { cookie: String(opened.headers["set-cookie"]).split(";", 1)[0] ?? "" };
    };
    const shown = async (address: string, headers: { readonly cookie: string }) =>
      JSON.parse((await console(address, "/session", { headers })).text) as { readonly data: object | null };
    const [first, second, third] = [await open(), await open(), await open()] as const;
    expect(await shown(other, first)).toEqual({
      data: null,
      oidc: null,
      refusal: `This key may not be used from ${other} (allowed_networks)`,
    });
    expect(await console(other, "/session", { method: "DELETE", headers: first })).toMatchObject({ status: 204 });
    expect(await shown(office, first)).toEqual({ data: null, oidc: null });
    expect((await shown(office, second)).data).not.toBeNull();
    expect(await console(other, "/sessions", { method: "DELETE", headers: second })).toMatchObject({ status: 204 });
    expect(await shown(office, third)).toEqual({ data: null, oidc: null });
    expect(await console(other, "/session", { method: "DELETE", headers: third })).toMatchObject({ status: 401 });
  });
});
