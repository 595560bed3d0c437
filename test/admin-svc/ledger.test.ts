/** Delivery to the ledger, through real gRPC: every record once, despite repeated deliveries. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { create, toJsonString } from "@bufbuild/protobuf";
import { type Client, type Metadata, connectivityState } from "@grpc/grpc-js";
import {
  AttemptStatus,
  CallKind,
  CallOperation,
  CallPayer,
  LedgerService,
  RecordUsageRequestSchema,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { callOperations, operationWords } from "@sluice/proto/lib/ledger/call-operation.js";
import { CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { foldAll } from "@sluice/admin-svc/store/ledger/fold.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { generationRecords } from "@sluice/admin-svc/store/ledger/usage.js";
import { Budgets } from "@sluice/inference-svc/models/ledger/budget.js";
import { Trace } from "@sluice/inference-svc/turn/trace.js";
import { runCli } from "@sluice/admin-svc/cli.js";
import { sql } from "kysely";
import { eventually } from "../support/processes.ts";
import { startRpcProxy } from "../support/rpc-proxy.ts";
import { DatabaseLink } from "../support/database-link.ts";
import {
  type AdminInstallation,
  addKey,
  bearerMetadata,
  openInstallation,
  retryUntilWritten,
  serviceToken,
  timeoutMs,
} from "./installation.ts";
import { usageRecord } from "./usage.ts";

const log = openLog("test", "silent");

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());

async function record(records: UsageRecord[], metadata: Metadata = serviceMetadata(serviceToken)): Promise<number> {
  const recordsJson = records.map((each) => Buffer.from(toJsonString(UsageRecordSchema, each)));
  const request = create(RecordUsageRequestSchema, { recordsJson });
  const { storedCount } = await call(
    installation.client,
    LedgerService.method.recordUsage,
    request,
    metadata,
    timeoutMs,
  );
  return storedCount;
}

const openBudgets = (client: Client, bootId: string = randomUUID()) =>
  new Budgets({ client, token: serviceToken, log, bootId, instance: "test-1" });

const stored = (turnId: string) =>
  installation.database
    .selectFrom("usage_records")
    .selectAll()
    .where("turn_id", "=", turnId)
    .orderBy("attempt")
    .execute();

test("a ledger record is stored as it was sent", async () => {
  const sent = usageRecord();
  expect(await record([sent])).toBe(1);
  const [{ recorded_at: _, ...row } = { recorded_at: undefined }] = await stored(sent.turnId);
  expect(row).toEqual({
    turn_id: sent.turnId,
    attempt: 1,
    boot_id: sent.bootId,
    sequence: "1",
    instance: "test-1",
    workspace_id: sent.workspaceId,
    key_hash: sent.keyHash,
    generation_id: sent.generationId,
    request_id: "req_1",
    opened_at: new Date(1_790_000_000_123),
    duration_ms: "1500",
    model: "acme/large-2",
    provider: "acme",
    upstream_model: "large-2",
    service_tier: "default",
    status: "completed",
    http_status: 200,
    input_tokens: "12",
    cached_tokens: "4",
    cache_write_tokens: "0",
    output_tokens: "30",
    reasoning_tokens: "10",
    is_estimated: false,
    is_noted: true,
    cost_usd: "0.000123456789",
    streamed: true,
    user: "u-1",
    door: "responses",
    task: null,
    tags: null,
    session_id: "s-1",
    operation: "turn",
    payer: "key",
    kind: "primary",
    first_ms: "400",
    finish_reason: "stop",
    in_turn: true,
  });
});

test("a call paid by the operator is recorded, and not charged to the key", async () => {
  const keyHash = "c".repeat(64);
  const generationId = `gen-${randomUUID()}`;
  const asked = usageRecord({ keyHash, generationId });
  const judged = usageRecord({
    keyHash,
    generationId,
    operation: CallOperation.JUDGE,
    payer: CallPayer.OPERATOR,
  });
  expect(await record([asked, judged])).toBe(2);
  expect(await stored(judged.turnId)).toMatchObject([
    { operation: "judge", payer: "operator", cost_usd: "0.000123456789" },
  ]);
  const days = await installation.database.selectFrom("key_days").selectAll().where("key_hash", "=", keyHash).execute();
  expect(days).toMatchObject([{ cost_usd: "0.000123456789", attempts: "1" }]);
  const { workspaceId } = asked;
  const shown = await generationRecords(installation.database, generationId, { workspaceId });
  expect(shown.map(({ turn_id: turnId }) => turnId)).toEqual([asked.turnId]);
  expect((await ledgerState(installation.database)).wrongSums).toEqual([]);
});

test.each(operationWords)("a call for %s is stored in the ledger, for every payer", async (operation) => {
  const turnId = randomUUID();
  const purpose = { turnId, operation: callOperations[operation] };
  expect(
    await record([
      usageRecord({ ...purpose, payer: CallPayer.KEY }),
      usageRecord({ ...purpose, attempt: 2, payer: CallPayer.OPERATOR }),
    ]),
  ).toBe(2);
  expect(await stored(turnId)).toMatchObject([
    { operation, payer: "key" },
    { operation, payer: "operator" },
  ]);
});

test.each<[CallKind, object]>([
  [CallKind.UNSPECIFIED, { operation: "turn", payer: "key", kind: "primary" }],
  [CallKind.CLASSIFIER, { operation: "classifier", payer: "operator", kind: "classifier" }],
  [CallKind.CHARGED_MODERATION, { operation: "moderation", payer: "key", kind: "charged_moderation" }],
  [CallKind.ANALYST, { operation: "analyst", payer: "key", kind: "analyst" }],
  [CallKind.CHARGED_OCR, { operation: "ocr", payer: "key", kind: "charged_ocr" }],
])("a ledger record of an earlier build, of kind %i, is accepted", async (kind, row) => {
  const sent = usageRecord({ kind });
  await record([sent]);
  expect(await stored(sent.turnId)).toMatchObject([row]);
});

test("unknown values of a ledger record are null", async () => {
  const sent = usageRecord({ status: AttemptStatus.LOST, httpStatus: 502 });
  for (const field of ["tokens", "costUsd", "user", "sessionId", "firstMs", "finishReason"] as const)
    delete sent[field];
  await record([sent]);
  const [row] = await stored(sent.turnId);
  expect(row).toMatchObject({
    status: "lost",
    http_status: 502,
    input_tokens: null,
    reasoning_tokens: null,
    cost_usd: null,
    user: null,
    session_id: null,
    door: "responses",
    task: null,
    first_ms: null,
    finish_reason: null,
  });
});

test("a ledger record names the API endpoint of its request", async () => {
  const sent = usageRecord({ door: "messages" });
  await record([sent]);
  expect(await stored(sent.turnId)).toMatchObject([{ door: "messages" }]);
});

test("a batch of records sent again, in part and with new ones, leaves stored records unchanged", async () => {
  const bootId = randomUUID();
  const batch = Array.from({ length: 500 }, (_, n) => usageRecord({ bootId, sequence: BigInt(n + 1) }));
  const [first = usageRecord()] = batch;
  expect(await record(batch)).toBe(500);
  expect(await record(batch)).toBe(0);
  const retold = { ...first, status: AttemptStatus.LOST };
  const more = usageRecord({ turnId: first.turnId, attempt: 2, bootId, sequence: 501n });
  expect(await record([retold, more])).toBe(1);
  expect((await stored(first.turnId)).map(({ attempt, status }) => [attempt, status])).toEqual([
    [1, "completed"],
    [2, "completed"],
  ]);
});

test("a batch of records sent by eight clients at once is stored once", async () => {
  const bootId = randomUUID();
  const batch = Array.from({ length: 100 }, (_, n) => usageRecord({ bootId, sequence: BigInt(n + 1) }));
  const counts = await Promise.all(Array.from({ length: 8 }, () => retryUntilWritten(() => record(batch))));
  expect(counts.reduce((sum, count) => sum + count)).toBe(100);
});

describe("a request to store or list ledger records", () => {
  const refusal = async (records: UsageRecord[], metadata?: Metadata): Promise<readonly [number, string]> => {
    const fault = await record(records, metadata).then(
      () => undefined,
      (error: unknown) => error as Fault,
    );
    return [fault?.status ?? 200, fault?.message ?? ""];
  };

  test("is refused without the service token", async () => {
    expect(await refusal([usageRecord()], bearerMetadata(installation.managementKey))).toEqual([
      401,
      expect.any(String),
    ]);
  });

  test.each<[string, UsageRecord[], string]>([
    ["nothing", [], "records_json: at least 1 record"],
    ["501 records", Array.from({ length: 501 }, () => usageRecord()), "records_json: at most 500 records"],
    ["a turn without a UUID", [usageRecord(), usageRecord({ turnId: "x" })], "records_json.1.turnId: must be a UUID"],
    ["attempt 0", [usageRecord({ attempt: 0 })], "records_json.0.attempt: must be between 1 and 32767"],
    [
      "a cost that is none",
      [usageRecord({ costUsd: "1e-3" })],
      "records_json.0.costUsd: must be a decimal of at most 12 places",
    ],
    ["NUL", [usageRecord({ user: "a\0" })], "records_json.0.user: at most 1024 characters, no NUL"],
  ])("is refused for a list with %s", async (_, records, message) => {
    expect(await refusal(records)).toEqual([400, message]);
    for (const { turnId } of records.slice(0, 1)) if (turnId.length === 36) expect(await stored(turnId)).toEqual([]);
  });
});

describe("the ledger check of the command line", () => {
  async function check(...options: string[]): Promise<readonly [code: number, output: string]> {
    let output = "";
    const write = (text: string) => (output += text);
    const code = await runCli(["ledger", "check", ...options], {
      databaseUrl: installation.databaseUrl,
      stdout: { write },
      stderr: { write },
    });
    return [code, output];
  }

  test("reports a complete ledger", async () => {
    for (const table of [
      "usage_records",
      "turns",
      "usage_changes",
      "usage_sums",
      "key_days",
      "workspace_days",
    ] as const)
      await installation.database.deleteFrom(table).execute();
    const bootId = randomUUID();
    await record([usageRecord({ bootId }), usageRecord({ bootId, sequence: 2n, status: AttemptStatus.LOST })]);
    expect(await check()).toEqual([
      0,
      "2 records, 1 of them lost calls, 0 estimated; 2 turns; 0 reservations, 0 charges without a record\n",
    ]);
  });

  test("names missing records and wrong sums", async () => {
    const gap = usageRecord({ sequence: 3n });
    await record([gap]);
    await installation.database.transaction().execute(foldAll);
    await installation.database.updateTable("key_days").set({ cost_usd: "7" }).execute();
    await installation.database.updateTable("workspace_days").set({ attempts: 8n }).execute();
    await installation.database
      .updateTable("turns")
      .set({ attempts: 2 })
      .where("generation_id", "=", gap.generationId)
      .execute();
    await sql`update usage_sums set requests = 4 where step = 'day' and dimension = 'door'`.execute(
      installation.database,
    );
    await sql`update usage_sums set durations = 0 where step = 'day' and dimension = 'task'`.execute(
      installation.database,
    );
    const [code, output] = await check("--json");
    const [line = ""] = output.split("\n");
    expect(code).toBe(1);
    expect(JSON.parse(line)).toMatchObject({
      records: 3,
      gaps: [{ boot_id: gap.bootId, instance: "test-1", missing: 2 }],
      wrong_sums: [
        { key_hash: gap.keyHash, summed_usd: "7.000000000000" },
        { workspace_id: defaultWorkspaceId, recorded_usd: "0.000370370367" },
        { generation_id: gap.generationId, recorded_usd: "0.000123456789" },
        { dimension: "door responses", day: "2026-09-21T00" },
        { dimension: "task ", day: "2026-09-21T00" },
      ],
    });
    expect(output).toContain("the ledger is inconsistent: 6 places");
    expect((await check())[1]).toContain(`${gap.bootId}  test-1   2        `);
  });
});

test("no amount is reserved for a call whose caller no longer waits", async () => {
  const hash = hashKey(await addKey(installation.database));
  await installation.database.updateTable("api_keys").set({ limit_usd: "1" }).where("hash", "=", hash).execute();
  const reserve = (limitMs: number) => {
    const request = {
      turnId: randomUUID(),
      attempt: 1,
      keyHash: hash,
      workspaceId: defaultWorkspaceId,
      amountUsd: "0.6",
    };
    const method = LedgerService.method.reserveBudget;
    return call(installation.client, method, create(method.input, request), serviceMetadata(serviceToken), limitMs);
  };
  await installation.database.transaction().execute(async (holder) => {
    // Holds the lock of the workspace, like an overloaded database.
    await sql`select pg_advisory_xact_lock(hashtextextended(${defaultWorkspaceId}::text, 0))`.execute(holder);
    await expect(reserve(300)).rejects.toMatchObject({ reason: FaultReason.DEADLINE_EXCEEDED });
  });
  await eventually(async () => (await reserve(timeoutMs)).admitted);
});

test("no amount stays reserved for a call whose admission never reached the caller", async () => {
  const keyHash = hashKey(await addKey(installation.database));
  await installation.database.updateTable("api_keys").set({ limit_usd: "1" }).where("hash", "=", keyHash).execute();
  const caller = create(CallerSchema, { keyHash, workspaceId: defaultWorkspaceId });
  const proxy = await startRpcProxy(installation.port);
  const client = dial(`127.0.0.1:${proxy.port}`);
  const budgets = openBudgets(client);
  const reserve = () => budgets.reserve({ turnId: randomUUID(), caller, trace: new Trace(1n) }, 600_000_000_000n);
  const answer = proxy.hold("ReserveBudget");
  const held = proxy.held();
  const refused = expect(reserve()).rejects.toMatchObject({ reason: FaultReason.UNAVAILABLE });
  await held;
  await refused;
  answer();
  await eventually(() =>
    reserve().then(
      () => true,
      () => false,
    ),
  );
  client.close();
  await proxy.stop();
});

test("no amount stays reserved once a process that crashed before answering has restarted", async () => {
  const keyHash = hashKey(await addKey(installation.database));
  await installation.database.updateTable("api_keys").set({ limit_usd: "1" }).where("hash", "=", keyHash).execute();
  const caller = create(CallerSchema, { keyHash, workspaceId: defaultWorkspaceId });
  const proxy = await startRpcProxy(installation.port);
  const address = `http://127.0.0.1:${proxy.port}`;
  const link = new DatabaseLink(address);
  const client = dial(new URL(await link.open(address)).host);
  const budgets = openBudgets(client);
  const reserve = () => budgets.reserve({ turnId: randomUUID(), caller, trace: new Trace(1n) }, 600_000_000_000n);
  const answer = proxy.hold("ReserveBudget");
  const held = proxy.held();
  const refused = expect(reserve()).rejects.toMatchObject({ reason: FaultReason.UNAVAILABLE });
  await held;
  await link.cut();
  await refused;
  await eventually(() => client.getChannel().getConnectivityState(false) === connectivityState.TRANSIENT_FAILURE);
  answer();
  await link.restore();
  await eventually(() =>
    reserve().then(
      () => true,
      () => false,
    ),
  );
  client.close();
  await proxy.stop();
  await link.cut();
});

test("3,000 concurrent calls on a budget with room for one call: all others are refused after few queries", async () => {
  const keyHash = hashKey(await addKey(installation.database));
  await installation.database.updateTable("api_keys").set({ limit_usd: "1" }).where("hash", "=", keyHash).execute();
  const caller = create(CallerSchema, { keyHash, workspaceId: defaultWorkspaceId });
  const client = dial(`127.0.0.1:${installation.port}`);
  let questions = 0;
  const sendRequest = client.makeUnaryRequest.bind(client) as (...args: unknown[]) => unknown;
  Object.assign(client, { makeUnaryRequest: (...args: unknown[]) => (questions++, sendRequest(...args)) });
  const budgets = openBudgets(client);
  const reserve = () => budgets.reserve({ turnId: randomUUID(), caller, trace: new Trace(1n) }, 600_000_000_000n);
  /** An overloaded machine refuses late decisions with a retryable error. */
  const decided = async (): Promise<FaultReason | undefined> => {
    for (;;) {
      const fault = await reserve().then(
        () => undefined,
        (error: unknown) => error as Fault,
      );
      if (fault?.reason !== FaultReason.UNAVAILABLE) return fault?.reason;
    }
  };
  const reasons = await Promise.all(Array.from({ length: 3_000 }, decided));
  expect(reasons.filter((reason) => reason === undefined).length).toBe(1);
  expect(reasons.filter((reason) => reason === FaultReason.BUDGET_HELD).length).toBe(2_999);
  // A fast machine needs two rounds of 64 calls; on a slow one each late round is repeated, and its calls are released once more.
  expect(questions).toBeLessThan(1_500);
  client.close();
});

