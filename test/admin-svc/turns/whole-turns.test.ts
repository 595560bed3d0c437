/** Turns that arrive whole are rows of the ledger, and show the same as turns whose parts arrive separately. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { eraseEndUser } from "@sluice/admin-svc/store/erasure.js";
import { tryFold } from "@sluice/admin-svc/store/ledger/fold.js";
import { listTurns } from "@sluice/admin-svc/store/ledger/generations.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { removeExpiredRecords } from "@sluice/admin-svc/store/ledger/retention.js";
import { toTurnRow } from "@sluice/admin-svc/store/ledger/turn-messages.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import {
  AttemptStatus,
  CallOperation,
  CallPayer,
  TurnOutcome,
  type TurnRecord,
  type UsageRecord,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { sql } from "kysely";
import fc from "../../support/properties.ts";
import { eventually } from "../../support/processes.ts";
import { fillLedger } from "../../support/ledger/many-turns.ts";
import { type AdminInstallation, openInstallation, testAuthor } from "../installation.ts";
import { type Delivery, Process, deliver, startMs } from "./deliveries.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

const intact = { gaps: [], wrongSums: [] };
const stateOf = async () => {
  const { gaps, wrongSums } = await ledgerState(installation.database);
  return { gaps, wrongSums };
};
const inLedger = async (generationId: string): Promise<number> =>
  (
    await installation.database
      .selectFrom("ledger")
      .select("generation_id")
      .where("generation_id", "=", generationId)
      .where("is_moved", "=", false)
      .execute()
  ).length;

/** Rows of the turn and its calls, without what differs between two deliveries of the same turn. */
async function shownOf(generationId: string) {
  const own = (row: object) => {
    const ignored = [
      "generation_id",
      "turn_id",
      "boot_id",
      "sequence",
      "recorded_at",
      "log_sequence",
      "written",
      "ends_turn",
      "near",
      "is_single",
      "kind",
    ];
    return Object.fromEntries(Object.entries(row).filter(([column]) => !ignored.includes(column)));
  };
  const turns = await installation.database
    .selectFrom("all_turns")
    .selectAll()
    .where("generation_id", "=", generationId)
    .execute();
  const calls = await installation.database
    .selectFrom("all_calls")
    .selectAll()
    .where("generation_id", "=", generationId)
    .orderBy("attempt")
    .execute();
  return { turns: turns.map(own), calls: calls.map(own) };
}

/** Deletes undefined fields, because a message treats them as given. */
function withoutAbsent<Message extends object>(message: Message): Message {
  for (const [name, value] of Object.entries(message)) if (value === undefined) delete message[name as keyof Message];
  return message;
}

const text = fc.constantFrom(undefined, "a", "ü".repeat(200));
const count = fc.constantFrom(0, 1, 700, 2 ** 31 - 1);
const someCall = fc.record({
  operation: fc.constantFrom(CallOperation.TURN, CallOperation.JUDGE, CallOperation.PANEL),
  payer: fc.constantFrom(CallPayer.KEY, CallPayer.KEY, CallPayer.OPERATOR),
  status: fc.constantFrom(AttemptStatus.COMPLETED, AttemptStatus.FAILED, AttemptStatus.CANCELLED, AttemptStatus.LOST),
  httpStatus: fc.constantFrom(200, 502, 0),
  costUsd: fc.constantFrom(undefined, "0", "0.000000000001", "1234.5", "10000000.000000000001"),
  hasTokens: fc.boolean(),
  tokens: count,
  afterMs: fc.constantFrom(-1, 0, 5, 90_000_000),
  durationMs: fc.constantFrom(0, 1_500, 2 ** 32 - 1),
  firstMs: fc.constantFrom(undefined, 0, 20),
  model: fc.constantFrom("acme/large-2", "m".repeat(600)),
  serviceTier: fc.constantFrom("", "flex"),
  finishReason: text,
  task: fc.constantFrom(undefined, "code"),
  isEstimated: fc.boolean(),
  isStreamed: fc.boolean(),
  hasUser: fc.boolean(),
});
const someTurn = fc.record({
  calls: fc.array(someCall, { maxLength: 3 }),
  outcome: fc.constantFrom(TurnOutcome.COMPLETED, TurnOutcome.FAILED, TurnOutcome.REFUSED),
  model: fc.constantFrom("", "acme/large-2", "unknown"),
  user: text,
  sessionId: text,
  errorType: fc.constantFrom("", "provider_unavailable"),
  providerCode: fc.constantFrom("", "model_not_found"),
  guardrailId: fc.constantFrom("", "g-1"),
  rule: fc.constantFrom("", "SSN"),
  traceId: fc.constantFrom("", "4bf92f3577b34da6a3ce929d0e0e4736"),
  count: fc.constantFrom(0, 7),
  firstMs: fc.constantFrom(undefined, 12),
});

