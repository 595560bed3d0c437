/** Concurrent bulk changes: how long they wait, which writes they must not delay, and the final state of the keys. */
import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { auditStates } from "@sluice/admin-svc/store/audit-check.js";
import { type Bulk, changeAssignments } from "@sluice/admin-svc/store/assignments.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { currentGeneration } from "@sluice/admin-svc/store/policy.js";
import { EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { LedgerService } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type AssignKeysResponse, GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind, hashKey } from "@sluice/proto/lib/ids/key.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
import { findShortest, measureElapsedMs } from "../support/clock.ts";
import { samplesOf } from "../support/metrics.ts";
import { eventually } from "../support/processes.ts";
import {
  type AdminInstallation,
  addGuardrail,
  addKey,
  addKeys,
  addWorkspace,
  callAsAdministrator,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
  testAuthor,
  retryUntilWritten,
  serviceToken,
  timeoutMs,
  unassignGuardrail,
} from "./installation.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

/** Runs the work while another transaction locks the keys. */
const holding = <Result>(keyHashes: readonly string[], work: () => Promise<Result>): Promise<Result> =>
  installation.database.transaction().execute(async (holder) => {
    // Postgres would end this transaction after five idle seconds, and release its locks.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(holder);
    await holder.selectFrom("api_keys").select("hash").where("hash", "in", keyHashes).forUpdate().execute();
    return work();
  });

const reserve = (keyHash: string) => {
  const { reserveBudget } = LedgerService.method;
  const wanted = { turnId: randomUUID(), attempt: 1, keyHash, workspaceId: defaultWorkspaceId, amountUsd: "0.1" };
  return call(
    installation.client,
    reserveBudget,
    create(reserveBudget.input, wanted),
    serviceMetadata(serviceToken),
    timeoutMs,
  );
};

test("sixty blocked bulk changes of the same keys leave connections to other callers, and all succeed", async () => {
  const keyHashes = await addKeys(installation.database, 60);
  const guardrails = [await addGuardrail(installation.database), await addGuardrail(installation.database)];
  const admin = bearerMetadata(installation.managementKey);
  let bulks: Promise<number>[] = [];
  await holding(keyHashes.slice(59), async () => {
    bulks = Array.from({ length: 60 }, async (_, n) => {
      const [guardrail, listed] = [guardrails[n % 2] as string, keyHashes.slice(n)];
      if (n % 3 === 2) return (await unassignGuardrail(installation.client, guardrail, listed, admin)).unassignedCount;
      return (await assignGuardrail(installation.client, guardrail, listed, admin)).assignedCount;
    });
    await callAsAdministrator(installation, EndUserService.method.createEndUser, { user: "alice" });
    expect(await reserve(keyHashes[0] as string)).toMatchObject({ admitted: true });
  });
  const counts = await Promise.all(bulks);
  const assigned = counts.filter((_, n) => n % 3 !== 2);
  expect(assigned).toEqual(Array.from({ length: 60 }, (_, n) => 60 - n).filter((_, n) => n % 3 !== 2));
  const [state] = await auditStates(installation.database);
  expect(state).toMatchObject({ wrong: [] });
});

test("blocked bulk changes of more workspaces than connections leave connections to other callers, too", async () => {
  const [own] = (await addKeys(installation.database, 1)) as [string];
  const workspaces: { manager: string; keyHash: string; guardrail: string }[] = [];
  for (let n = 0; n < 10; n++) {
    const workspaceId = await addWorkspace(installation.database);
    workspaces.push({
      manager: await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT }),
      keyHash: hashKey(await addKey(installation.database, { workspaceId })),
      guardrail: await addGuardrail(installation.database, workspaceId),
    });
  }
  let bulks: Promise<AssignKeysResponse>[] = [];
  const keyHashes = workspaces.map(({ keyHash }) => keyHash);
  await holding(keyHashes, async () => {
    bulks = workspaces.map(({ manager, keyHash, guardrail }) =>
      retryUntilWritten(() => assignGuardrail(installation.client, guardrail, [keyHash], bearerMetadata(manager))),
    );
    await callAsAdministrator(installation, EndUserService.method.createEndUser, { user: "bob" });
    expect(await reserve(own)).toMatchObject({ admitted: true });
  });
  for (const { assignedCount } of await Promise.all(bulks)) expect(assignedCount).toBe(1);
});

test("bulk changes blocked by a locked key are refused with a retry hint before the gateway's deadline", async () => {
  const [held, free] = (await addKeys(installation.database, 2)) as [string, string];
  const guardrail = await addGuardrail(installation.database);
  const admin = bearerMetadata(installation.managementKey);
  const change = (keyHash: string) => assignGuardrail(installation.client, guardrail, [keyHash], admin);
  const sixty = (keyHash: string) => Promise.allSettled(Array.from({ length: 60 }, () => change(keyHash)));
  const refused = async () => {
    for (const outcome of await sixty(held)) {
      const reason = { reason: FaultReason.INTERNAL, status: 500, retryAfterMs: 1_000, shouldRetry: true };
      expect(outcome).toMatchObject({ status: "rejected", reason });
    }
  };
  // Time spent waiting for the lock: the time of as many changes without a lock is subtracted, since a busy machine is slow.
  const waitedMs = async () =>
    (await measureElapsedMs(() => holding([held], refused))) - (await measureElapsedMs(() => sixty(free)));
  expect(await findShortest(10_000, waitedMs, 5)).toBeLessThan(10_000);
  expect(await change(held)).toMatchObject({ assignedCount: 1 });
});

/** Whether a statement waits for a lock held by another one. */
async function waitsForLock(): Promise<boolean> {
  const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return (await waiting.execute(installation.database)).rows.length > 0;
}