test("the reservation of a call grows with its known cost until its record is stored", async () => {
  const keyHash = hashKey(await addKey(installation.database));
  await installation.database.updateTable("api_keys").set({ limit_usd: "1" }).where("hash", "=", keyHash).execute();
  const caller = create(CallerSchema, { keyHash, workspaceId: defaultWorkspaceId });
  const budgets = openBudgets(installation.client);
  const reserve = (turnId: string, dollars: number) =>
    budgets.reserve({ turnId, caller, trace: new Trace(1n) }, BigInt(dollars * 1e12));
  const turnId = randomUUID();
  const hold = await reserve(turnId, 0.1);
  await hold.raise(BigInt(1.5e12));
  const refused = { reason: FaultReason.BUDGET_HELD, metadata: { remaining: 0 } };
  await expect(reserve(randomUUID(), 0.1)).rejects.toMatchObject(refused);
  // Raising a hold below its present amount has no effect.
  await hold.raise(1n);
  await expect(reserve(randomUUID(), 0.1)).rejects.toMatchObject(refused);
  await record([usageRecord({ turnId, keyHash, costUsd: "0.2" })]);
  // Raising the hold is too late once the record has stated the cost.
  await hold.raise(BigInt(1.5e12));
  await reserve(randomUUID(), 0.8);
});

