/** The database is unreachable, silent or busy: error answers for callers, and automatic recovery. */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openAdmin } from "@sluice/admin-svc/admin.js";
import { createEndUser } from "@sluice/admin-svc/store/end-users.js";
import { currentGeneration } from "@sluice/admin-svc/store/policy.js";
import { EndUserService, UpdateEndUserRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { call } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
import { findShortest, measureElapsedMs } from "../support/clock.ts";
import { eventually } from "../support/processes.ts";
import { DatabaseLink } from "../support/database-link.ts";
import {
  type AdminInstallation,
  addGuardrail,
  addKey,
  addKeys,
  callAsAdministrator,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
  resolveKey,
  serviceToken,
  timeoutMs,
  unassignGuardrail,
  testAuthor,
} from "./installation.ts";
import { PolicyWatcher } from "./watching.ts";

let installation: AdminInstallation;
let link: DatabaseLink;
let guardrailId: string;
let keyHashes: string[];
beforeAll(async () => {
  installation = await openInstallation(async (url) => {
    link = new DatabaseLink(url);
    return link.open(url);
  });
  guardrailId = await addGuardrail(installation.database);
  keyHashes = await addKeys(installation.database, 5);
  await createEndUser(installation.database, testAuthor(), "alice");
});
afterAll(async () => {
  await installation.close();
  await link.cut();
});

const retryLater = {
  reason: FaultReason.INTERNAL,
  status: 500,
  message: "Internal Server Error",
  retryAfterMs: 1_000,
  shouldRetry: true,
  origin: FaultOrigin.ADMIN,
};

const assignAll = () =>
  assignGuardrail(installation.client, guardrailId, keyHashes, bearerMetadata(installation.managementKey));

const operations: (() => Promise<unknown>)[] = [
  assignAll,
  () => callAsAdministrator(installation, EndUserService.method.listEndUsers, {}),
  () => callAsAdministrator(installation, EndUserService.method.createEndUser, { user: crypto.randomUUID() }),
  () => callAsAdministrator(installation, EndUserService.method.deleteEndUser, { user: "alice" }),
  () => callAsAdministrator(installation, GuardrailService.method.listGuardrails, {}),
  () => callAsAdministrator(installation, GuardrailService.method.listKeyAssignments, {}),
  () => callAsAdministrator(installation, GuardrailService.method.createGuardrail, { name: "x" }),
  () => callAsAdministrator(installation, GuardrailService.method.updateGuardrail, { guardrail: { id: guardrailId } }),
  () => callAsAdministrator(installation, KeyService.method.listKeys, {}),
  () => callAsAdministrator(installation, KeyService.method.createKey, { name: "x" }),
  () => callAsAdministrator(installation, KeyService.method.updateKey, { key: { hash: keyHashes[4] ?? "" } }),
  () => unassignGuardrail(installation.client, guardrailId, keyHashes, bearerMetadata(installation.managementKey)),
  () =>
    call(
      installation.client,
      EndUserService.method.updateEndUser,
      create(UpdateEndUserRequestSchema, { user: "alice", isActive: false }),
      bearerMetadata(installation.managementKey),
      timeoutMs,
    ),
];

/** Waits until the pools have new connections. */
async function recovered(): Promise<void> {
  for (;;) {
    try {
      for (const operation of operations) await operation();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

test("without a database, administration is 500 with a retry hint, ResolveKey is unavailable, and both recover", async () => {
  const keyHash = hashKey(await addKey(installation.database));
  await resolveKey(installation.client, keyHash);
  await link.cut();
  for (const outcome of await Promise.allSettled(operations.map((operation) => operation()))) {
    expect(outcome).toMatchObject({ status: "rejected", reason: retryLater });
  }
  await expect(resolveKey(installation.client, keyHash)).rejects.toMatchObject({
    reason: FaultReason.UNAVAILABLE,
    status: 503,
    retryAfterMs: 1_000,
    shouldRetry: true,
  });
  await link.restore();
  await recovered();
  expect((await resolveKey(installation.client, keyHash)).caller?.keyHash).toBe(keyHash);
});

test("a database lost during writes crashes nothing, and acknowledged writes are stored", async () => {
  const admin = bearerMetadata(installation.managementKey);
  let assigned = new Set<string>();
  for (let round = 0; round < 10; round++) {
    const hashes = await addKeys(installation.database, 20);
    const writes = hashes.map(async (hash) => {
      const { assignedCount } = await assignGuardrail(installation.client, guardrailId, [hash], admin);
      if (assignedCount === 1) assigned = assigned.add(hash);
    });
    await Promise.race(writes);
    await link.cut();
    await Promise.allSettled(writes);
    await link.restore();
    await recovered();
  }
  const rows = await installation.database.selectFrom("guardrail_key_assignments").select("key_hash").execute();
  const stored = new Set(rows.map((row) => row.key_hash));
  expect(assigned.size).toBeGreaterThan(0);
  expect([...assigned].filter((hash) => !stored.has(hash))).toEqual([]);
});

test("a process without its database stops its heartbeats, and catches up on missed changes", async () => {
  const watching = new PolicyWatcher(installation.port);
  await watching.hear((message) => message.all);
  await link.cut();
  // A connected feed sends a message each second; messages in flight may still arrive after the cut.
  await eventually(async () => {
    const before = watching.heard.length;
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    return watching.heard.length === before;
  });
  const keyHash = hashKey(await addKey(installation.database));
  await link.restore();
  const message = await watching.hear(({ keyHashes }) => keyHashes.includes(keyHash));
  expect(message.generation).toBe(await currentGeneration(installation.database));
  watching.leave();
  await recovered();
});

test("a silent database delays the answer no longer than its limit, and the service recovers", async () => {
  const refusedMs = async () => {
    link.freeze();
    const tookMs = await measureElapsedMs(() =>
      expect(resolveKey(installation.client, "x")).rejects.toMatchObject({ reason: FaultReason.UNAVAILABLE }),
    );
    link.thaw();
    await recovered();
    return tookMs;
  };
  expect(await findShortest(5_000, refusedMs, 5)).toBeLessThan(5_000);
});

test("a call waits at most 4 s for a key locked by another transaction", async () => {
  await installation.database.transaction().execute(async (transaction) => {
    // Postgres would end this transaction after five idle seconds, and release its locks.
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction);
    await transaction
      .selectFrom("api_keys")
      .select("hash")
      .where("hash", "=", keyHashes[0] as string)
      .forUpdate()
      .execute();
    const waitedMs = async () => {
      const tookMs = await measureElapsedMs(() => expect(assignAll()).rejects.toMatchObject(retryLater));
      expect(tookMs).toBeGreaterThan(3_800);
      return tookMs;
    };
    expect(await findShortest(4_900, waitedMs, 5)).toBeLessThan(4_900);
  });
  expect((await assignAll()).assignedCount).toBe(5);
});

test("a start waits for a row locked by another transaction", async () => {
  const lifecycle = new Lifecycle(installation.log);
  const { databaseUrl } = installation;
  const open = (warn: () => void) => {
    const registry = new Registry();
    const log = Object.assign(openLog("test", "silent"), { warn });
    const bootstrapKeys = [mintKey(KeyKind.INFERENCE)];
    return openAdmin({ databaseUrl, port: 0, serviceToken, bootstrapKeys, lifecycle, log, registry });
  };
  const { starting } = await installation.database.transaction().execute(async (transaction) => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction);
    await transaction.selectFrom("workspaces").select("id").forUpdate().execute();
    return new Promise<{ readonly starting: ReturnType<typeof openAdmin> }>((resolve, reject) => {
      const starting = open(() => resolve({ starting }));
      starting.catch(reject);
    });
  });
  expect((await starting).port).toBeGreaterThan(0);
  await lifecycle.drain(0);
});