test("a turn shows the same whether it arrives whole or in parts", async () => {
  let rows = 0;
  const property = fc.asyncProperty(someTurn, async ({ calls, ...turn }) => {
    const keyHash = randomUUID().replaceAll("-", "").repeat(2);
    const record = (process: Process, generationId: string) => {
      const common = { generationId, keyHash };
      return {
        calls: calls.map(({ hasTokens, tokens, afterMs, isStreamed, hasUser, ...call }, index) => {
          const fields: Partial<Omit<UsageRecord, "$typeName">> = {
            ...call,
            turnId: randomUUID(),
            attempt: index + 1,
            openedAtMs: BigInt(startMs + afterMs),
            streamed: isStreamed,
            requestId: "req_1",
          };
          const record = process.call({ ...fields, generationId, keyHash });
          if (!hasTokens) delete record.tokens;
          else if (record.tokens) record.tokens.input = tokens;
          Object.assign(
            record,
            hasUser ? { user: turn.user, sessionId: turn.sessionId } : { user: undefined, sessionId: undefined },
          );
          return withoutAbsent(record);
        }),
        turn: withoutAbsent(process.turn({ ...(turn as Partial<TurnRecord>), ...common, openedAtMs: BigInt(startMs) })),
      };
    };
    const [wholeId, partsId] = [`gen-${randomUUID()}`, `gen-${randomUUID()}`];
    const whole = record(new Process(), wholeId);
    await deliver(installation, { calls: whole.calls, turns: [whole.turn] });
    const parts = record(new Process(), partsId);
    for (const call of parts.calls) await deliver(installation, { calls: [call], turns: [] });
    await deliver(installation, { calls: [], turns: [parts.turn] });
    rows += await inLedger(wholeId);
    expect(await shownOf(wholeId)).toEqual(await shownOf(partsId));
  });
  await fc.assert(property, { numRuns: 60 });
  expect(rows).toBeGreaterThan(20);
  expect(await stateOf()).toEqual(intact);
  while ((await tryFold(installation.database)) === "some");
  expect(await stateOf()).toEqual(intact);
});

