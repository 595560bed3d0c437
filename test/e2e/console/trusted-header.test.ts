/** People signed in by a reverse proxy: named by a header, which is accepted only from the addresses of the proxy. */
import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";

const proxy = "127.0.0.2";
const stranger = "127.0.0.1";

const configuration = (roles: string): string => `
console:
  trusted_header:
    from: [${proxy}, "10.0.0.0/8", "fd00::/8"]
    group_header: X-Forwarded-Groups
    sign_out_url: /oauth2/sign_out
    roles:
${roles}
`;

const roles = `
      - {user: Ada@Example.com, role: admin, account: true}
      - {user: "*@partner.example", role: viewer, workspace: partners}
      - {group: on-call, role: operator}
`;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ config: configuration(roles) });
  await installation.admin("workspaces", "create", "--name", "partners");
});
afterAll(() => installation.stop());

interface Answer {
  readonly status: number | undefined;
  readonly body: { readonly data?: unknown; readonly error?: { readonly message: string } };
}

type Headers = Readonly<Record<string, string | string[]>>;

/** Sends a request from a chosen address of this machine. */
const sendRequest = (from: string, method: string, path: string, headers: Headers, body?: object): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const json = { "content-type": "application/json", "sec-fetch-site": "same-origin" };
    const { hostname, port } = new URL(installation.baseUrl);
    const options = { host: hostname, port, path, method, localAddress: from, agent: false };
    const sent = request({ ...options, headers: { ...json, ...headers } }, (response) => {
      const parsed = text(response).then((content) => (content.startsWith("{") ? JSON.parse(content) : {}));
      parsed.then((answer) => resolve({ status: response.statusCode, body: answer }), reject);
    });
    sent.on("error", reject).end(body && JSON.stringify(body));
  });

const session = "/console/api/session";
const ada = { "x-forwarded-email": "ada@example.com" };

describe("a person signed in by a trusted proxy", () => {
  test.each([
    ["by address, whatever its spelling", { "x-forwarded-email": "ADA@example.com" }, "ada@example.com", "admin", true],
    ["by domain", { "x-forwarded-email": "eve@partner.example" }, "eve@partner.example", "viewer", false],
    [
      "by group",
      { "x-forwarded-email": "bob@example.com", "x-forwarded-groups": "all, on-call" },
      "bob@example.com",
      "operator",
      false,
    ],
  ])("has a role %s", async (_, headers, person, role, account) => {
    const { status, body } = await sendRequest(proxy, "GET", session, headers);
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ person, role, account, sign_out_url: "/oauth2/sign_out" });
  });

  test("is in the workspace of the rule, and sees no record of another", async () => {
    const eve = { "x-forwarded-email": "eve@partner.example" };
    const { body } = await sendRequest(proxy, "GET", session, eve);
    expect(body.data).toMatchObject({ workspace: { name: "partners" } });
    expect((await sendRequest(proxy, "GET", "/console/api/keys", eve)).body).toMatchObject({ data: [] });
    expect((await sendRequest(proxy, "GET", "/console/api/workspaces", eve)).body).toMatchObject({ total_count: 1 });
    expect((await sendRequest(proxy, "GET", "/console/api/workspaces", ada)).body).toMatchObject({ total_count: 2 });
  });

  test("may do what the role permits, and is named in the audit log", async () => {
    const eve = { "x-forwarded-email": "eve@partner.example" };
    const refused = await sendRequest(proxy, "POST", "/console/api/keys", eve, { name: "refused" });
    expect(refused.body.error?.message).toBe("POST /keys needs the role operator; yours is viewer");
    expect((await sendRequest(proxy, "POST", "/console/api/keys", ada, { name: "of ada" })).status).toBe(201);
    const { body } = await sendRequest(
      proxy,
      "GET",
      "/console/api/audit?actor=ada@example.com&action=keys.create",
      ada,
    );
    expect(JSON.stringify(body.data)).toContain("of ada");
  });

  test.each([
    ["no rule fits", { "x-forwarded-email": "mallory@example.com" }, /gives mallory@example\.com a role/],
    ["a domain only ends alike", { "x-forwarded-email": "eve@evil-partner.example" }, /a role$/],
    ["an address has two domains", { "x-forwarded-email": "eve@evil.example@partner.example" }, /no e-mail address$/],
    ["it is not an address", { "x-forwarded-email": "bootstrap" }, /no e-mail address$/],
    ["there are two", { "x-forwarded-email": ["mallory@example.com", "ada@example.com"] }, /more than once$/],
    ["two stand in one", { "x-forwarded-email": "mallory@example.com, ada@example.com" }, /no e-mail address$/],
    ["it is empty", { "x-forwarded-email": "" }, /no e-mail address$/],
    ["groups come alone", { "x-forwarded-groups": "on-call" }, /without x-forwarded-email$/],
  ])("is refused when %s", async (_, headers, message) => {
    const { status, body } = await sendRequest(proxy, "GET", session, headers);
    expect([status, body.error?.message]).toEqual([403, expect.stringMatching(message)]);
  });

  test("is accepted only from pages of the same origin, like every session", async () => {
    const headers = { ...ada, "sec-fetch-site": "cross-site" };
    const { status } = await sendRequest(proxy, "POST", "/console/api/keys", headers, { name: "forged" });
    expect(status).toBe(403);
  });

  test("is signed in only in the console", async () => {
    expect((await sendRequest(proxy, "GET", "/api/v1/keys", ada)).status).toBe(401);
  });

  test("takes precedence over the session of a cookie", async () => {
    const body = { management_key: installation.managementKey };
    const { status } = await sendRequest(proxy, "POST", session, {}, body);
    expect(status).toBe(201);
    const eve = { "x-forwarded-email": "eve@partner.example", cookie: await cookieOfKey() };
    expect((await sendRequest(proxy, "GET", session, eve)).body.data).toMatchObject({ role: "viewer" });
  });
});