describe("a budget hold that is not renewed", () => {
  const reserveOn = (keyHash: string, bootId: string) => {
    const caller = create(CallerSchema, { keyHash, workspaceId: defaultWorkspaceId });
    const budgets = openBudgets(installation.client, bootId);
    return (turnId: string, dollars: number) =>
      budgets.reserve({ turnId, caller, trace: new Trace(1n) }, BigInt(dollars * 1e12));
  };
  const keyWithADollar = async (): Promise<string> => {
    const keyHash = hashKey(await addKey(installation.database));
    await installation.database.updateTable("api_keys").set({ limit_usd: "1" }).where("hash", "=", keyHash).execute();
    return keyHash;
  };
  /** Moves the holds of the key and the renewals of the process into the past by this time. */
  const later = async (keyHash: string, bootId: string, minutes: number) => {
    await sql`update budget_reservations set expires_at = expires_at - make_interval(mins => ${minutes})
      where key_hash = ${keyHash}`.execute(installation.database);
    await sql`update budget_processes set renewed_at = renewed_at - make_interval(mins => ${minutes})
      where boot_id = ${bootId}`.execute(installation.database);
  };
  const renewed = (bootId: string) =>
    eventually(async () => {
      const rows = await installation.database
        .selectFrom("budget_processes")
        .selectAll()
        .where("boot_id", "=", bootId)
        .execute();
      return rows.length === 1;
    });
  const endHolds = (bootId: string) =>
    call(
      installation.client,
      LedgerService.method.endHolds,
      create(LedgerService.method.endHolds.input, { bootId }),
      serviceMetadata(serviceToken),
      timeoutMs,
    );
  const spent = { reason: FaultReason.PAYMENT_REQUIRED };

  test("becomes a charge, later replaced by the record", async () => {
    const [keyHash, bootId, turnId] = [await keyWithADollar(), randomUUID(), randomUUID()];
    const reserve = reserveOn(keyHash, bootId);
    await reserve(turnId, 0.7);
    await renewed(bootId);
    await expect(reserve(randomUUID(), 0.5)).rejects.toMatchObject({ reason: FaultReason.BUDGET_HELD });
    await later(keyHash, bootId, 11);
    await expect(reserve(randomUUID(), 0.5)).rejects.toMatchObject(spent);
    await record([usageRecord({ turnId, keyHash, costUsd: "0.2" })]);
    await record([usageRecord({ turnId, keyHash, costUsd: "0.2" })]);
    await reserve(randomUUID(), 0.8);
  });

  test("stays while its process sends heartbeats, whichever records the process delivers", async () => {
    const [keyHash, bootId] = [await keyWithADollar(), randomUUID()];
    const reserve = reserveOn(keyHash, bootId);
    await reserve(randomUUID(), 0.7);
    await renewed(bootId);
    await later(keyHash, bootId, 11);
    const request = create(LedgerService.method.renewHolds.input, { bootId, instance: "test-1" });
    await call(installation.client, LedgerService.method.renewHolds, request, serviceMetadata(serviceToken), timeoutMs);
    await expect(reserve(randomUUID(), 0.5)).rejects.toMatchObject({ reason: FaultReason.BUDGET_HELD });
  });

  test("is released when its process has ended and delivered all records; known spending stays charged", async () => {
    const [keyHash, bootId] = [await keyWithADollar(), randomUUID()];
    const reserve = reserveOn(keyHash, bootId);
    await (await reserve(randomUUID(), 0.8)).settle(BigInt(0.3e12));
    await reserve(randomUUID(), 0.6);
    await later(keyHash, bootId, 11);
    await expect(reserve(randomUUID(), 0.5)).rejects.toMatchObject(spent);
    await endHolds(bootId);
    await expect(reserve(randomUUID(), 0.8)).rejects.toMatchObject({ ...spent, metadata: { remaining: 0.7 } });
    await reserve(randomUUID(), 0.7);
  });

  test("is not charged to the present period when it is of an earlier one", async () => {
    const [keyHash, bootId] = [await keyWithADollar(), randomUUID()];
    await installation.database
      .updateTable("api_keys")
      .set({ limit_reset: "daily" })
      .where("hash", "=", keyHash)
      .execute();
    const reserve = reserveOn(keyHash, bootId);
    await reserve(randomUUID(), 0.9);
    await renewed(bootId);
    await later(keyHash, bootId, 11);
    await expect(reserve(randomUUID(), 0.5)).rejects.toMatchObject(spent);
    await sql`update budget_reservations set reserved_at = now() - interval '1 day' where key_hash = ${keyHash}`.execute(
      installation.database,
    );
    await reserve(randomUUID(), 0.5);
  });

  test("is listed for operators, and its release is written to the audit log", async () => {
    const [keyHash, bootId, turnId] = [await keyWithADollar(), randomUUID(), randomUUID()];
    const reserve = reserveOn(keyHash, bootId);
    await reserve(turnId, 0.7);
    await renewed(bootId);
    const run = async (...args: string[]) => {
      let printed = "";
      const write = (text: string) => void (printed += text);
      const code = await runCli(["ledger", ...args], {
        databaseUrl: installation.databaseUrl,
        stdout: { write },
        stderr: { write },
      });
      return { code, printed: printed.trim() };
    };
    const state = async () => {
      const holds = JSON.parse((await run("holds", "--json")).printed) as { turn_id: string; state: string }[];
      return holds.find(({ turn_id }) => turn_id === turnId)?.state;
    };
    expect(await state()).toBe("held");
    expect(await run("release", turnId, "1")).toMatchObject({ code: 1 });
    await later(keyHash, bootId, 11);
    expect(await state()).toBe("provisional");
    expect(await run("release", turnId, "1")).toEqual({
      code: 0,
      printed: `0.700000000000 USD released for key ${keyHash}`,
    });
    expect(await state()).toBe(undefined);
    const entry = await installation.database
      .selectFrom("audit_log")
      .selectAll()
      .where("action", "=", "ledger.release")
      .where("target", "=", keyHash)
      .executeTakeFirstOrThrow();
    expect(entry).toMatchObject({ actor: "cli", before: { turn_id: turnId, amount_usd: "0.700000000000" } });
    await reserve(randomUUID(), 0.9);
  });
});
