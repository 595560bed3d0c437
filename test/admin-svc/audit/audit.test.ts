/**
 * The audit log: it holds every change, written in the transaction of the change, and its check finds every later
 * alteration.
 */
import { AuditService } from "@sluice/proto/gen/sluice/admin/v1/audit_service_pb.js";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { type AuditState, auditStates } from "@sluice/admin-svc/store/audit-check.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { createKey } from "@sluice/admin-svc/store/keys.js";
import { FilterAction } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { sql } from "kysely";
import {
  type AdminInstallation,
  addGuardrail,
  addKeys,
  callAsAdministrator,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
  testAuthor,
  retryUntilWritten,
} from "../installation.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

interface Entry {
  readonly sequence: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly request_id: string | null;
  readonly generation: number | null;
}

async function admin(...args: string[]) {
  let stdout = "";
  let stderr = "";
  const code = await runCli(args, {
    databaseUrl: installation.databaseUrl,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

/** Audit entries of a target, the oldest first. */
async function entries(target: string): Promise<Entry[]> {
  const { stdout } = await admin("audit", "list", "--target", target, "--json");
  return (JSON.parse(stdout) as Entry[]).toReversed();
}

const own = async (): Promise<AuditState> => {
  const state = (await auditStates(installation.database)).find(
    ({ workspaceId }) => workspaceId === defaultWorkspaceId,
  );
  if (!state) throw new Error("the default workspace is gone");
  return state;
};

describe("audit entries", () => {
  test("of a change to a key have author, action, values before and after, request and generation", async () => {
    const caller = hashKey(installation.managementKey);
    const metadata = bearerMetadata(installation.managementKey);
    metadata.set("x-request-id", "req_audit");
    const made = await callAsAdministrator(
      installation,
      KeyService.method.createKey,
      { name: "k", limitUsd: "5" },
      metadata,
    );
    const hash = made.key?.hash ?? "";
    const change = { key: { hash, name: "l", limitUsd: "7" }, updateMask: { paths: ["name", "limit_usd"] } };
    await callAsAdministrator(installation, KeyService.method.updateKey, change);
    const { generation } = await callAsAdministrator(installation, KeyService.method.deleteKey, { keyHash: hash });
    await callAsAdministrator(installation, KeyService.method.deleteKey, { keyHash: hash });
    expect(await entries(hash)).toMatchObject([
      {
        actor: caller,
        action: "keys.create",
        before: null,
        after: { name: "k", limit_usd: "5.000000000000", kind: "inference" },
        request_id: "req_audit",
        generation: Number(made.generation),
      },
      {
        actor: caller,
        action: "keys.update",
        before: { name: "k", limit_usd: "5.000000000000" },
        after: { name: "l", limit_usd: "7.000000000000" },
        generation: null,
      },
      { action: "keys.revoke", before: { name: "l", guardrail_id: null }, after: null, generation: Number(generation) },
    ]);
  });

  test("are found by a part of the action or of the record's name, in any case", async () => {
    const metadata = bearerMetadata(installation.managementKey);
    const { key } = await callAsAdministrator(
      installation,
      KeyService.method.createKey,
      { name: "Payroll Bot" },
      metadata,
    );
    const hash = key?.hash ?? "";
    await callAsAdministrator(installation, KeyService.method.deleteKey, { keyHash: hash });
    const found = async (search: string) => {
      const { entries: listed } = await callAsAdministrator(installation, AuditService.method.listAudit, { search });
      return listed.filter(({ target }) => target === hash).map(({ action }) => action);
    };
    expect(await found("payROLL")).toEqual(["keys.revoke", "keys.create"]);
    expect(await found("revo")).toEqual(["keys.revoke"]);
    expect(await found(hash.slice(3, 20))).toEqual(["keys.revoke", "keys.create"]);
    expect(await found("no such % text")).toEqual([]);
  });

  test("of a bulk assignment show its keys, grouped by their previous guardrail", async () => {
    const [first, second] = [await addGuardrail(installation.database), await addGuardrail(installation.database)];
    const [held, free, there] = (await addKeys(installation.database, 3)) as [string, string, string];
    await assignGuardrail(installation.client, first, [held], bearerMetadata(installation.managementKey));
    await assignGuardrail(installation.client, second, [there], bearerMetadata(installation.managementKey));
    await assignGuardrail(installation.client, second, [held, free, there], bearerMetadata(installation.managementKey));
    expect((await entries(second)).at(-1)).toMatchObject({
      action: "guardrails.assign",
      before: { [first]: [held], none: [free] },
      after: { count: 3 },
    });
    await callAsAdministrator(installation, GuardrailService.method.unassignKeys, {
      guardrailId: second,
      keyHashes: [free, "x"],
    });
    expect((await entries(second)).at(-1)).toMatchObject({
      action: "guardrails.unassign",
      before: { [second]: [free] },
      after: { count: 1 },
    });
    await callAsAdministrator(installation, GuardrailService.method.deleteGuardrail, { guardrailId: second });
    const deleted = (await entries(second)).at(-1);
    expect(deleted).toMatchObject({ action: "guardrails.delete", after: null });
    expect(new Set(deleted?.before?.["key_hashes"] as string[])).toEqual(new Set([held, there]));
  });

  test("are written for changes of guardrails and end users, over RPC and from the command line", async () => {
    const contentFilters = [{ pattern: "x", label: "", action: FilterAction.BLOCK }];
    const { guardrail } = await callAsAdministrator(installation, GuardrailService.method.createGuardrail, {
      name: "g",
      contentFilters,
    });
    const id = guardrail?.id ?? "";
    await admin("guardrails", "update", id, "--name", "h");
    expect(await entries(id)).toMatchObject([
      { action: "guardrails.create", after: { name: "g", content_filters: [{ pattern: "x" }] }, generation: null },
      { actor: "cli", action: "guardrails.update", before: { name: "g" }, after: { name: "h" }, request_id: null },
    ]);
    await admin("end-users", "create", "alice");
    await callAsAdministrator(installation, EndUserService.method.updateEndUser, { user: "alice", isActive: false });
    expect(await entries("alice")).toMatchObject([
      { actor: "cli", action: "end-users.create", after: { is_active: true } },
      { action: "end-users.update", before: { is_active: true }, after: { is_active: false } },
    ]);
  });

  test("are written for the first start, a rotation and a separate workspace", async () => {
    const [first] = await entries(hashKey(installation.managementKey));
    expect(first).toMatchObject({ sequence: 1, actor: "bootstrap", action: "keys.create" });
    const { stdout } = await admin("keys", "create", "--name", "r", "--json");
    const { hash } = JSON.parse(stdout) as { hash: string };
    await admin("keys", "rotate", hash);
    expect((await entries(hash)).at(-1)).toMatchObject({
      action: "keys.rotate",
      before: { name: "r", revoked_at: null },
    });
    const id = (await admin("workspaces", "create", "--name", "apart")).stdout.trim();
    await admin("keys", "create", "--name", "there", "--workspace", "apart");
    await admin("workspaces", "update", "apart", "--name", "far");
    const list = JSON.parse((await admin("audit", "list", "--json", "--workspace", id)).stdout) as Entry[];
    expect(list.map(({ sequence, action }) => [sequence, action])).toEqual([
      [3, "workspaces.update"],
      [2, "keys.create"],
      [1, "workspaces.create"],
    ]);
    expect(list[0]).toMatchObject({ before: { name: "apart" }, after: { name: "far" } });
  });

  test("with a long target leave the printed lines of other entries short", async () => {
    const user = "u".repeat(512);
    await admin("end-users", "create", user, "--workspace", "far");
    const lines = (await admin("audit", "list", "--workspace", "far")).stdout.trimEnd().split("\n");
    expect(lines.filter((line) => line.length > 512)).toEqual([expect.stringMatching(new RegExp(` {2}${user}$`))]);
  });

  test("contain no key, and are committed together with the change", async () => {
    const key = mintKey(KeyKind.INFERENCE);
    await createKey(installation.database, testAuthor(), { name: "secret", key });
    const rotated = JSON.parse((await admin("keys", "rotate", hashKey(key), "--json")).stdout) as { key: string };
    const { rows } = await sql<{ text: string }>`select audit_log::text as text from audit_log`.execute(
      installation.database,
    );
    const log = rows.map(({ text }) => text).join("\n");
    for (const secret of [key, rotated.key, installation.managementKey])
      expect(log).not.toContain(secret.slice(10, -4));
    await sql`alter table audit_log add constraint refused check (action <> 'keys.create') not valid`.execute(
      installation.database,
    );
    const refused = mintKey(KeyKind.INFERENCE);
    await expect(createKey(installation.database, testAuthor(), { name: "n", key: refused })).rejects.toThrow(
      "refused",
    );
    await sql`alter table audit_log drop constraint refused`.execute(installation.database);
    const found = await installation.database
      .selectFrom("api_keys")
      .where("hash", "=", hashKey(refused))
      .selectAll()
      .execute();
    expect(found).toEqual([]);
  });
});

describe("the verify command for the audit log", () => {
  test("accepts a log with many concurrent writers", async () => {
    const guardrails = await Promise.all(Array.from({ length: 4 }, () => addGuardrail(installation.database)));
    const keyHashes = await addKeys(installation.database, 40);
    const before = await own();
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        retryUntilWritten(() =>
          assignGuardrail(
            installation.client,
            guardrails[n % 4] as string,
            keyHashes.slice(n % 20),
            bearerMetadata(installation.managementKey),
          ),
        ),
      ),
    );
    const after = await own();
    expect(after.wrong).toEqual([]);
    expect(after.entries - before.entries).toBeGreaterThanOrEqual(40);
    expect(Number(after.sequence)).toBe(after.entries);
    const { code, stdout } = await admin("audit", "verify");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^default .* whole$/m)]);
  });

  test.each([
    ["who did it", sql`update audit_log set actor = 'somebody' where sequence = 3`, ["3"]],
    ["what was done", sql`update audit_log set after = '{"count": 0}' where sequence = 4`, ["4"]],
    ["when", sql`update audit_log set at = at - interval '1 day' where sequence = 2`, ["2"]],
    ["an entry that is taken out", sql`delete from audit_log where sequence = 3`, ["4"]],
    ["the first ones taken out", sql`delete from audit_log where sequence < 3`, ["3"]],
    [
      "a wrong entry with a hash that fits",
      sql`update audit_log set actor = 'somebody', hash = sha256('') where sequence = 5`,
      ["5", "6"],
    ],
  ])("detects %s", async (_, tampering, wrong) => {
    await installation.database
      .transaction()
      .execute(async (transaction) => {
        await tampering.execute(transaction);
        const states = await auditStates(transaction);
        expect(states.find(({ workspaceId }) => workspaceId === defaultWorkspaceId)?.wrong).toEqual(wrong);
        throw new Error("undone");
      })
      .catch((error: Error) => expect(error.message).toBe("undone"));
    expect((await own()).wrong).toEqual([]);
  });

  test("fails with exit code 1 for a truncated log", async () => {
    const { sequence } = await own();
    await sql`delete from audit_log where workspace_id = ${defaultWorkspaceId} and sequence = ${sequence}`.execute(
      installation.database,
    );
    const { code, stdout, stderr } = await admin("audit", "verify", "--json");
    expect(code).toBe(1);
    expect(stderr).toBe(`the audit log was changed after it was written: default at ${sequence}\n`);
    expect((JSON.parse(stdout) as { wrong: number[] }[])[0]?.wrong).toEqual([Number(sequence)]);
  });
});