test("a bulk change is dropped when its caller has disconnected, and is not counted as a failure", async () => {
  const [held] = (await addKeys(installation.database, 1)) as [string];
  const { assignKeys } = GuardrailService.method;
  const request = create(assignKeys.input, {
    guardrailId: await addGuardrail(installation.database),
    keyHashes: [held],
  });
  const admin = bearerMetadata(installation.managementKey);
  const ended = async () =>
    samplesOf(await installation.registry.metrics()).filter(({ labels: { method } }) => method === name);
  const name = "sluice.admin.v1.GuardrailService/AssignKeys";
  const failures = async () => (await ended()).find(({ labels }) => labels["status"] === "INTERNAL")?.value;
  const before = await failures();
  let first: Promise<unknown> = Promise.resolve();
  await holding([held], async () => {
    first = call(installation.client, assignKeys, request, admin, timeoutMs);
    await eventually(waitsForLock);
    await expect(call(installation.client, assignKeys, request, admin, 100)).rejects.toMatchObject({ status: 408 });
    // This later call on the same connection must succeed.
    await callAsAdministrator(installation, EndUserService.method.createEndUser, { user: "carol" });
  });
  await first;
  const left = ["CANCELLED", "DEADLINE_EXCEEDED"];
  await eventually(async () => (await ended()).some(({ labels }) => left.includes(labels["status"] as string)));
  expect(await failures()).toBe(before);
});

const rowsOf = async (keyHashes: readonly string[]) => {
  const rows = await installation.database
    .selectFrom("guardrail_key_assignments")
    .selectAll()
    .where("key_hash", "in", keyHashes)
    .execute();
  return new Map(rows.map((row) => [row.key_hash, row]));
};

test("bulk changes in one batch apply in order, each with its own count and audit entry", async () => {
  const [a, b, c, d] = (await addKeys(installation.database, 4)) as [string, string, string, string];
  const [first, second] = [await addGuardrail(installation.database), await addGuardrail(installation.database)];
  const foreign = await addGuardrail(installation.database, await addWorkspace(installation.database));
  let requests = 0;
  const bulk = (verb: Bulk["verb"], guardrailId: string, ...keyHashes: string[]): Bulk => {
    const author = { ...testAuthor(), keyHash: `key ${++requests}`, requestId: `bulks ${requests}` };
    return { author, verb, guardrailId, keyHashes };
  };
  await changeAssignments(installation.database, defaultWorkspaceId, [bulk("assign", first, d)]);
  const [before, since] = [await rowsOf([d]), await currentGeneration(installation.database)];
  const { counts, change } = await changeAssignments(installation.database, defaultWorkspaceId, [
    bulk("assign", first, b, a),
    bulk("assign", second, b, c, "f".repeat(64)),
    bulk("unassign", first, a, b),
    bulk("assign", foreign, a),
    bulk("unassign", second, c, a),
    bulk("unassign", second, c),
    bulk("assign", second, d),
    bulk("assign", first, d),
  ]);
  expect(counts).toEqual([2, 2, 1, undefined, 1, 0, 1, 1]);
  expect(change?.generation).toBe(since + 1n);
  expect(change?.keyHashes?.toSorted()).toEqual([a, b, c, d].toSorted());
  const after = await rowsOf([a, b, c, d]);
  expect([...after.keys()].toSorted()).toEqual([b, d].toSorted());
  expect(after.get(b)).toMatchObject({ guardrail_id: second, assigned_by: "key 3" });
  // The key lost the guardrail and got it back, which makes a new assignment.
  expect(after.get(d)).toMatchObject({ guardrail_id: first, assigned_by: "key 9" });
  expect(after.get(d)?.assignment_id).not.toBe(before.get(d)?.assignment_id);

  const entries = await installation.database
    .selectFrom("audit_log")
    .select(["actor", "action", "target", "before", "after", "generation"])
    .where("request_id", "like", "bulks %")
    .orderBy("sequence")
    .execute();
  const generation = String(since + 1n);
  const assigned = (target: string, count: number) => ({ guardrail_id: target, count });
  expect(entries.slice(1)).toEqual(
    [
      ["key 2", "guardrails.assign", first, { none: [b, a] }, assigned(first, 2), generation],
      ["key 3", "guardrails.assign", second, { [first]: [b], none: [c] }, assigned(second, 2), generation],
      ["key 4", "guardrails.unassign", first, { [first]: [a] }, { count: 1 }, generation],
      ["key 6", "guardrails.unassign", second, { [second]: [c] }, { count: 1 }, generation],
      ["key 7", "guardrails.unassign", second, { [second]: [] }, { count: 0 }, null],
      ["key 8", "guardrails.assign", second, { [first]: [d] }, assigned(second, 1), generation],
      ["key 9", "guardrails.assign", first, { [second]: [d] }, assigned(first, 1), generation],
    ].map(([actor, action, target, was, is, at]) => ({
      actor,
      action,
      target,
      before: was,
      after: is,
      generation: at,
    })),
  );
  const [state] = await auditStates(installation.database);
  expect(state).toMatchObject({ wrong: [] });
});

test("bulk changes for an unknown guardrail make no audit entry and no generation", async () => {
  const [keyHash] = (await addKeys(installation.database, 1)) as [string];
  const since = await currentGeneration(installation.database);
  const missing = { author: testAuthor(), verb: "assign", guardrailId: randomUUID(), keyHashes: [keyHash] } as const;
  const [before] = await auditStates(installation.database);
  const done = await changeAssignments(installation.database, defaultWorkspaceId, [missing, missing]);
  expect(done).toEqual({ counts: [undefined, undefined], change: undefined });
  expect(await currentGeneration(installation.database)).toBe(since);
  expect((await auditStates(installation.database))[0]).toEqual(before);
});