describe("another part of a turn stored whole", () => {
  const turnOf = (process: Process, fields: object = {}) => {
    const generationId = `gen-${randomUUID()}`;
    const common = {
      generationId,
      keyHash: randomUUID().replaceAll("-", "").repeat(2),
      openedAtMs: BigInt(startMs),
      ...fields,
    };
    return {
      generationId,
      common,
      delivery: { calls: [process.call({ ...common, turnId: randomUUID() })], turns: [process.turn(common)] },
    };
  };
  const listed = (keyHash: string) => listTurns(installation.database, { workspaceId: defaultWorkspaceId, keyHash }, 9);
  const fold = async (): Promise<void> => {
    while ((await tryFold(installation.database)) === "some");
  };

  test.each([false, true])("joins the turn, and the sums stay right (turn already summed: %j)", async (isFolded) => {
    const process = new Process();
    const { generationId, common, delivery } = turnOf(process);
    await deliver(installation, delivery);
    expect(await inLedger(generationId)).toBe(1);
    if (isFolded) await fold();
    await deliver(installation, {
      calls: [process.call({ ...common, turnId: randomUUID(), attempt: 2, costUsd: "0.5" })],
      turns: [],
    });
    expect(await inLedger(generationId)).toBe(0);
    expect(await stateOf()).toEqual(intact);
    await fold();
    expect(await stateOf()).toEqual(intact);
    expect(await listed(common.keyHash)).toMatchObject([
      { attempts: 2, cost_usd: "0.500123456789", outcome: "completed" },
    ]);
    const spent = await sql`select cost_usd from key_totals where key_hash = ${common.keyHash}`.execute(
      installation.database,
    );
    expect(spent.rows).toEqual([{ cost_usd: "0.500123456789" }]);
  });

  test("changes nothing when it is a repetition, in batches of any size", async () => {
    const process = new Process();
    const { generationId, common, delivery } = turnOf(process);
    const next = turnOf(process);
    const again: readonly Delivery[] = [
      delivery,
      { calls: delivery.calls, turns: [] },
      { calls: [], turns: delivery.turns },
      { calls: [...delivery.calls, ...next.delivery.calls], turns: [...delivery.turns, ...next.delivery.turns] },
    ];
    await deliver(installation, delivery);
    for (const each of again) await Promise.all([deliver(installation, each), deliver(installation, each)]);
    expect([await inLedger(generationId), await inLedger(next.generationId)]).toEqual([1, 1]);
    expect(await listed(common.keyHash)).toMatchObject([{ attempts: 1, cost_usd: "0.000123456789" }]);
    expect(await stateOf()).toEqual(intact);
  });

  const midnight = new Date().setUTCHours(0, 0, 0, 0);
  test.each([
    ["the same day", startMs, startMs],
    ["two days", midnight - 1, midnight],
  ])("arrives from a second process at the same moment on %s, and the completed outcome stays", async (_, ...times) => {
    const [firstAt, secondAt] = times.map(BigInt);
    for (let round = 0; round < 5; round++) {
      const [first, second] = [new Process(), new Process()];
      const { generationId, common, delivery } = turnOf(first, { openedAtMs: firstAt });
      const late = { ...common, openedAtMs: secondAt as bigint };
      const other = {
        calls: [second.call({ ...late, turnId: randomUUID() })],
        turns: [second.turn({ ...late, outcome: TurnOutcome.CANCELLED, httpStatus: 499 })],
      };
      await Promise.all([deliver(installation, delivery), deliver(installation, other)]);
      // The worker of sums finds turns with rows in two partitions.
      await eventually(async () => (await listed(common.keyHash)).length === 1);
      expect(await listed(common.keyHash)).toMatchObject([{ attempts: 2, outcome: "completed", http_status: 200 }]);
      expect((await shownOf(generationId)).calls).toHaveLength(2);
    }
    expect(await stateOf()).toEqual(intact);
  });

  test("is not stored again by an admin-svc of an earlier build", async () => {
    const { generationId, delivery } = turnOf(new Process());
    await deliver(installation, delivery);
    // A delivery by an earlier build does not name the setting that a batch sets here.
    const [call] = delivery.calls;
    const rows = JSON.stringify([toRow(call as UsageRecord)]);
    await sql`
      insert into usage_records (turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at, duration_ms, model,
        provider, upstream_model, service_tier, status, http_status, is_estimated, cost_usd, streamed, door, operation, payer, in_turn)
      select turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at, duration_ms, model,
        provider, upstream_model, service_tier, status, http_status, is_estimated, cost_usd, streamed, door, operation, payer, true
      from json_populate_recordset(null::usage_records, ${rows}::json)`.execute(installation.database);
    expect((await shownOf(generationId)).calls).toHaveLength(1);
    expect(await stateOf()).toEqual(intact);
  });

  test("is stored with its batch, or not at all", async () => {
    const { generationId, delivery } = turnOf(new Process());
    const store = insertUsage(
      installation.database,
      delivery.calls.map(toRow),
      delivery.turns.map(toTurnRow),
      async (_, __, stored) => {
        await stored();
        throw new Error("not committed");
      },
    );
    await expect(store).rejects.toThrow("not committed");
    expect(await inLedger(generationId)).toBe(0);
    expect(await stateOf()).toEqual(intact);
  });
});

