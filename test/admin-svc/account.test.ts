/** Guardrails of the whole account, over real gRPC: the keys they reach, the permission to change them, and atomic changes. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Metadata } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AccountError } from "@sluice/admin-svc/store/account.js";
import { listAudit } from "@sluice/admin-svc/store/audit-list.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { listGuardrails } from "@sluice/admin-svc/store/guardrails.js";
import { createKey, rotateKey } from "@sluice/admin-svc/store/keys.js";
import { currentGeneration } from "@sluice/admin-svc/store/policy.js";
import { FilterAction, GuardrailMode } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  type CreateGuardrailRequestSchema,
  GuardrailService,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { sql } from "kysely";
import { eventually } from "../support/processes.ts";
import {
  type AdminInstallation,
  addKey,
  addWorkspace,
  callAsAdministrator,
  bearerMetadata,
  openInstallation,
  testAuthor,
  resolveKey,
} from "./installation.ts";
import { PolicyWatcher } from "./watching.ts";

let installation: AdminInstallation;
let account: Metadata;
/** A manager and a key of a workspace without any other records. */
let elsewhere: { readonly manager: Metadata; readonly hash: string };
beforeAll(async () => {
  installation = await openInstallation();
  account = bearerMetadata(await addAccountKey());
  const workspaceId = await addWorkspace(installation.database);
  const manager = await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT });
  elsewhere = { manager: bearerMetadata(manager), hash: hashKey(await addKey(installation.database, { workspaceId })) };
});
afterAll(() => installation?.close());

async function addAccountKey(): Promise<string> {
  const key = mintKey(KeyKind.MANAGEMENT);
  await createKey(installation.database, { ...testAuthor(), ofAccount: true }, { name: "account", key, account: true });
  return key;
}

const { method } = GuardrailService;
type Settings = Omit<MessageInitShape<typeof CreateGuardrailRequestSchema>, "$typeName" | "$unknown">;

const contentFilters = [{ pattern: "secret", label: "Secret", action: FilterAction.BLOCK }];

async function make(settings: Settings = {}, by = account) {
  const made = await callAsAdministrator(
    installation,
    method.createGuardrail,
    { name: "g", contentFilters, ...settings },
    by,
  );
  return { id: made.guardrail?.id ?? "", generation: made.generation, guardrail: made.guardrail };
}
const change = (id: string, settings: Settings, paths: string[], by = account) =>
  callAsAdministrator(
    installation,
    method.updateGuardrail,
    { guardrail: { id, ...settings }, updateMask: { paths } },
    by,
  );
const remove = (guardrailId: string, by = account) =>
  callAsAdministrator(installation, method.deleteGuardrail, { guardrailId }, by);
const list = async (by: Metadata) =>
  (await callAsAdministrator(installation, method.listGuardrails, {}, by)).guardrails;

const underOf = async (hash: string) =>
  (await resolveKey(installation.client, hash)).caller?.workspaceGuardrails.map(({ id, accountDefault }) => [
    id,
    accountDefault,
  ]);

const logged = async (generation: bigint) => {
  const row = installation.database
    .selectFrom("policy_log")
    .select("key_hashes")
    .where("generation", "=", String(generation));
  return (await row.executeTakeFirstOrThrow()).key_hashes;
};

afterEach(async () => {
  for (const { id } of await list(account)) await remove(id);
});

