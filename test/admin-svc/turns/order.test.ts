/** Rows of turns and sums by hour and day: the same for any order of records, repeated deliveries, and any number of concurrent processes. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { listTurns } from "@sluice/admin-svc/store/ledger/generations.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { addCallsWithoutTurns } from "@sluice/admin-svc/store/ledger/usage.js";
import { usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import {
  AttemptStatus,
  CallOperation,
  CallPayer,
  TurnOutcome,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { toDecimal, parsePico } from "@sluice/proto/lib/ledger/money.js";
import fc from "../../support/properties.ts";
import { sql } from "kysely";
import { type AdminInstallation, openInstallation } from "../installation.ts";
import { usageRecord } from "../usage.ts";
import { type Delivery, Process, deliver, earlierStartMs, startMs, turnRecord } from "./deliveries.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());

const hourMs = 3_600_000;
const stateOf = async () => {
  const { gaps, wrongSums } = await ledgerState(installation.database);
  return { gaps, wrongSums };
};

const someTurn = fc.record({
  costs: fc.array(fc.bigInt({ min: 0n, max: 10n ** 15n }), { maxLength: 3 }),
  key: fc.constantFrom("a", "b"),
  user: fc.constantFrom(undefined, "u-1", "u-2"),
  hour: fc.integer({ min: 0, max: 3 }),
  /** Whether the turn began on a day whose turns the ledger stores whole. */
  isRecent: fc.boolean(),
  outcome: fc.constantFrom(TurnOutcome.COMPLETED, TurnOutcome.FAILED, TurnOutcome.CANCELLED),
  guardrailId: fc.constantFrom("", "g-1"),
  isRecorded: fc.boolean(),
  /** Whether the record of the turn comes before its calls. */
  isEarly: fc.boolean(),
});

test("records of calls and turns are accepted in any order, repeated, and in parts", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(someTurn, { minLength: 1, maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 }),
      async (turns, portions) => {
        const keys = { a: randomUUID().replaceAll("-", "").repeat(2), b: randomUUID().replaceAll("-", "").repeat(2) };
        const process = new Process();
        const lines = turns.flatMap((turn): Delivery[] => {
          const generationId = `gen-${randomUUID()}`;
          const common = { generationId, keyHash: keys[turn.key], ...(turn.user && { user: turn.user }) };
          const openedAtMs = BigInt((turn.isRecent ? startMs : earlierStartMs) + turn.hour * hourMs);
          const turnId = randomUUID();
          const calls = turn.costs.map((cost, index) => ({
            calls: [
              process.call({
                ...common,
                turnId,
                attempt: index + 1,
                openedAtMs: openedAtMs + 59n * 60_000n + BigInt(index) * 60_000n,
                costUsd: toDecimal(cost),
                ...(index % 2 === 1 && {
                  status: AttemptStatus.FAILED,
                  httpStatus: 502,
                  operation: CallOperation.JUDGE,
                }),
              }),
            ],
            turns: [],
          }));
          const isRefused = turn.costs.length === 0;
          const outcome = isRefused ? TurnOutcome.REFUSED : turn.outcome;
          const { guardrailId } = turn;
          const httpStatus = outcome === TurnOutcome.COMPLETED ? 200 : 403;
          const recorded =
            turn.isRecorded || isRefused
              ? [{ calls: [], turns: [process.turn({ ...common, openedAtMs, outcome, httpStatus, guardrailId })] }]
              : [];
          return turn.isEarly ? [...recorded, ...calls] : [...calls, ...recorded];
        });
        const batches: Delivery[] = [];
        for (let at = 0, n = 0; at < lines.length; n++) {
          const portion = lines.slice(at, (at += portions[n % portions.length] as number));
          batches.push({
            calls: portion.flatMap(({ calls }) => calls),
            turns: portion.flatMap(({ turns: each }) => each),
          });
        }
        for (const [index, batch] of batches.entries()) {
          // The batch is sent twice at once, as after a slow first call, and again with the batch before it.
          await Promise.all([deliver(installation, batch), deliver(installation, batch)]);
          const before = batches[index - 1];
          if (before)
            await deliver(installation, {
              calls: [...before.calls, ...batch.calls],
              turns: [...before.turns, ...batch.turns],
            });
        }
        expect(await stateOf()).toEqual({ gaps: [], wrongSums: [] });
        for (const key of ["a", "b"] as const) {
          const own = turns.filter((turn) => turn.key === key);
          const rows = await listTurns(
            installation.database,
            { workspaceId: defaultWorkspaceId, keyHash: keys[key] },
            100,
          );
          const spent = rows.reduce((sum, { cost_usd: cost }) => sum + parsePico(cost), 0n);
          expect([rows.length, spent]).toEqual([
            own.length,
            own.flatMap(({ costs }) => costs).reduce((sum, cost) => sum + cost, 0n),
          ]);
          expect(rows.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(own.flatMap(({ costs }) => costs).length);
        }
      },
    ),
    { numRuns: 25 },
  );
});

