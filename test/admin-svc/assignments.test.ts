/** Bulk assignment and removal through real gRPC. */
import { timestampMs, timestampNow } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { revokeKey } from "@sluice/admin-svc/store/keys.js";
import { currentGeneration } from "@sluice/admin-svc/store/policy.js";
import { GuardrailService, type KeyAssignment } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind, hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
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
  retryUntilWritten,
  unassignGuardrail,
  testAuthor,
} from "./installation.ts";
import { Random } from "../support/random.ts";
import { fixedSeed } from "../support/runner/fixed-seed.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());

const holders = async (keyHashes: string[]) => {
  const rows = await installation.database
    .selectFrom("guardrail_key_assignments")
    .selectAll()
    .where("key_hash", "in", keyHashes)
    .execute();
  return new Map(rows.map((row) => [row.key_hash, row.guardrail_id]));
};

const random = new Random(fixedSeed);

function shuffled(list: readonly string[]): string[] {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [copy[i], copy[j]] = [copy[j] as string, copy[i] as string];
  }
  return copy;
}

test("eight clients that assign the same 500 keys to two guardrails all succeed, and each call is all or nothing", async () => {
  const keyHashes = await addKeys(installation.database, 500);
  const guardrails = [await addGuardrail(installation.database), await addGuardrail(installation.database)];
  const clients = Array.from({ length: 8 }, () => dial(`127.0.0.1:${installation.port}`));
  const admin = bearerMetadata(installation.managementKey);
  for (let round = 0; round < 20; round++) {
    const before = await currentGeneration(installation.database);
    const answers = await Promise.all(
      clients.map((client, i) =>
        retryUntilWritten(() => assignGuardrail(client, guardrails[i % 2] as string, shuffled(keyHashes), admin)),
      ),
    );
    expect(answers.map((answer) => answer.assignedCount)).toEqual(Array(8).fill(500));
    const held = await holders(keyHashes);
    expect(held.size).toBe(500);
    // Every call names every key, so the last one to commit holds all of them.
    expect(new Set(held.values()).size).toBe(1);
    const steps = answers.map((answer) => Number(answer.generation - before));
    // There is at most one generation for each call, and the last one is in an answer.
    expect(Math.max(...steps)).toBeLessThanOrEqual(8);
    expect(await currentGeneration(installation.database)).toBe(before + BigInt(Math.max(...steps)));
  }
  for (const client of clients) client.close();
  // Deadlocks are counted, because a retry hides them and costs the server's deadlock_timeout each time.
  const { rows } = await sql<{ deadlocks: number }>`
    select deadlocks::int from pg_stat_database where datname = current_database()`.execute(installation.database);
  expect(rows).toEqual([{ deadlocks: 0 }]);
}, 900_000);

test("each of many concurrent removals counts exactly the keys it changed, despite concurrent assignments", async () => {
  const keyHashes = await addKeys(installation.database, 200);
  const [a, b] = [await addGuardrail(installation.database), await addGuardrail(installation.database)];
  const admin = bearerMetadata(installation.managementKey);
  for (let round = 0; round < 10; round++) {
    await assignGuardrail(installation.client, a, keyHashes, admin);
    const removals = [0, 50, 100].map((start) =>
      retryUntilWritten(() => unassignGuardrail(installation.client, a, keyHashes.slice(start, start + 100), admin)),
    );
    const moved = retryUntilWritten(() =>
      assignGuardrail(installation.client, b, shuffled(keyHashes.slice(80, 120)), admin),
    );
    const counts = (await Promise.all(removals)).map((answer) => answer.unassignedCount);
    expect((await moved).assignedCount).toBe(40);
    const held = await holders(keyHashes);
    expect([...held.values()].every((id) => id === b)).toBe(true);
    expect(held.size).toBe(40);
    // A key in 80..119 is taken by a removal or by the move, never by both.
    const taken = counts.reduce((sum, count) => sum + count, 0);
    expect(taken).toBeGreaterThanOrEqual(160);
    expect(taken).toBeLessThanOrEqual(200);
    await unassignGuardrail(installation.client, b, keyHashes, admin);
  }
}, 900_000);

