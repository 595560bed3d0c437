/** Roles of people in the console: each may call what the contract says, and nothing else. */
import { create } from "@bufbuild/protobuf";
import { type Client, Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Operation, parameterNames } from "@sluice/proto/contract/operations/operation.js";
import { recordOperations } from "@sluice/proto/contract/operations/operations.js";
import { neededRole, permits, roles } from "@sluice/proto/runtime/policy/role.js";
import { dryRunResponse } from "@sluice/proto/contract/operations/responses.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { SessionService } from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import { hashKey } from "@sluice/proto/runtime/key.js";
import { call, dial, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import type { Browser } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { openBrowser, visit } from "../../support/browser.ts";
import { askConsole } from "../../support/console.ts";
import { type House, startHouse } from "../../support/house.ts";

const token = "r".repeat(64);
const timeoutMs = 5_000;

let house: House;
let client: Client;
let origin: string;
/** Cookie of a session by the role of its person. */
const cookies: Record<string, string> = {};

beforeAll(async () => {
  house = await startHouse({ environment: { SLUICE_SERVICE_TOKEN: token } });
  ({ origin } = new URL(house.baseUrl));
  client = dial(`127.0.0.1:${house.ports.admin}`);
  for (const role of roles) cookies[role] = `sluice_console=${await openFor({ email: `${role}@example.com`, role })}`;
});
afterAll(async () => {
  client.close();
  await house.stop();
});

const { method } = SessionService;

async function openFor(person: { readonly email: string; readonly role: string; readonly workspace?: string }) {
  const request = create(method.openSession.input, { person: { workspace: "default", ...person } });
  return (await call(client, method.openSession, request, serviceMetadata(token), timeoutMs)).secret;
}

const as = (role: string, verb: string, path: string, body?: object) =>
  askConsole(origin, verb, path, { cookie: cookies[role] as string }, body);

/** What an operator may beyond a viewer, written here again so that a slip in the contract shows. */
const operated = ["createKey", "putKey", "updateKey", "rotateKey", "deleteKey", "testProvider", "tryGuardrail"];

const all = Object.entries<Operation>({ ...recordOperations, dryRunResponse });

/** A path whose parameters name nothing. */
const pathOf = ({ path }: Operation): string =>
  parameterNames(path).reduce((filled, name) => filled.replace(`{${name}}`, "none"), path);

test("an operation of the contract needs the role that this test expects", () => {
  for (const [id, operation] of all) {
    const least = operation.method === "get" ? "viewer" : operated.includes(id) ? "operator" : "admin";
    expect([id, neededRole(operation)]).toEqual([id, least]);
  }
});

describe.each(roles)("the role %s", (role) => {
  test("is told to the page", async () => {
    const { body } = await as(role, "GET", "/session");
    expect(body.data).toMatchObject({ role, person: `${role}@example.com`, workspace: { name: "default" } });
  });

  test("calls the operations that it permits, and no other", async () => {
    for (const [id, operation] of all) {
      const verb = operation.method.toUpperCase();
      const { status, body } = await as(role, verb, pathOf(operation), operation.method === "get" ? undefined : {});
      const needed = neededRole(operation);
      const refused = `${verb} ${operation.path} needs the role ${needed}; yours is ${role}`;
      const isRefused = status === 403 && body.error?.message === refused;
      expect([id, isRefused]).toEqual([id, !permits(role, needed)]);
    }
  });

  test("leaves what it refused in the audit log, with the person", async () => {
    const expected = all.filter(([, operation]) => !permits(role, neededRole(operation)));
    const { body } = await as("viewer", "GET", `/audit?limit=100&action=sessions.refuse&actor=${role}@example.com`);
    const entries = body.data as readonly { readonly target: string; readonly after: object }[];
    expect(entries.map(({ target }) => target).sort()).toEqual(
      expected.map(([, operation]) => `${operation.method.toUpperCase()} ${operation.path}`).sort(),
    );
    for (const { after } of entries) expect(after).toMatchObject({ role });
  });

  test("ends a turn from operator on", async () => {
    const { status, body } = await as(role, "DELETE", "/live/gen-none");
    if (role === "viewer") expect(body.error?.message).toMatch(/needs the role operator; yours is viewer$/);
    expect(status).toBe(role === "viewer" ? 403 : 404);
  });
});

test("a change names the person in the audit log, not the key that people share", async () => {
  const { status } = await as("operator", "POST", "/keys", { name: "made by a person" });
  expect(status).toBe(201);
  const { body } = await as("viewer", "GET", "/audit?action=keys.create&actor=operator@example.com");
  expect(body.data).toMatchObject([{ after: { name: "made by a person" } }]);
});

test("people of a workspace share one key, which nobody can list, and whose revocation ends their sessions", async () => {
  await house.admin("workspaces", "create", "--name", "research");
  const secrets = await Promise.all(
    ["ada@example.com", "bob@example.com"].map((email) => openFor({ email, role: "admin", workspace: "research" })),
  );
  const found = secrets.map((secret) => askConsole(origin, "GET", "/session", { cookie: `sluice_console=${secret}` }));
  const sessions = (await Promise.all(found)).map(
    ({ body }) => body.data as { readonly key: { readonly hash: string } },
  );
  const [hash] = [...new Set(sessions.map(({ key }) => key.hash))];
  expect(sessions).toMatchObject([{ key: { hash } }, { key: { hash } }]);
  await house.admin("keys", "revoke", hash as string, "--workspace", "research");
  const after = await askConsole(origin, "GET", "/keys", { cookie: `sluice_console=${secrets[0]}` });
  expect(after.status).toBe(401);
  await openFor({ email: "ada@example.com", role: "viewer", workspace: "research" });
});

test("a person ends their own sessions everywhere, and nobody else's", async () => {
  const [mine, also, other] = await Promise.all(
    ["eve@example.com", "eve@example.com", "dan@example.com"].map((email) => openFor({ email, role: "viewer" })),
  );
  await askConsole(origin, "DELETE", "/sessions", { cookie: `sluice_console=${mine}` });
  const asked = [mine, also, other].map((secret) =>
    askConsole(origin, "GET", "/keys", { cookie: `sluice_console=${secret}` }),
  );
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([401, 401, 200]);
});

test("a gateway that knows no roles is answered no session of a lesser one", async () => {
  const resolve = async (secret: string, knowsRoles: boolean) => {
    const request = create(method.resolveSession.input, { sessionHash: hashKey(secret), knowsRoles });
    return (await call(client, method.resolveSession, request, serviceMetadata(token), timeoutMs)).session?.role;
  };
  const [viewer, admin] = ["viewer", "admin"].map((role) => cookies[role]?.split("=")[1] as string);
  expect(await resolve(viewer as string, true)).toBe("viewer");
  expect(await resolve(viewer as string, false)).toBeUndefined();
  expect(await resolve(admin as string, false)).toBe("admin");
});

describeWithChromium(`pages ${inChromium}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  test.each([
    ["viewer", [], ["Make key", "Test", "Make guardrail", "Register end user"]],
    ["operator", ["Make key", "Test"], ["Make guardrail", "Register end user"]],
    ["admin", ["Make key", "Test", "Make guardrail", "Register end user"], []],
  ] as const)("show the role %s what it may do", async (role, shown, hidden) => {
    const { page, complaints } = await visit(browser, origin);
    const [name, value] = (cookies[role] as string).split("=") as [string, string];
    await page.context().addCookies([{ name, value, url: origin }]);
    const buttons = new Set<string>();
    for (const path of ["keys", "guardrails", "models", "end-users"]) {
      await page.goto(`/console/${path}`);
      await page.getByText(`${role}@example.com, ${role}`).waitFor();
      const loading = page.getByRole("main").getByText("Loading");
      while ((await loading.count()) > 0) await loading.first().waitFor({ state: "detached" });
      for (const button of await page.getByRole("button").all()) buttons.add((await button.innerText()).trim());
    }
    expect([...buttons]).toEqual(expect.arrayContaining([...shown]));
    for (const button of hidden) expect(buttons).not.toContain(button);
    expect(await page.getByRole("link", { name: "Playground" }).count()).toBe(role === "viewer" ? 0 : 1);
    expect(complaints).toEqual([]);
  });
});

test("a client without the service token names no person", async () => {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${house.managementKey}`);
  metadata.set("x-sluice-person", "forged@example.com");
  const { createKey } = KeyService.method;
  await call(client, createKey, create(createKey.input, { name: "forged" }), metadata, timeoutMs);
  const { body } = await as("viewer", "GET", "/audit?actor=forged@example.com");
  expect(body.data).toEqual([]);
});