test("several processes deliver records at the same time", async () => {
  const before = (await ledgerState(installation.database)).turns;
  const processes = Array.from({ length: 6 }, () => new Process());
  await Promise.all(
    processes.map(async (process) => {
      for (let batch = 0; batch < 5; batch++) {
        const ids = Array.from({ length: 20 }, () => `gen-${randomUUID()}`);
        await deliver(installation, {
          calls: ids.map((generationId) => process.call({ generationId })),
          turns: ids.map((generationId) => process.turn({ generationId })),
        });
      }
    }),
  );
  expect(await stateOf()).toEqual({ gaps: [], wrongSums: [] });
  expect((await ledgerState(installation.database)).turns - before).toBe(600);
});

test("a lost call gives its turn's outcome until a record of the turn arrives", async () => {
  const process = new Process();
  const generationId = `gen-${randomUUID()}`;
  const keyHash = "e".repeat(64);
  const common = { generationId, keyHash };
  await deliver(installation, {
    calls: [process.call({ ...common, status: AttemptStatus.LOST, httpStatus: 502 })],
    turns: [],
  });
  const shown = async () => {
    const [row] = await listTurns(installation.database, { workspaceId: defaultWorkspaceId, keyHash }, 1);
    return row;
  };
  expect(await shown()).toMatchObject({
    outcome: "lost",
    http_status: 502,
    model: "acme/large-2",
    requested_model: null,
  });
  const { FAILED } = TurnOutcome;
  await deliver(installation, {
    calls: [],
    turns: [process.turn({ ...common, outcome: FAILED, httpStatus: 503, errorType: "provider_unavailable" })],
  });
  expect(await shown()).toMatchObject({ outcome: "failed", http_status: 503, model: "acme/large-2", attempts: 1 });
  expect(await stateOf()).toEqual({ gaps: [], wrongSums: [] });
});

test("a turn answered by one process is not changed by another that lost its client, in either order", async () => {
  for (const isEarly of [true, false]) {
    const common = { generationId: `gen-${randomUUID()}`, keyHash: "e".repeat(64) };
    const answered = new Process().turn({ ...common, durationMs: 700 });
    const left = new Process().turn({ ...common, durationMs: 9_000, outcome: TurnOutcome.CANCELLED, httpStatus: 499 });
    for (const turn of isEarly ? [left, answered] : [answered, left])
      await deliver(installation, { calls: [], turns: [turn] });
    const { rows } = await sql<{ outcome: string; duration_ms: string }>`
      select outcome, duration_ms from all_turns where generation_id = ${common.generationId}`.execute(
      installation.database,
    );
    expect(rows).toEqual([{ outcome: "completed", duration_ms: "700" }]);
  }
});