describe("a guardrail of the account", () => {
  test("holds for every key of every workspace, before the workspace's own, until it is unset or deleted", async () => {
    const own = hashKey(await addKey(installation.database));
    const shared = await make({ name: "workspace", workspaceDefault: true });
    const watching = new PolicyWatcher(installation.port);
    await watching.hear((message) => message.all);
    const made = await make({ name: "account", accountDefault: true });
    expect(made.guardrail).toMatchObject({
      accountDefault: true,
      workspaceDefault: false,
      workspaceId: defaultWorkspaceId,
    });
    expect(await logged(made.generation)).toBeNull();
    expect((await watching.hear((message) => message.generation === made.generation)).all).toBe(true);
    watching.leave();
    const late = hashKey(await addKey(installation.database));
    for (const hash of [own, late]) {
      expect(await underOf(hash)).toEqual([
        [made.id, true],
        [shared.id, false],
      ]);
    }
    expect(await underOf(elsewhere.hash)).toEqual([[made.id, true]]);
    const without = await change(made.id, {}, ["account_default"]);
    expect(await logged(without.generation)).toBeNull();
    expect(await underOf(own)).toEqual([[shared.id, false]]);
    expect(await underOf(elsewhere.hash)).toEqual([]);
    const again = await change(made.id, { accountDefault: true }, ["account_default"]);
    expect(again.guardrail).toMatchObject({ name: "account", accountDefault: true });
    expect(await underOf(elsewhere.hash)).toEqual([[made.id, true]]);
    expect(await logged((await remove(made.id)).generation)).toBeNull();
    expect(await underOf(elsewhere.hash)).toEqual([]);
  });

  test("takes precedence over a key's own guardrail", async () => {
    const hash = hashKey(await addKey(installation.database));
    const { id } = await make({ accountDefault: true });
    await callAsAdministrator(installation, method.assignKeys, { guardrailId: id, keyHashes: [hash] }, account);
    const { caller } = await resolveKey(installation.client, hash);
    expect([caller?.guardrail?.id, caller?.workspaceGuardrails]).toEqual([id, []]);
  });

  test("with a budget makes calls of every known key reserve an amount, except in audit mode", async () => {
    const asks = async (hash: string) => (await resolveKey(installation.client, hash)).caller?.hasBudget;
    expect(await asks(elsewhere.hash)).toBe(false);
    const { id } = await make({ accountDefault: true, limitUsd: "1", resetInterval: "daily" });
    expect([await asks(elsewhere.hash), await asks("0".repeat(64))]).toEqual([true, undefined]);
    await change(id, { mode: GuardrailMode.AUDIT }, ["mode"]);
    expect(await asks(elsewhere.hash)).toBe(false);
  });

  test("is logged in the default workspace with the generation of the change", async () => {
    const { id, generation } = await make({ accountDefault: true });
    await change(id, {}, ["account_default"]);
    const about = { workspaceId: defaultWorkspaceId, target: id, limit: 10 };
    const { rows } = await listAudit(installation.database, about);
    expect(rows.toReversed()).toMatchObject([
      { action: "guardrails.create", generation: String(generation), after: { account_default: true } },
      { action: "guardrails.update", before: { account_default: true }, after: { account_default: false } },
    ]);
  });
});

