/** Roles of people in the console: each role may call the operations that the contract grants it, and no others. */
import { create } from "@bufbuild/protobuf";
import { type Client, Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Operation, parameterNames } from "@sluice/proto/contract/operations/operation.js";
import { recordOperations } from "@sluice/gateway/contract/operations/operations.js";
import { neededRole, permits, roles } from "@sluice/proto/lib/policy/role.js";
import { dryRunResponse } from "@sluice/gateway/contract/operations/responses.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { SessionService } from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { Browser } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { openBrowser, visit } from "../../support/browser.ts";
import { askConsole } from "../../support/console.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";

const token = "r".repeat(64);
const timeoutMs = 5_000;

let installation: Installation;
let client: Client;
let origin: string;

const config = `
providers:
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
console:
  trusted_header:
    from: [127.0.0.1]
    roles:
      - {user: viewer@example.com, role: viewer}
      - {user: operator@example.com, role: operator}
      - {user: admin@example.com, role: admin}
      - {user: account@example.com, role: operator, account: true}
      - {user: "*@research.example", role: admin, workspace: research}
`;

/** The headers added by a proxy for a person. */
const headersFor = (email: string) => ({ "x-forwarded-email": email });

beforeAll(async () => {
  installation = await startInstallation({ config, environment: { SLUICE_SERVICE_TOKEN: token } });
  ({ origin } = new URL(installation.baseUrl));
  client = dial(`127.0.0.1:${installation.ports.admin}`);
});
afterAll(async () => {
  client.close();
  await installation.stop();
});

const as = (role: string, verb: string, path: string, body?: object) =>
  askConsole(origin, verb, path, headersFor(`${role}@example.com`), body);

/** Operations reserved to administrators although they change nothing. */
const confidential = ["getGenerationContent", "listConfiguredProviders", "findLocalServers"];
/** The rights of an operator beyond a viewer's, repeated here so that a slip in the contract shows. */
const operated = [
  "createKey",
  "putKey",
  "updateKey",
  "rotateKey",
  "deleteKey",
  "testProvider",
  "tryGuardrail",
  "putView",
  "deleteView",
  "putAlertRule",
  "deleteAlertRule",
  "testAlertRule",
];

const all = Object.entries<Operation>({ ...recordOperations, dryRunResponse });

/** A path with parameters matching nothing. */
const pathOf = ({ path }: Operation): string =>
  parameterNames(path).reduce((filled, name) => filled.replace(`{${name}}`, "none"), path);

function leastRole(id: string, { method }: Pick<Operation, "method">): string {
  if (confidential.includes(id)) return "admin";
  if (method === "get") return "viewer";
  return operated.includes(id) ? "operator" : "admin";
}

test("the contract and this test agree on the role for each operation", () => {
  for (const [id, operation] of all) {
    expect([id, neededRole(operation)]).toEqual([id, leastRole(id, operation)]);
  }
});

describe.each(roles)("the console role %s", (role) => {
  test("is shown to the page", async () => {
    const { body } = await as(role, "GET", "/session");
    expect(body.data).toMatchObject({ role, person: `${role}@example.com`, workspace: { name: "default" } });
  });

  test("may call its permitted operations, and no other", async () => {
    const calls = all.map(async ([id, operation]) => {
      const verb = operation.method.toUpperCase();
      const { status, body } = await as(role, verb, pathOf(operation), operation.method === "get" ? undefined : {});
      const needed = neededRole(operation);
      const refused = `${verb} ${operation.path} needs the role ${needed}; yours is ${role}`;
      const isRefused = status === 403 && body.error?.message === refused;
      expect([id, isRefused]).toEqual([id, !permits(role, needed)]);
    });
    await Promise.all(calls);
  });

  test("has its refusals in the audit log, with the person", async () => {
    const expected = all.filter(([, operation]) => !permits(role, neededRole(operation)));
    const { body } = await as("viewer", "GET", `/audit?limit=100&action=sessions.refuse&actor=${role}@example.com`);
    const entries = body.data as readonly { readonly target: string; readonly after: object }[];
    expect(entries.map(({ target }) => target).sort()).toEqual(
      expected.map(([, operation]) => `${operation.method.toUpperCase()} ${operation.path}`).sort(),
    );
    for (const { after } of entries) expect(after).toMatchObject({ role });
  });

  test("may end a turn only as operator or higher", async () => {
    const { status, body } = await as(role, "DELETE", "/live/gen-none");
    if (role === "viewer") expect(body.error?.message).toMatch(/needs the role operator; yours is viewer$/);
    expect(status).toBe(role === "viewer" ? 403 : 404);
  });
});