test("a call paid by the operator is no part of a turn", async () => {
  const process = new Process();
  const generationId = `gen-${randomUUID()}`;
  const keyHash = "f".repeat(64);
  const judged = { generationId, keyHash, operation: CallOperation.JUDGE, payer: CallPayer.OPERATOR };
  await deliver(installation, { calls: [process.call(judged), process.call({ generationId, keyHash })], turns: [] });
  const rows = await listTurns(installation.database, { workspaceId: defaultWorkspaceId, keyHash }, 2);
  expect(rows).toMatchObject([{ attempts: 1, cost_usd: "0.000123456789", operation: "turn" }]);
});

test("calls stored by an admin-svc without turns are added by a repair, only once", async () => {
  const keyHash = "d".repeat(64);
  const stored = usageRecord({ keyHash });
  await deliver(installation, { calls: [stored], turns: [] });
  // An earlier build names neither turns nor the column, and adds to the sums of key and workspace.
  await sql`
    insert into usage_records (
      turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at, duration_ms, model, provider,
      upstream_model, service_tier, status, http_status, is_estimated, cost_usd, streamed
    )
    select turn_id, 2, gen_random_uuid(), 1, instance, workspace_id, key_hash, generation_id, request_id, opened_at, duration_ms, model,
      provider, upstream_model, service_tier, status, http_status, is_estimated, cost_usd, streamed
    from usage_records where turn_id = ${stored.turnId}`.execute(installation.database);
  await sql`update key_days set cost_usd = 2 * cost_usd, attempts = 2 where key_hash = ${keyHash}`.execute(
    installation.database,
  );
  await sql`update workspace_days set cost_usd = cost_usd + 0.000123456789, attempts = attempts + 1
    where day = (select day from key_days where key_hash = ${keyHash})`.execute(installation.database);
  expect((await stateOf()).wrongSums).not.toEqual([]);
  expect([
    await addCallsWithoutTurns(installation.database),
    await addCallsWithoutTurns(installation.database),
  ]).toEqual([1, 0]);
  expect(await stateOf()).toEqual({ gaps: [], wrongSums: [] });
});

test("the ledger check reports a missing record of a turn", async () => {
  const lost = turnRecord({ sequence: 4n });
  await deliver(installation, { calls: [], turns: [lost] });
  expect((await stateOf()).gaps).toMatchObject([{ bootId: lost.bootId, missing: 3 }]);
});

test("values of a dimension beyond the limit are summed together, and percentiles are near the latencies", async () => {
  const process = new Process();
  const openedAtMs = BigInt(Date.parse("2025-01-01T00:00:00Z"));
  const latencies = Array.from({ length: 100 }, (_, index) => 10 * (index + 1));
  await deliver(installation, {
    calls: [],
    turns: latencies.map((durationMs, index) =>
      process.turn({
        openedAtMs,
        durationMs,
        firstMs: durationMs / 10,
        door: ["chat", "messages", "responses"][index % 3] ?? "",
      }),
    ),
  });
  const period = { from: new Date("2025-01-01T00:00:00Z"), to: new Date("2025-01-02T00:00:00Z") };
  const sendRequest = (by: readonly "door"[], limit: number) =>
    usageSeries(installation.database, {
      workspaceId: defaultWorkspaceId,
      step: "day",
      by,
      filter: {},
      limit,
      ...period,
    });
  const [, , ...totals] = await sendRequest(["door"], 1);
  expect(totals.map(({ value, requests }) => [value, requests])).toEqual([
    ["chat", "34"],
    [null, "66"],
  ]);
  const [all] = await sendRequest([], 20);
  // Buckets up to 512 and 1024 ms hold 500 and 950 ms.
  const middle = (bucket: number) => 2 ** ((bucket - 0.5) / 4);
  expect(all).toMatchObject({
    requests: "100",
    duration: { p50: middle(36), p95: middle(40) },
    first: { p50: middle(23), p95: middle(27) },
  });
});