describe("callers without rights over the account", () => {
  const denied = {
    reason: FaultReason.PERMISSION_DENIED,
    status: 403,
    message: "Only management keys of the account can change its guardrails",
  };
  const notFound = { reason: FaultReason.NOT_FOUND, message: "Guardrail not found" };
  let ordinary: Metadata;
  beforeEach(async () => {
    ordinary = bearerMetadata(await addKey(installation.database, { kind: KeyKind.MANAGEMENT }));
  });

  test("in the default workspace see account guardrails and cannot change them", async () => {
    const { id, guardrail } = await make({ accountDefault: true });
    const before = await currentGeneration(installation.database);
    expect(
      (await callAsAdministrator(installation, method.getGuardrail, { guardrailId: id }, ordinary)).guardrail,
    ).toEqual(guardrail);
    expect(await list(ordinary)).toEqual([guardrail]);
    await expect(make({ accountDefault: true }, ordinary)).rejects.toMatchObject(denied);
    await expect(change(id, { name: "x" }, ["name"], ordinary)).rejects.toMatchObject(denied);
    await expect(change(id, {}, ["account_default"], ordinary)).rejects.toMatchObject(denied);
    await expect(remove(id, ordinary)).rejects.toMatchObject(denied);
    const own = await make({}, ordinary);
    await expect(change(own.id, { accountDefault: true }, ["account_default"], ordinary)).rejects.toMatchObject(denied);
    expect((await change(own.id, { accountDefault: false }, ["account_default"], ordinary)).guardrail).toMatchObject({
      accountDefault: false,
    });
    expect(await list(ordinary)).toEqual([guardrail, expect.objectContaining({ id: own.id, accountDefault: false })]);
    expect(await currentGeneration(installation.database)).toBe(before);
  });

  test("in another workspace neither see account guardrails nor change them", async () => {
    const { id } = await make({ accountDefault: true });
    const { manager, hash } = elsewhere;
    expect(await list(manager)).toEqual([]);
    for (const asked of [
      () => callAsAdministrator(installation, method.getGuardrail, { guardrailId: id }, manager),
      () => change(id, { name: "x" }, ["name"], manager),
      () => remove(id, manager),
      () => callAsAdministrator(installation, method.assignKeys, { guardrailId: id, keyHashes: [hash] }, manager),
      () => callAsAdministrator(installation, method.listKeyAssignments, { guardrailId: id }, manager),
    ])
      await expect(asked()).rejects.toMatchObject(notFound);
    await expect(make({ accountDefault: true }, manager)).rejects.toMatchObject(denied);
    expect(await list(manager)).toEqual([]);
    expect(await underOf(hash)).toEqual([[id, true]]);
  });

  test("cannot make a key with rights over the account, and no other workspace can have one", async () => {
    const key = mintKey(KeyKind.MANAGEMENT);
    const named = { name: "k", key, account: true };
    await expect(createKey(installation.database, testAuthor(), named)).rejects.toThrow(AccountError);
    const workspaceId = await addWorkspace(installation.database);
    const foreign = { ...testAuthor(workspaceId), ofAccount: true };
    await expect(createKey(installation.database, foreign, named)).rejects.toThrow("api_keys_check");
    const inference = { ...named, key: mintKey(KeyKind.INFERENCE) };
    await expect(createKey(installation.database, { ...testAuthor(), ofAccount: true }, inference)).rejects.toThrow(
      "api_keys_check",
    );
  });

  test("an account key keeps its rights when rotated, and loses them when revoked", async () => {
    const old = await addAccountKey();
    const rotated = await rotateKey(installation.database, testAuthor(), hashKey(old), () =>
      mintKey(KeyKind.MANAGEMENT),
    );
    const { id } = await make({ accountDefault: true }, bearerMetadata(rotated?.key ?? ""));
    await expect(remove(id, bearerMetadata(old))).rejects.toMatchObject({ reason: FaultReason.UNAUTHENTICATED });
  });
});

describe("a change of the account's guardrails is all or nothing", () => {
  /** Checks for no change in the table, in the policy feed and in the policy in force. */
  async function isUntouched(work: () => Promise<void>): Promise<void> {
    const before = await currentGeneration(installation.database);
    const rows = await listGuardrails(installation.database, defaultWorkspaceId);
    await work();
    expect(await currentGeneration(installation.database)).toBe(before);
    expect(await listGuardrails(installation.database, defaultWorkspaceId)).toEqual(rows);
    expect(await underOf(elsewhere.hash)).toEqual([]);
  }

  test("when its audit entry cannot be written", () =>
    isUntouched(async () => {
      await sql`alter table audit_log add constraint refused check (action <> 'guardrails.create') not valid`.execute(
        installation.database,
      );
      try {
        await expect(make({ accountDefault: true })).rejects.toMatchObject({ reason: FaultReason.INTERNAL });
      } finally {
        await sql`alter table audit_log drop constraint refused`.execute(installation.database);
      }
    }));

  test("when the database connection dies before the commit", () =>
    isUntouched(async () => {
      const dies = installation.database.transaction().execute(async (holder) => {
        // The last statement of the change waits for this row.
        await sql`select from policy_generation for update`.execute(holder);
        const making = make({ accountDefault: true });
        const failed = expect(making).rejects.toMatchObject({ reason: FaultReason.INTERNAL, shouldRetry: true });
        await eventually(async () => {
          const { rows } = await sql<{ pid: number }>`
            select pid from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and pg_backend_pid() = any(pg_blocking_pids(pid))`.execute(
            holder,
          );
          const [waiting] = rows;
          if (waiting) await sql`select pg_terminate_backend(${waiting.pid})`.execute(holder);
          return waiting !== undefined;
        });
        await failed;
      });
      await dies;
    }));
});
