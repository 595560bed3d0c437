/** PUT by external id: keys, guardrails and workspaces are made once and changed afterwards, also by repeated and concurrent requests. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { validate } from "../../support/answers/published.ts";
import { type Installation, makeManager, startInstallation } from "../../support/installation.ts";

interface Answer {
  readonly data: Readonly<Record<string, unknown>> & { readonly hash: string; readonly id: string };
  readonly key: string | null;
  readonly created: boolean;
  readonly changed: boolean;
  readonly error?: { readonly message: string };
}

let installation: Installation;
let accountKey: string;

beforeAll(async () => {
  installation = await startInstallation();
  const { stdout } = await installation.admin(
    "keys",
    "create",
    "--management",
    "--account",
    "--name",
    "account",
    "--json",
  );
  accountKey = (JSON.parse(stdout) as { readonly key: string }).key;
});
afterAll(() => installation?.stop());

async function send(method: string, path: string, body?: object, key = installation.managementKey) {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer };
}

const put = (noun: string, id: string, body: object, key?: string) =>
  send("PUT", `/${noun}/by-external-id/${encodeURIComponent(id)}`, body, key);

const turn = async (key: string, input = "Hello"): Promise<number> =>
  (await send("POST", "/responses", { model: "sluice/echo", input }, key)).status;

describe("a key with an external id", () => {
  test("is made once, and afterwards has the fields of the last body", async () => {
    const made = await put("keys", "team/one", { name: "one", limit: 5, limit_reset: "monthly" });
    expect(made).toMatchObject({
      status: 201,
      body: { created: true, changed: true, data: { name: "one", limit: 5 } },
    });
    expect(validate("PutKeyAnswer", made.body)).toEqual([]);
    const { key, data } = made.body;
    expect(hashKey(key ?? "")).toBe(data.hash);
    expect(await turn(key ?? "")).toBe(200);
    const again = await put("keys", "team/one", { name: "renamed", requests_per_minute: 60 });
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({
      created: false,
      changed: true,
      key: null,
      data: { hash: data.hash, name: "renamed", limit: null, limit_reset: null, requests_per_minute: 60 },
    });
    expect(await turn(key ?? "")).toBe(200);
  });

  test("is made once, with any number of concurrent requests", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => put("keys", "crowd", { name: "crowd" })));
    expect(new Set(answers.map(({ body }) => body.data.hash)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9);
    expect(answers.filter(({ body }) => body.created && body.changed)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.changed)).toHaveLength(1);
  });

  test("stays disabled, passes its external id on at a rotation, and is made anew after its deletion", async () => {
    const { data } = (await put("keys", "moving", { name: "moving" })).body;
    await send("PATCH", `/keys/${data.hash}`, { disabled: true });
    expect((await put("keys", "moving", { name: "moving" })).body.data).toMatchObject({ disabled: true });
    const rotated = (await send("POST", `/keys/${data.hash}/rotate`, { overlap_seconds: 600 })).body.data;
    expect((await put("keys", "moving", { name: "moving" })).body.data.hash).toBe(rotated.hash);
    await send("DELETE", `/keys/${rotated.hash}`);
    const anew = (await put("keys", "moving", { name: "moving" })).body;
    expect([anew.created, [data.hash, rotated.hash].includes(anew.data.hash)]).toEqual([true, false]);
  });

  test("of another workspace may have the same external id", async () => {
    await installation.admin("workspaces", "create", "--name", "elsewhere");
    const options = ["--management", "--name", "x", "--workspace", "elsewhere", "--json"];
    const { key } = JSON.parse((await installation.admin("keys", "create", ...options)).stdout) as {
      readonly key: string;
    };
    const ours = (await put("keys", "shared", { name: "ours" })).body;
    const theirs = (await put("keys", "shared", { name: "theirs" }, key)).body;
    expect([theirs.created, theirs.data.hash === ours.data.hash]).toEqual([true, false]);
  });
});

describe("a guardrail with an external id", () => {
  test("is made once, is enforced by its last body, and is made anew after its deletion", async () => {
    const filters = (pattern: string) => [{ pattern, action: "block" }];
    const body = { name: "rules", content_filters: filters("secret"), enforce_zdr_anthropic: true };
    const made = (await put("guardrails", "rules", body)).body;
    expect(validate("PutGuardrailAnswer", made)).toEqual([]);
    expect(made).toMatchObject({ created: true, data: { enforce_zdr_anthropic: true } });
    const { key, data } = (await put("keys", "guarded", { name: "guarded" })).body;
    await send("POST", `/guardrails/${made.data.id}/assignments/keys`, { key_hashes: [data.hash] });
    expect([await turn(key ?? "", "a secret"), await turn(key ?? "", "a word")]).toEqual([403, 200]);
    const changed = (await put("guardrails", "rules", { name: "rules", content_filters: filters("word") })).body;
    expect(changed).toMatchObject({ created: false, data: { id: made.data.id, enforce_zdr_anthropic: null } });
    expect([await turn(key ?? "", "a secret"), await turn(key ?? "", "a word")]).toEqual([200, 403]);
    await send("DELETE", `/guardrails/${made.data.id}`);
    const anew = (await put("guardrails", "rules", body)).body;
    expect([anew.created, anew.data.id === made.data.id]).toEqual([true, false]);
  });
});

describe("a workspace with an external id", () => {
  test("is made once, and changed only with a management key of the account", async () => {
    const made = (await put("workspaces", "research", { name: "research", limit: 5 }, accountKey)).body;
    expect(validate("PutWorkspaceAnswer", made)).toEqual([]);
    expect(made).toMatchObject({ created: true, data: { name: "research", limit: 5 } });
    const again = (await put("workspaces", "research", { name: "research" }, accountKey)).body;
    expect(again).toMatchObject({ created: false, data: { id: made.data.id, limit: null } });
    expect((await put("workspaces", "other", { name: "research" }, accountKey)).status).toBe(409);
    expect((await put("workspaces", "other", { name: "later" }, accountKey)).body.created).toBe(true);
    const ordinary = await makeManager(installation);
    expect((await put("workspaces", "research", { name: "research" }, ordinary)).status).toBe(403);
  });
});

test.each<[string, string, object, string]>([
  ["keys", "x".repeat(201), { name: "x" }, "external_id: "],
  ["keys", "x", {}, "name: required"],
  ["keys", "x", { name: "x", disabled: true }, "disabled: unknown field"],
  ["guardrails", "x", { name: "x", content_filters: [{ pattern: "(", action: "block" }] }, "content_filters.0.pattern"],
])("PUT /%s/by-external-id/%s with %j is 400", async (noun, id, body, message) => {
  const answer = await put(noun, id, body);
  expect([answer.status, answer.body.error?.message]).toEqual([400, expect.stringContaining(message)]);
});

describe.each<[string, object, string]>([
  [
    "keys",
    { name: "same", limit: 5, limit_reset: "monthly", external: { user: "u-1" }, requests_per_minute: 60 },
    "hash",
  ],
  [
    "guardrails",
    { name: "same", content_filters: [{ pattern: "x+", action: "block" }], allowed_models: ["a/*"] },
    "id",
  ],
  ["workspaces", { name: "same", limit: 5.25, limit_reset: "weekly" }, "id"],
])("putting the same body of %s twice", (noun, body, name) => {
  test("changes nothing, reports this, and finds the record by its external id", async () => {
    const made = await put(noun, "same", body, accountKey);
    expect(made).toMatchObject({ status: 201, body: { created: true, changed: true } });
    const again = await put(noun, "same", body, accountKey);
    expect(again).toMatchObject({ status: 200, body: { created: false, changed: false } });
    expect(again.body.data).toEqual(made.body.data);
    const shown = await send("GET", `/${noun}/by-external-id/same`, undefined, accountKey);
    expect([shown.status, shown.body.data]).toEqual([200, made.body.data]);
    const listed = (await send("GET", `/${noun}`, undefined, accountKey)).body.data as unknown as readonly object[];
    expect(listed).toContainEqual(made.body.data);
    expect(made.body.data).toMatchObject({ external_id: "same" });
    const target = String(made.body.data[name]);
    const workspace = noun === "workspaces" ? ["--workspace", "same"] : [];
    const { stdout } = await installation.admin("audit", "list", "--target", target, ...workspace, "--json");
    expect(JSON.parse(stdout)).toEqual([expect.objectContaining({ action: `${noun}.create` })]);
    expect((await put(noun, "same", { ...body, name: "other" }, accountKey)).body.changed).toBe(true);
  });
});

test.each(["keys", "guardrails", "workspaces"])("an external id without a record of %s is 404", async (noun) => {
  expect((await send("GET", `/${noun}/by-external-id/nobody`, undefined, accountKey)).status).toBe(404);
  expect((await send("GET", `/${noun}/by-external-id/${"x".repeat(201)}`, undefined, accountKey)).status).toBe(400);
});

test("a workspace is read by an external id only with a management key of the account", async () => {
  const ordinary = await makeManager(installation);
  expect((await send("GET", "/workspaces/by-external-id/research", undefined, ordinary)).status).toBe(403);
});

test("a rotated key is found by its external id, and a deleted key is not", async () => {
  const { data } = (await put("keys", "found", { name: "found" })).body;
  const rotated = (await send("POST", `/keys/${data.hash}/rotate`, {})).body.data;
  expect((await send("GET", "/keys/by-external-id/found")).body.data.hash).toBe(rotated.hash);
  await send("DELETE", `/keys/${rotated.hash}`);
  expect((await send("GET", "/keys/by-external-id/found")).status).toBe(404);
});

test("the audit log has each change by external id", async () => {
  const { data } = (await put("keys", "audited", { name: "before" })).body;
  await put("keys", "audited", { name: "after" });
  const { stdout } = await installation.admin("audit", "list", "--target", data.hash, "--json");
  expect(JSON.parse(stdout)).toMatchObject([
    { action: "keys.update", before: { name: "before" }, after: { name: "after" } },
    { action: "keys.create", actor: hashKey(installation.managementKey) },
  ]);
});