test("the audit log names the person of a change, not the shared key of the workspace", async () => {
  const { status } = await as("operator", "POST", "/keys", { name: "made by a person" });
  expect(status).toBe(201);
  const { body } = await as("viewer", "GET", "/audit?action=keys.create&actor=operator@example.com");
  expect(body.data).toMatchObject([{ after: { name: "made by a person" } }]);
});

test("people of a workspace share one internal key, which is replaced when it is revoked", async () => {
  await installation.admin("workspaces", "create", "--name", "research");
  const keyOf = async (name: string) => {
    const { body } = await askConsole(origin, "GET", "/session", headersFor(`${name}@research.example`));
    return (body.data as { readonly key: { readonly hash: string } }).key.hash;
  };
  const hashes = await Promise.all(["ada", "bob", "cyd"].map(keyOf));
  const [hash = ""] = hashes;
  expect(new Set(hashes)).toEqual(new Set([hash]));
  await installation.admin("keys", "revoke", hash, "--workspace", "research");
  expect(await keyOf("ada")).toMatch(/^[0-9a-f]{64}$/);
  expect(await keyOf("ada")).not.toBe(hash);
});

test("an earlier gateway without roles gets no session of a lesser role", async () => {
  const { method } = SessionService;
  const isAnswered = async (role: string, knowsRoles: boolean) => {
    const person = { email: `${role}@example.com`, role };
    const opening = create(method.openSession.input, { person });
    const { secret } = await call(client, method.openSession, opening, serviceMetadata(token), timeoutMs);
    const resolving = create(method.resolveSession.input, { sessionHash: hashKey(secret), knowsRoles });
    const { session } = await call(client, method.resolveSession, resolving, serviceMetadata(token), timeoutMs);
    return session !== undefined;
  };
  expect(await isAnswered("viewer", true)).toBe(true);
  expect(await isAnswered("viewer", false)).toBe(false);
  expect(await isAnswered("admin", false)).toBe(true);
});

describeWithChromium(`console pages ${inChromium}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  test.each([
    ["viewer", [], ["Make key", "Test", "Make guardrail", "Register end user"]],
    ["operator", ["Make key"], ["Test", "Make guardrail", "Register end user"]],
    ["admin", ["Make key", "Make guardrail", "Register end user"], ["Test"]],
    ["account", ["Make key", "Test"], ["Make guardrail", "Register end user"]],
  ] as const)("show a person with the rights of %s only the permitted buttons", async (who, shown, hidden) => {
    const { page, complaints } = await visit(browser, origin);
    await page.setExtraHTTPHeaders(headersFor(`${who}@example.com`));
    const buttons = new Set<string>();
    for (const path of ["keys", "guardrails", "models", "end-users"]) {
      await page.goto(`/console/${path}`);
      await page.getByText(`${who}@example.com, `).waitFor();
      const loading = page.getByRole("main").getByText("Loading");
      while ((await loading.count()) > 0) await loading.first().waitFor({ state: "detached" });
      for (const button of await page.getByRole("button").all()) buttons.add((await button.innerText()).trim());
    }
    expect([...buttons]).toEqual(expect.arrayContaining([...shown]));
    for (const button of hidden) expect(buttons).not.toContain(button);
    expect(await page.getByRole("link", { name: "Playground" }).count()).toBe(who === "viewer" ? 0 : 1);
    expect(complaints).toEqual([]);
  });
});

test("a request without the service token cannot name a person", async () => {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${installation.managementKey}`);
  metadata.set("x-sluice-person", "forged@example.com");
  const { createKey } = KeyService.method;
  await call(client, createKey, create(createKey.input, { name: "forged" }), metadata, timeoutMs);
  const { body } = await as("viewer", "GET", "/audit?actor=forged@example.com");
  expect(body.data).toEqual([]);
});
