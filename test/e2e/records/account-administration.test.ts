/** Workspaces and the audit log over HTTP: the rights of an account's management key, and those of other management keys. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { Client } from "pg";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";

interface WorkspaceJson {
  readonly id: string;
  readonly name: string;
  readonly limit: number | null;
}

interface EntryJson {
  readonly sequence: number;
  readonly workspace_id: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly target_name: string | null;
  readonly at: string;
}

interface Answer {
  readonly data: never;
  readonly next_cursor: string | null;
  readonly total_count: number;
  readonly error?: { readonly message: string };
}

let installation: Installation;
let accountKey: string;
/** A management key of the default workspace, and not of the account. */
let ordinary: string;
let foreign: { readonly workspace: WorkspaceJson; readonly manager: string };

/** @param workspace id for the header that names a workspace; without the header when absent */
async function send(method: string, path: string, key = accountKey, body?: object, workspace?: string) {
  const named = workspace === undefined ? undefined : { "x-sluice-workspace": workspace };
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...named },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer };
}

const makeKey = async (...options: string[]): Promise<string> => {
  const { stdout } = await installation.admin("keys", "create", "--management", "--name", "made", "--json", ...options);
  return (JSON.parse(stdout) as { readonly key: string }).key;
};

beforeAll(async () => {
  installation = await startInstallation();
  accountKey = await makeKey("--account");
  ordinary = await makeKey();
  const { body } = await send("POST", "/workspaces", accountKey, { name: "other", limit: 5, limit_reset: "daily" });
  const workspace: WorkspaceJson = body.data;
  foreign = { workspace, manager: await makeKey("--workspace", "other") };
});
afterAll(() => installation?.stop());

describe("workspaces", () => {
  test("are made, shown and changed with a management key of the account", async () => {
    expect(foreign.workspace).toMatchObject({ name: "other", limit: 5, limit_reset: "daily", limit_remaining: 5 });
    const path = `/workspaces/${foreign.workspace.id}`;
    expect((await send("GET", path)).body.data).toEqual(foreign.workspace);
    const changed = await send("PATCH", path, accountKey, { name: "renamed", limit_reset: null });
    expect(changed).toMatchObject({ status: 200, body: { data: { name: "renamed", limit: 5, limit_reset: null } } });
    await send("PATCH", path, accountKey, { name: "other", limit_reset: "daily" });
    const { data, total_count: total } = (await send("GET", "/workspaces")).body;
    expect([total, (data as WorkspaceJson[]).map(({ name }) => name)]).toEqual([2, ["default", "other"]]);
  });

  test("get and lose a budget while their keys serve requests", async () => {
    const { stdout } = await installation.admin(
      "keys",
      "create",
      "--name",
      "spender",
      "--workspace",
      "other",
      "--json",
    );
    const { key } = JSON.parse(stdout) as { readonly key: string };
    const sendRequest = () => send("POST", "/responses", key, { model: "sluice/echo", input: "Hello" });
    const path = `/workspaces/${foreign.workspace.id}`;
    expect((await sendRequest()).status).toBe(200);
    await send("PATCH", path, accountKey, { limit: null });
    expect((await send("GET", path)).body.data).toMatchObject({ limit: null, limit_remaining: null });
    expect((await sendRequest()).status).toBe(200);
    await send("PATCH", path, accountKey, { limit: 5 });
  });

  test("are not changed by other keys, which see only their workspace", async () => {
    const own = `/workspaces/${foreign.workspace.id}`;
    const { body } = await send("GET", "/workspaces", foreign.manager);
    expect([body.total_count, (body.data as WorkspaceJson[]).map(({ name }) => name)]).toEqual([1, ["other"]]);
    expect((await send("GET", own, foreign.manager)).status).toBe(200);
    const refused = {
      status: 403,
      body: { error: { message: "Only management keys of the account can change a workspace" } },
    };
    expect(await send("PATCH", own, foreign.manager, { limit: 1_000 })).toMatchObject(refused);
    expect((await send("POST", "/workspaces", ordinary, { name: "mine" })).status).toBe(403);
    for (const method of ["GET", "PATCH"]) {
      expect((await send(method, own, ordinary, method === "GET" ? undefined : { limit: 1 })).status).toBe(404);
    }
    expect((await send("GET", "/workspaces", installation.apiKey)).status).toBe(403);
  });

  test.each<[string, string, object | undefined, number, string]>([
    ["POST", "/workspaces", { name: "default" }, 409, "Another workspace has this name"],
    ["POST", "/workspaces", {}, 400, "name: required"],
    ["POST", "/workspaces", { name: "x", limit: -1 }, 400, "limit: must be between 0 and 1000000000"],
    ["POST", "/workspaces", { name: "x", budget: 1 }, 400, "budget: unknown field"],
    ["GET", "/workspaces/default", undefined, 404, "Workspace not found"],
    ["GET", `/workspaces/${crypto.randomUUID()}`, undefined, 404, "Workspace not found"],
  ])("respond to the request %s %s %j with the status %i", async (method, path, body, status, message) => {
    const answer = await send(method, path, accountKey, body);
    expect([answer.status, answer.body.error?.message]).toEqual([status, message]);
  });
});