test("an erased end user disappears from the ledger, and the sums stay right", async () => {
  const process = new Process();
  const user = "mallory@example.com";
  const ids = [1, 2, 3].map(() => `gen-${randomUUID()}`);
  for (const [index, generationId] of ids.entries()) {
    const common = {
      generationId,
      user,
      sessionId: "s-mallory",
      tags: "customer=mallory",
      openedAtMs: BigInt(startMs),
    };
    const calls = Array.from({ length: index }, (_, n) =>
      process.call({ ...common, turnId: randomUUID(), attempt: n + 1 }),
    );
    await deliver(installation, { calls, turns: [process.turn(common)] });
    if (index === 1) while ((await tryFold(installation.database)) === "some");
  }
  const { records } = await eraseEndUser(installation.database, testAuthor(), user, () => {});
  expect(records).toBe(3);
  const { rows } = await sql<{ text: string }>`select ledger::text as text from ledger`.execute(installation.database);
  expect(rows.map((row) => row.text).join("\n")).not.toContain("mallory");
  expect(await stateOf()).toEqual(intact);
});

test("retention removes whole days of the ledger, and leaves other days intact", async () => {
  const other = await openInstallation();
  try {
    await fillLedger(other.database, { turns: 400, days: 40, keys: 3, users: 5 });
    const days = async () =>
      (
        await sql<{ day: string }>`select day::text as day from ledger_days order by 1`.execute(other.database)
      ).rows.map(({ day }) => day);
    const kept = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10);
    expect((await days())[0]).not.toBe(kept);
    const author = { keyHash: null, program: "cli", requestId: null } as const;
    let turns = 0;
    for await (const removed of removeExpiredRecords(other.database, author, { ledgerDays: 30 }))
      if (removed.from === "turns") turns = removed.count;
    expect((await days())[0]).toBe(kept);
    const left = await other.database.selectFrom("all_turns").select("generation_id").execute();
    expect([turns > 80, left.length]).toEqual([true, 400 - turns]);
    expect((await ledgerState(other.database)).gaps).toEqual([]);
    // The removed turns had been added to all sums before.
    const { rows: sums } = await sql<{ text: string }>`
      select concat_ws(' ', sum(requests) filter (where dimension = 'all'), sum(requests) filter (where dimension = 'user' and at < ${kept}::date)) as text
      from usage_sums where step = 'day'`.execute(other.database);
    expect(sums).toEqual([{ text: `400 ${turns}` }]);
    expect((await other.database.selectFrom("removed_records").selectAll().execute())[0]?.records).toBe(String(turns));
  } finally {
    await other.close();
  }
});

test("a batch repeated after retention has removed its day adds no calls, not even those after midnight", async () => {
  const other = await openInstallation();
  try {
    const process = new Process();
    const turn = process.turn({});
    const { generationId } = turn;
    const late = BigInt(startMs + 3 * 3_600_000);
    const calls = [
      process.call({ generationId, attempt: 1 }),
      process.call({ generationId, attempt: 2, openedAtMs: late }),
    ];
    await deliver(other, { calls, turns: [turn] });
    const author = { keyHash: null, program: "cli", requestId: null } as const;
    // Retention removes all days before today.
    for await (const _ of removeExpiredRecords(other.database, author, { ledgerDays: 0 }));
    const sums = () => sql`select * from key_days order by 1, 2`.execute(other.database);
    const before = (await sums()).rows;
    expect(before).not.toEqual([]);
    await deliver(other, { calls, turns: [turn] });
    expect((await other.database.selectFrom("all_calls").select("turn_id").execute()).length).toBe(0);
    expect((await sums()).rows).toEqual(before);
    const next = process.turn({});
    await deliver(other, {
      calls: [process.call({ generationId: next.generationId })],
      turns: [turn, next],
    });
    expect((await other.database.selectFrom("all_calls").select("turn_id").execute()).length).toBe(1);
  } finally {
    await other.close();
  }
});
