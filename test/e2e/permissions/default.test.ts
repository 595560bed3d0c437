/** `permissions.default: deny`: a key may use only what its permission lists name, as also the command line and gRPC report. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { administer, newKey } from "./keys.ts";

let installation: Installation;

beforeAll(async () => {
  installation = await startInstallation({
    config: `
providers: [{id: sluice, dialect: echo}]
models: [{id: sluice/echo, endpoints: [{provider: sluice}]}]
permissions: {default: deny}
`,
  });
});
afterAll(() => installation?.stop());

async function refusedPermission(key: string, body: object = {}): Promise<string | undefined> {
  const answer = await fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sluice/echo", input: "Hi", ...body }),
  });
  const { error } = (await answer.json()) as { error?: { metadata?: { permission: string } } | null };
  return error?.metadata?.permission ?? (answer.status === 200 ? undefined : `${answer.status}`);
}

test("a key without permission lists may use nothing, and each list permits its part", async () => {
  const { key, hash } = await newKey(installation, { permissions: {} });
  const models = async () => {
    const answer = await fetch(`${installation.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } });
    return ((await answer.json()) as { data: unknown[] }).data.length;
  };
  expect([await refusedPermission(key), await models()]).toEqual(["permissions.doors", 0]);
  const lists: Record<string, readonly string[]> = {};
  for (const [name, next] of [
    ["doors", "permissions.models"],
    ["models", "permissions.providers"],
    ["providers", undefined],
  ] as const) {
    lists[name] = ["*"];
    await administer(installation, "PATCH", `/keys/${hash}`, { permissions: lists });
    expect([name, await refusedPermission(key)]).toEqual([name, next]);
  }
  expect(await models()).toBe(1);
  const tools = { tools: [{ type: "service:datetime" }] };
  expect(await refusedPermission(key, tools)).toBe("permissions.server_tools");
  expect(await refusedPermission(key, { plugins: [{ id: "response-healing" }] })).toBe("permissions.plugins");
});

test("a workspace's permission lists are enough for a key without any, and the command line sets both", async () => {
  const all = { doors: ["*"], models: ["*"], providers: ["*"] };
  const run = async (...args: string[]) => JSON.parse((await installation.admin(...args, "--json")).stdout) as object;
  await run("workspaces", "create", "--name", "open", "--permissions", JSON.stringify(all));
  const made = (await run("keys", "create", "--workspace", "open", "--name", "first")) as { key: string };
  // A command on the database is in force within a second.
  const isRefused = (permission: string | undefined) =>
    eventually(async () => (await refusedPermission(made.key)) === permission);
  await isRefused(undefined);
  const narrowed = ["--permissions", '{"models": ["acme/*"]}'];
  expect(await run("keys", "update", "first", "--workspace", "open", ...narrowed)).toMatchObject({
    permissions: { models: ["acme/*"] },
  });
  await isRefused("permissions.models");
  await run("keys", "update", "first", "--workspace", "open", "--no-permissions");
  await isRefused(undefined);
  // A list of null is treated as absent, as over HTTP.
  const absent = ["--permissions", '{"models": null}'];
  expect(await run("keys", "update", "first", "--workspace", "open", ...absent)).toMatchObject({ permissions: null });
  await isRefused(undefined);
  await run("workspaces", "update", "open", "--no-permissions");
  await isRefused("permissions.doors");
  const wrong = installation.admin("keys", "update", "first", "--workspace", "open", "--permissions", '{"model": []}');
  await expect(wrong).rejects.toThrow(/permissions\.model/);
});

test("a permission list has a limit, valid names and no unknown field", async () => {
  const make = (permissions: object) => newKey(installation, { permissions: permissions as never });
  const names = Array.from({ length: 1_000 }, (_, index) => `acme/${index}`);
  const { hash } = await make({ models: names, plugins: [] });
  const answer = await fetch(`${installation.baseUrl}/keys/${hash}`, {
    headers: { authorization: `Bearer ${installation.managementKey}` },
  });
  expect(await answer.json()).toMatchObject({ data: { permissions: { models: names, plugins: [] } } });
  await expect(make({ models: [...names, "one more"] })).rejects.toThrow(/permissions\.models: at most 1000 names/);
  await expect(make({ models: [""] })).rejects.toThrow(/permissions\.models\.0/);
  await expect(make({ model: ["x"] })).rejects.toThrow(/permissions\.model/);
});
