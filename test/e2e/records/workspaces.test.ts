/** Two workspaces in one installation: the records of one do not exist for the other, over HTTP, for every operation. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Author } from "@sluice/admin-svc/store/audit.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import { createKey } from "@sluice/admin-svc/store/keys.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import type { Kysely } from "kysely";
import { type Installation, startInstallation } from "../../support/installation.ts";

describe("a record of another workspace", () => {
  let installation: Installation;
  let database: Kysely<Database>;
  let workspaceId: string;
  const foreignManager = mintKey(KeyKind.MANAGEMENT);
  const foreignKey = mintKey(KeyKind.INFERENCE);
  let foreignGuardrail: string;

  beforeAll(async () => {
    installation = await startInstallation();
    database = openDatabase(installation.databaseUrl, writeConnectionLimits, () => {});
    workspaceId = (await installation.admin("workspaces", "create", "--name", "other")).stdout.trim();
    const author: Author = { workspaceId, keyHash: null, program: "cli", requestId: null };
    for (const key of [foreignManager, foreignKey]) await createKey(database, author, { name: "foreign", key });
    const made = await send(foreignManager, "POST", "/guardrails", {
      name: "foreign",
      content_filters: [{ pattern: "secret", action: "block" }],
    });
    foreignGuardrail = (made.body as { data: { id: string } }).data.id;
    await send(foreignManager, "POST", "/end-users", { user: "foreign" });
    await send(foreignManager, "POST", `/guardrails/${foreignGuardrail}/assignments/keys`, {
      key_hashes: [hashKey(foreignKey)],
    });
  });
  afterAll(async () => {
    await database?.destroy();
    await installation?.stop();
  });

  async function send(key: string, method: string, path: string, body?: object) {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === "" ? undefined : JSON.parse(text)) as unknown };
  }

  test("is not found, and does not change", async () => {
    const key = `/keys/${hashKey(foreignKey)}`;
    const guardrail = `/guardrails/${foreignGuardrail}`;
    const hashes = { key_hashes: [hashKey(installation.apiKey)] };
    for (const [method, path, body] of [
      ["GET", key],
      ["PATCH", key, { disabled: true }],
      ["DELETE", key],
      ["GET", guardrail],
      ["PATCH", guardrail, { content_filters: null }],
      ["DELETE", guardrail],
      ["GET", `${guardrail}/assignments/keys`],
      ["POST", `${guardrail}/assignments/keys`, hashes],
      ["POST", `${guardrail}/assignments/keys/remove`, { key_hashes: [hashKey(foreignKey)] }],
      ["GET", "/end-users/foreign"],
      ["PATCH", "/end-users/foreign", { is_active: false }],
      ["DELETE", "/end-users/foreign"],
      ["GET", `/keys?workspace_id=${workspaceId}`],
      ["POST", "/keys", { name: "x", workspace_id: workspaceId }],
      ["GET", `/guardrails?workspace_id=${workspaceId}`],
      ["POST", "/guardrails", { name: "x", workspace_id: workspaceId }],
    ] as const) {
      expect([method, path, (await send(installation.managementKey, method, path, body)).status]).toEqual([
        method,
        path,
        404,
      ]);
    }
    const asked = { model: "sluice/echo", input: "a secret" };
    expect((await send(foreignKey, "POST", "/responses", asked)).status).toBe(403);
    expect(await send(foreignManager, "GET", "/end-users/foreign")).toMatchObject({
      body: { data: { is_active: true } },
    });
  });

  test("is in no list, and its keys are not counted", async () => {
    for (const path of ["/keys?include_disabled=true", "/guardrails", "/guardrails/assignments/keys", "/end-users"]) {
      const mine = await send(installation.managementKey, "GET", path);
      expect(mine.status).toBe(200);
      expect(JSON.stringify(mine.body)).not.toContain("foreign");
      expect(JSON.stringify(mine.body)).not.toContain(hashKey(foreignKey));
      expect(await send(foreignManager, "GET", path)).toMatchObject({ body: { total_count: 1 } });
    }
    const own = await send(installation.managementKey, "POST", "/guardrails", { name: "own" });
    const { id } = (own.body as { data: { id: string } }).data;
    const hashes = { key_hashes: [hashKey(foreignKey), hashKey(installation.apiKey)] };
    const assigned = await send(installation.managementKey, "POST", `/guardrails/${id}/assignments/keys`, hashes);
    expect(assigned.body).toEqual({ assigned_count: 1 });
  });

  test("may be an end user with the same name", async () => {
    for (const key of [installation.managementKey, foreignManager]) {
      expect((await send(key, "POST", "/end-users", { user: "shared" })).status).toBe(201);
      expect((await send(key, "POST", "/end-users", { user: "shared" })).status).toBe(409);
    }
    expect((await send(foreignManager, "DELETE", "/end-users/shared")).status).toBe(204);
    expect(await send(installation.managementKey, "GET", "/end-users/shared")).toMatchObject({
      body: { data: { is_active: true } },
    });
  });
});