describe("the audit log", () => {
  const list = async (query: string, key = accountKey) => {
    const { status, body } = await send("GET", `/audit${query}`, key);
    return { status, entries: body.data as EntryJson[], next: body.next_cursor, message: body.error?.message };
  };

  test("shows a change with the state before and after, as the command line does", async () => {
    const { body } = await send("POST", "/keys", installation.managementKey, { name: "watched" });
    const { hash } = body.data as { readonly hash: string };
    await send("PATCH", `/keys/${hash}`, installation.managementKey, { disabled: true });
    const { entries } = await list(`?target=${hash}`, installation.managementKey);
    expect(entries).toMatchObject([
      { action: "keys.update", target_name: "watched", before: { disabled: false }, after: { disabled: true } },
      { action: "keys.create", actor: hashKey(installation.managementKey), before: null, after: { name: "watched" } },
    ]);
    const { stdout } = await installation.admin("audit", "list", "--target", hash, "--json");
    const shown = JSON.parse(stdout) as EntryJson[];
    expect(entries.map(({ at: _at, workspace_id: _workspace, ...entry }) => entry)).toEqual(
      shown.map(({ at: _at, ...entry }) => entry),
    );
  });

  test("names the changed record and the acting key, also for a deleted record", async () => {
    const { body } = await send("POST", "/guardrails", installation.managementKey, { name: "short-lived" });
    const { id } = body.data as { readonly id: string };
    await send("PATCH", `/guardrails/${id}`, installation.managementKey, { description: "Soon gone" });
    const names = async () =>
      (await list(`?target=${id}`, installation.managementKey)).entries.map(({ target_name: name }) => name);
    expect(await names()).toEqual(["short-lived", "short-lived"]);
    await send("DELETE", `/guardrails/${id}`, installation.managementKey);
    expect(await names()).toEqual(["short-lived", null, "short-lived"]);
    const { entries } = await list(`?target=${foreign.workspace.id}&action=workspaces.create`);
    expect(entries).toMatchObject([{ actor_name: "made", target_name: "other" }]);
  });

  test("is filtered by actor, action and time", async () => {
    const actor = hashKey(accountKey);
    const { entries } = await list(`?actor=${actor}&action=workspaces.create`);
    expect(entries).toMatchObject([{ target: foreign.workspace.id, workspace_id: foreign.workspace.id }]);
    const at = entries[0]?.at ?? "";
    expect((await list(`?action=workspaces.create&to=${at.slice(0, 19)}Z`)).entries).toEqual([]);
    expect((await list(`?action=workspaces.create&from=${at.slice(0, 19)}Z`)).entries).toHaveLength(1);
  });

  test("has pages that end with the first entry, and do not shift with new entries", async () => {
    const listed: EntryJson[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: Awaited<ReturnType<typeof list>> = await list(`?limit=3${cursor === "" ? "" : `&cursor=${cursor}`}`);
      expect(page.entries.length).toBeGreaterThan(0);
      listed.push(...page.entries);
      cursor = page.next;
      if (listed.length === 3) await send("POST", "/keys", installation.managementKey, { name: "meanwhile" });
    }
    const { entries } = await list("?limit=100");
    expect(entries.length).toBeGreaterThan(4);
    expect(listed).toEqual(entries.slice(1));
    expect(new Set(listed.map(({ workspace_id: id }) => id)).size).toBe(2);
  });

  test("of another workspace is found only with a management key of the account", async () => {
    const theirs = `?workspace_id=${foreign.workspace.id}`;
    const ids = (entries: readonly EntryJson[]) => [...new Set(entries.map(({ workspace_id: id }) => id))];
    expect(ids((await list(theirs)).entries)).toEqual([foreign.workspace.id]);
    expect(ids((await list("", foreign.manager)).entries)).toEqual([foreign.workspace.id]);
    expect((await list(theirs, await makeKey())).status).toBe(404);
    expect((await list(`?workspace_id=${crypto.randomUUID()}`)).status).toBe(404);
    expect((await list("", installation.apiKey)).status).toBe(403);
  });

  test.each([
    ["?cursor=1", "cursor: must be the next_cursor of a page"],
    ["?from=yesterday", "from: must be an ISO 8601 time"],
    ["?user=x", "user: unknown"],
  ])("refuses the query %s with 400", async (query, message) => {
    const answer = await list(query);
    expect([answer.status, answer.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test("is verified, and a tampered entry is named", async () => {
    const verify = async (key = accountKey) =>
      (await send("GET", "/audit/verify", key)).body.data as { wrong: number[] }[];
    expect((await verify()).map(({ wrong }) => wrong)).toEqual([[], []]);
    expect(await verify(foreign.manager)).toMatchObject([{ name: "other", workspace_id: foreign.workspace.id }]);
    const client = new Client({ connectionString: installation.databaseUrl });
    await client.connect();
    await client.query("update audit_log set action = 'keys.revoke' where workspace_id = $1 and sequence = 1", [
      foreign.workspace.id,
    ]);
    await client.end();
    expect((await verify()).map(({ wrong }) => wrong)).toEqual([[], [1]]);
    expect(await verify(await makeKey())).toMatchObject([{ name: "default", wrong: [] }]);
  });
});

describe("a management key of the account", () => {
  const within = (workspace: string) => (method: string, path: string, body?: object) =>
    send(method, path, accountKey, body, workspace);
  const turn = { model: "sluice/echo", input: "Hello" };
  const makeWorkspace = async (name: string): Promise<string> => {
    const { body } = await send("POST", "/workspaces", accountKey, { name });
    return (body.data as WorkspaceJson).id;
  };

  test("makes the first key of a workspace, and sees the workspace as its own keys do", async () => {
    const id = await makeWorkspace("first");
    const inside = within(id);
    const { body, status } = await inside("POST", "/keys", { name: "first" });
    const key = (body as unknown as { readonly key: string }).key;
    expect([status, (await send("POST", "/responses", key, turn)).status]).toEqual([201, 200]);
    await inside("POST", "/guardrails", { name: "inside" });
    for (const path of ["/keys", "/guardrails"]) {
      expect((await inside("GET", path)).body.total_count).toBe(1);
      expect(JSON.stringify((await send("GET", path)).body)).not.toContain(id);
    }
    const [entry] = (await send("GET", `/audit?action=keys.create&workspace_id=${id}`)).body.data as EntryJson[];
    expect(entry).toMatchObject({ workspace_id: id, actor: hashKey(accountKey) });
    const shared = await inside("POST", "/guardrails", { name: "all", account_default: true });
    expect(shared).toMatchObject({
      status: 403,
      body: { error: { message: "Only management keys of the account can change its guardrails" } },
    });
  });

  test.each<[string, (id: string) => [string, string | undefined], number, string]>([
    ["of the account names nothing", () => [crypto.randomUUID(), undefined], 404, "Workspace not found"],
    [
      "of the account names no id",
      () => ["other", undefined],
      400,
      "x-sluice-workspace: must be the id of a workspace",
    ],
    ["of a workspace names another", (id) => [id, foreign.manager], 404, "Workspace not found"],
    ["of the default workspace names another", (id) => [id, ordinary], 404, "Workspace not found"],
  ])("is needed to act for another workspace; a key that %s is refused", async (_whose, choose, status, message) => {
    const { data } = (await send("GET", "/workspaces")).body;
    const [id, key] = choose((data as WorkspaceJson[]).find(({ name }) => name === "first")?.id ?? "");
    for (const [method, path, body] of [
      ["GET", "/keys"],
      ["POST", "/keys", { name: "x" }],
      ["GET", "/usage/series"],
      ["GET", "/generations"],
      ["POST", "/end-users", { user: "x" }],
    ] as const) {
      const answer = await send(method, path, key, body, id);
      expect([path, answer.status, answer.body.error?.message]).toEqual([path, status, message]);
    }
  });

  test("deletes a workspace: its keys end at once, its name is free, and its records stay", async () => {
    const id = await makeWorkspace("closing");
    const inside = within(id);
    const made = await inside("POST", "/keys", { name: "closing" });
    const { key } = made.body as unknown as { readonly key: string };
    await inside("PUT", "/guardrails/by-external-id/g", { name: "closing" });
    expect((await send("POST", "/responses", key, turn)).status).toBe(200);
    expect(await send("DELETE", `/workspaces/${id}`)).toMatchObject({ status: 200, body: { deleted: true } });
    expect((await send("POST", "/responses", key, turn)).status).toBe(401);
    expect((await send("DELETE", `/workspaces/${id}`)).status).toBe(404);
    expect((await inside("POST", "/keys", { name: "late" })).status).toBe(404);
    expect((await inside("PATCH", `/workspaces/${id}`, { limit: 1 })).status).toBe(404);
    const put = await send("PUT", "/workspaces/by-external-id/w", accountKey, { name: "closing" });
    expect(put).toMatchObject({ status: 201 });
    await send("DELETE", `/workspaces/${(put.body.data as WorkspaceJson).id}`);
    expect((await send("GET", "/workspaces/by-external-id/w")).status).toBe(404);
    const again = await send("PUT", "/workspaces/by-external-id/w", accountKey, { name: "closing" });
    expect(again).toMatchObject({ status: 201 });
    const names = async (query: string) =>
      ((await send("GET", `/workspaces${query}`)).body.data as WorkspaceJson[]).map(({ name }) => name);
    expect(await names("?deleted=true")).toEqual([1, 2].map(() => expect.stringMatching(/^closing, deleted \d{4}-/)));
    expect((await names("")).filter((name) => name.includes("deleted"))).toEqual([]);
    const list = async () => (await inside("GET", "/generations")).body.data as readonly { readonly id: string }[];
    await eventually(async () => (await list()).length > 0);
    expect((await inside("GET", `/generation?id=${(await list())[0]?.id ?? ""}`)).status).toBe(200);
    expect((await inside("GET", "/keys?include_disabled=true")).body.total_count).toBe(0);
    const [entry] = (await send("GET", `/audit?workspace_id=${id}&action=workspaces.delete`)).body.data as EntryJson[];
    expect(entry).toMatchObject({ target: id, before: { name: "closing", keys: 1, guardrails: 1 } });
    expect(await send("DELETE", `/workspaces/${defaultWorkspaceId}`)).toMatchObject({ status: 409 });
  });

  test("is needed to find another workspace, also to delete it", async () => {
    const { id } = foreign.workspace;
    expect((await send("DELETE", `/workspaces/${id}`, foreign.manager)).status).toBe(403);
    expect((await send("DELETE", `/workspaces/${id}`, ordinary)).status).toBe(404);
    expect((await send("GET", `/workspaces/${id}`)).status).toBe(200);
  });
});