describe("the count of an assignment", () => {
  test("includes distinct known keys; unknown hashes, upper-case hashes and revoked keys are left out", async () => {
    const [first, second, revoked] = (await addKeys(installation.database, 3)) as [string, string, string];
    await revokeKey(installation.database, testAuthor(), revoked);
    const id = await addGuardrail(installation.database);
    const list = [first, first, second, revoked, "0".repeat(64), "unknown", second.toUpperCase()];
    const answer = await assignGuardrail(installation.client, id, list, bearerMetadata(installation.managementKey));
    expect(answer.assignedCount).toBe(2);
    expect(await holders([first, second, revoked])).toEqual(
      new Map([
        [first, id],
        [second, id],
      ]),
    );
  });

  test("includes keys that already have the guardrail, without a change of policy", async () => {
    const keyHashes = await addKeys(installation.database, 2);
    const id = await addGuardrail(installation.database);
    const admin = bearerMetadata(installation.managementKey);
    const first = await assignGuardrail(installation.client, id, keyHashes, admin);
    const again = await assignGuardrail(installation.client, id, keyHashes, admin);
    expect(again.assignedCount).toBe(2);
    expect(again.generation).toBe(first.generation);
    const log = await installation.database
      .selectFrom("policy_log")
      .selectAll()
      .orderBy("generation", "desc")
      .execute();
    expect(log[0]).toMatchObject({ generation: String(first.generation) });
    expect(log[0]?.key_hashes?.sort()).toEqual([...keyHashes].sort());
  });

  test("of a removal includes only keys with this guardrail", async () => {
    const [mine, other, none] = (await addKeys(installation.database, 3)) as [string, string, string];
    const [a, b] = [await addGuardrail(installation.database), await addGuardrail(installation.database)];
    const admin = bearerMetadata(installation.managementKey);
    await assignGuardrail(installation.client, a, [mine], admin);
    const { generation } = await assignGuardrail(installation.client, b, [other], admin);
    expect((await unassignGuardrail(installation.client, b, [mine, none], admin)).unassignedCount).toBe(0);
    expect(await currentGeneration(installation.database)).toBe(generation);
    const answer = await unassignGuardrail(installation.client, a, [mine, mine, other, none], admin);
    expect(answer.unassignedCount).toBe(1);
    expect(answer.generation).toBe(generation + 1n);
    expect(await holders([mine, other, none])).toEqual(new Map([[other, b]]));
  });
});

describe("the list of assignments", () => {
  const { listKeyAssignments } = GuardrailService.method;
  const list = (request: { guardrailId?: string; offset?: number; limit?: number }) =>
    callAsAdministrator(installation, listKeyAssignments, request);
  const hashes = ({ assignments }: { assignments: KeyAssignment[] }) => assignments.map(({ keyHash }) => keyHash);

  test("shows each key with its guardrail, the time of the assignment and its author", async () => {
    const id = await addGuardrail(installation.database);
    expect(await list({ guardrailId: id })).toMatchObject({ assignments: [], totalCount: 0n });
    const [first, second] = (await addKeys(installation.database, 2)) as [string, string];
    await assignGuardrail(installation.client, id, [first], bearerMetadata(installation.managementKey));
    await assignGuardrail(installation.client, id, [second], bearerMetadata(installation.managementKey));
    const listed = await list({ guardrailId: id });
    expect([hashes(listed), listed.totalCount]).toEqual([[first, second], 2n]);
    expect(listed.assignments[0]).toMatchObject({
      guardrailId: id,
      keyName: "test",
      keyLabel: "sk-sl-test...test",
      assignedBy: hashKey(installation.managementKey),
    });
    const [before] = listed.assignments;
    expect(Math.abs(timestampMs(before?.createdAt ?? timestampNow()) - Date.now())).toBeLessThan(60_000);
    // Repeating an assignment changes nothing; assigning another guardrail makes a new assignment.
    await assignGuardrail(installation.client, id, [first], bearerMetadata(installation.managementKey));
    expect((await list({ guardrailId: id })).assignments[0]).toEqual(before);
    const other = await addGuardrail(installation.database);
    await assignGuardrail(installation.client, other, [first], bearerMetadata(installation.managementKey));
    expect(hashes(await list({ guardrailId: id }))).toEqual([second]);
    const [after] = (await list({ guardrailId: other })).assignments;
    expect(after).toMatchObject({ guardrailId: other, keyHash: first });
    expect(after?.id).not.toBe(before?.id);
  });

  test("has pages of all guardrails or of one guardrail, and only for the caller's workspace", async () => {
    const workspaceId = await addWorkspace(installation.database);
    const foreignKey = hashKey(await addKey(installation.database, { workspaceId }));
    const foreign = await addGuardrail(installation.database, workspaceId);
    const manager = bearerMetadata(await addKey(installation.database, { workspaceId, kind: KeyKind.MANAGEMENT }));
    const { totalCount: before } = await list({});
    await assignGuardrail(installation.client, foreign, [foreignKey], manager);
    expect((await list({})).totalCount).toBe(before);
    const theirs = await callAsAdministrator(installation, listKeyAssignments, {}, manager);
    expect([hashes(theirs), theirs.totalCount]).toEqual([[foreignKey], 1n]);

    const keyHashes = (await addKeys(installation.database, 120)).toSorted();
    const id = await addGuardrail(installation.database);
    await assignGuardrail(installation.client, id, keyHashes, bearerMetadata(installation.managementKey));
    expect((await list({})).totalCount).toBe(before + 120n);
    // All assignments of one call have the same time, so the hash decides the order.
    expect(hashes(await list({ guardrailId: id }))).toEqual(keyHashes.slice(0, 50));
    expect(hashes(await list({ guardrailId: id, offset: 50, limit: 100 }))).toEqual(keyHashes.slice(50));
    const all: string[] = [];
    for (let offset = 0; offset < Number(before) + 120; offset += 100)
      all.push(...hashes(await list({ offset, limit: 100 })));
    expect(all).toHaveLength(Number(before) + 120);
    expect(new Set(all).size).toBe(all.length);
    for (const missing of [foreign, id.toUpperCase(), "x", ""]) {
      await expect(list({ guardrailId: missing })).rejects.toMatchObject({
        status: 404,
        message: "Guardrail not found",
      });
    }
    await expect(list({ limit: 101 })).rejects.toMatchObject({ message: "limit: must be between 1 and 100" });
  });
});