async function cookieOfKey(): Promise<string> {
  const { origin } = new URL(installation.baseUrl);
  const response = await fetch(`${origin}${session}`, {
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ management_key: installation.managementKey }),
  });
  return (response.headers.get("set-cookie") as string).split(";")[0] as string;
}

describe("a person not signed in by a trusted proxy", () => {
  test.each([
    ["with the header", session, ada],
    ["with the header of groups", session, { "x-forwarded-groups": "on-call" }],
    ["on a page", "/console/keys", ada],
    ["on an operation", "/console/api/keys", ada],
  ])("is refused %s", async (_, path, headers) => {
    const { status, body } = await sendRequest(stranger, "GET", path, headers);
    expect(status).toBe(403);
    expect(body.error?.message).toMatch(
      /^The header x-forwarded-(?:email|groups) counts only in requests from the addresses of console\.trusted_header\.from$/,
    );
  });

  test("is refused even with a session of a key", async () => {
    const cookie = await cookieOfKey();
    expect((await sendRequest(stranger, "GET", "/console/api/keys", { cookie })).status).toBe(200);
    expect((await sendRequest(stranger, "GET", "/console/api/keys", { cookie, ...ada })).status).toBe(403);
  });
});

test("removing a rule signs out its people, including watchers of live pages", async () => {
  const bob = { "x-forwarded-email": "bob@example.com", "x-forwarded-groups": "on-call" };
  const watching = sendRequest(proxy, "GET", "/console/api/live", bob);
  writeFileSync(
    join(installation.dataDir, "sluice.yaml"),
    configuration("      - {user: ada@example.com, role: viewer}"),
  );
  await eventually(async () => (await sendRequest(proxy, "GET", session, bob)).status === 403);
  expect((await sendRequest(proxy, "GET", session, ada)).body.data).toMatchObject({ role: "viewer", account: false });
  // The stream ended without an administrator.
  expect((await watching).status).toBe(200);
});