describe("a guardrail or a key of another workspace", () => {
  test("is not found or not counted, and stays unchanged", async () => {
    const workspaceId = await addWorkspace(installation.database);
    const foreignKey = hashKey(await addKey(installation.database, { workspaceId }));
    const foreignGuardrail = await addGuardrail(installation.database, workspaceId);
    const [own] = (await addKeys(installation.database, 1)) as [string];
    const id = await addGuardrail(installation.database);
    const admin = bearerMetadata(installation.managementKey);
    await expect(assignGuardrail(installation.client, foreignGuardrail, [own], admin)).rejects.toMatchObject({
      reason: FaultReason.NOT_FOUND,
    });
    await expect(unassignGuardrail(installation.client, foreignGuardrail, [foreignKey], admin)).rejects.toMatchObject({
      reason: FaultReason.NOT_FOUND,
    });
    expect((await assignGuardrail(installation.client, id, [own, foreignKey], admin)).assignedCount).toBe(1);
    expect(await holders([own, foreignKey])).toEqual(new Map([[own, id]]));
  });
});

describe("guardrail ids of an assignment", () => {
  test.each(["00000000-0000-4000-8000-0000000000ff", "", "../keys", "not a uuid", "x".repeat(10_000), "a\0b"])(
    "are not found when they are invalid: example %#",
    async (id) => {
      const [keyHash] = await addKeys(installation.database, 1);
      await expect(
        assignGuardrail(installation.client, id, [keyHash as string], bearerMetadata(installation.managementKey)),
      ).rejects.toMatchObject({
        reason: FaultReason.NOT_FOUND,
        status: 404,
        message: "Guardrail not found",
      });
    },
  );

  test("are different when only their case differs", async () => {
    const id = await addGuardrail(installation.database);
    const admin = bearerMetadata(installation.managementKey);
    await expect(assignGuardrail(installation.client, id.toUpperCase(), ["x"], admin)).rejects.toMatchObject({
      status: 404,
    });
    await expect(assignGuardrail(installation.client, id, ["x"], admin)).resolves.toMatchObject({ assignedCount: 0 });
  });
});

describe("the list of key hashes in an assignment", () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `hash-${i}`);
  const accepted: [string, string[]][] = [
    ["1 element", ["x"]],
    ["500 elements", many(500)],
    ["1 KiB", ["x".repeat(1_024)]],
  ];
  const refused: [string, string[], string][] = [
    ["none", [], "key_hashes: at least 1 element"],
    ["501 elements", many(501), "key_hashes: at most 500 elements"],
    ["501 equal elements", Array<string>(501).fill("x"), "key_hashes: at most 500 elements"],
    ["an empty element", ["x", ""], "key_hashes.1: at least 1 character"],
    ["1 KiB and a byte", ["x".repeat(1_025)], "key_hashes.0: at most 1024 characters"],
    ["1 MiB", ["x".repeat(1_048_576)], "key_hashes.0: at most 1024 characters"],
    ["NUL", ["a\0b"], "key_hashes.0: must not contain NUL"],
  ];

  test.each(accepted)("is accepted when it is %s", async (_, keyHashes) => {
    const id = await addGuardrail(installation.database);
    const admin = bearerMetadata(installation.managementKey);
    await expect(assignGuardrail(installation.client, id, keyHashes, admin)).resolves.toMatchObject({
      assignedCount: 0,
    });
    await expect(unassignGuardrail(installation.client, id, keyHashes, admin)).resolves.toMatchObject({
      unassignedCount: 0,
    });
  });

  test.each(refused)("is refused when it is %s", async (_, keyHashes, message) => {
    const id = await addGuardrail(installation.database);
    const fault = { reason: FaultReason.INVALID_REQUEST, status: 400, message };
    const admin = bearerMetadata(installation.managementKey);
    await expect(assignGuardrail(installation.client, id, keyHashes, admin)).rejects.toMatchObject(fault);
    await expect(unassignGuardrail(installation.client, id, keyHashes, admin)).rejects.toMatchObject(fault);
  });
});
