/** The health of providers equals counts of call records: of calls in whole turns, in parts of turns, single and several. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { callsOfProvider } from "@sluice/admin-svc/store/ledger/health.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import {
  AttemptStatus,
  CallOperation,
  CallPayer,
  TurnOutcome,
  type TurnRecord,
  type UsageRecord,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { toHealthJson } from "@sluice/proto/contract/records/usage-health.js";
import { sql } from "kysely";
import { type AdminInstallation, callAsAdministrator, openInstallation } from "../installation.ts";
import { Process, deliver, startMs } from "./deliveries.ts";
import { deliverRandomTurns } from "./random-turns.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

const hourMs = 3_600_000;
const time = (ms: number) => new Date(ms).toISOString();

interface SentCall {
  readonly provider: string;
  readonly status: AttemptStatus;
  readonly httpStatus: number;
  readonly operation?: CallOperation;
  readonly payer?: CallPayer;
  readonly firstMs?: number;
  readonly durationMs?: number;
}

const answered = (provider: string, firstMs = 200): SentCall => ({
  provider,
  status: AttemptStatus.COMPLETED,
  httpStatus: 200,
  firstMs,
  durationMs: 2 * firstMs,
});
const failed = (provider: string, httpStatus: number): SentCall => ({
  provider,
  status: AttemptStatus.FAILED,
  httpStatus,
});

interface SentTurn {
  readonly calls: readonly SentCall[];
  /** Failure of the turn; absent for a turn that was answered. */
  readonly providerError?: string;
  readonly atMs?: number;
}

const turns: readonly SentTurn[] = [
  { calls: [answered("acme", 100)] },
  { calls: [answered("acme", 300)] },
  { calls: [failed("gone", 502), answered("acme", 200)] },
  { calls: [failed("gone", 400), answered("acme", 200)] },
  { calls: [failed("gone", 502)], providerError: "connect_refused" },
  { calls: [failed("gone", 502), failed("gone", 502)], providerError: "timeout_first_event" },
  { calls: [failed("acme", 400)], providerError: "http_400" },
  // A guardrail stopped the answer of this call.
  { calls: [failed("acme", 403)], providerError: "" },
  { calls: [{ ...answered("acme"), status: AttemptStatus.CANCELLED, httpStatus: 499 }] },
  { calls: [{ ...answered("acme"), status: AttemptStatus.LOST, httpStatus: 0 }] },
  { calls: [{ ...failed("judge", 500), operation: CallOperation.JUDGE, payer: CallPayer.OPERATOR }, answered("acme")] },
  { calls: [answered("acme")], atMs: startMs - 5 * hourMs },
];

async function deliverTurns(isWhole: boolean, keyHash: string): Promise<void> {
  const process = new Process();
  const [calls, records]: [UsageRecord[], TurnRecord[]] = [[], []];
  for (const { calls: sent, providerError, atMs = startMs } of turns) {
    const shared = { generationId: `gen-${randomUUID()}`, keyHash, openedAtMs: BigInt(atMs) };
    sent.forEach((call, n) =>
      calls.push(process.call({ ...shared, model: "acme/one", turnId: randomUUID(), attempt: n + 1, ...call })),
    );
    records.push(
      process.turn({
        ...shared,
        ...(providerError !== undefined && { outcome: TurnOutcome.FAILED, httpStatus: 502, providerError }),
      }),
    );
  }
  if (isWhole) return void (await deliver(installation, { calls, turns: records }));
  await deliver(installation, { calls, turns: [] });
  await deliver(installation, { calls: [], turns: records });
}

test("provider health counts calls by their outcome, whether their turns arrive whole or in parts", async () => {
  const period = { from: time(startMs - hourMs), to: time(startMs + hourMs) };
  for (const [n, isWhole] of [true, false].entries()) {
    await deliverTurns(isWhole, String(n + 1).repeat(64));
    const times = n + 1;
    const answer = toHealthJson(await callAsAdministrator(installation, UsageService.method.getUsageHealth, period));
    expect(answer).toEqual({
      from: expect.stringContaining(period.from.slice(0, 19)),
      to: expect.stringContaining(period.to.slice(0, 19)),
      data: [
        {
          provider: "gone",
          model: "acme/one",
          calls: 5 * times,
          answered: 0,
          failures: 4 * times,
          uptime: 0,
          fallbacks: 2 * times,
          errors: [
            { error: "status_502", calls: 2 * times },
            { error: "connect_refused", calls: times },
            { error: "timeout_first_event", calls: times },
          ],
          first_token_ms_p50: null,
          first_token_ms_p95: null,
          duration_ms_p50: null,
          duration_ms_p95: null,
        },
        {
          provider: "acme",
          model: "acme/one",
          calls: 9 * times,
          answered: 5 * times,
          failures: 0,
          uptime: 100,
          fallbacks: 0,
          errors: [],
          first_token_ms_p50: expect.any(Number),
          first_token_ms_p95: expect.any(Number),
          duration_ms_p50: expect.any(Number),
          duration_ms_p95: expect.any(Number),
        },
      ],
    });
    const query = { ...period, fallbackFrom: "gone" };
    const { generations } = await callAsAdministrator(installation, UsageService.method.listGenerations, query);
    expect(generations.map(({ provider }) => provider).toSorted()).toEqual([
      ...Array<string>(times).fill("acme"),
      ...Array<string>(times).fill("gone"),
    ]);
    const acme = (answer["data"] as readonly Record<string, number>[])[1];
    // The times are 100, 200, 200, 200 and 300 ms; a percentile is at most 9 % off.
    for (const [name, ms] of Object.entries({
      first_token_ms_p50: 200,
      first_token_ms_p95: 300,
      duration_ms_p50: 400,
    })) {
      expect(Math.abs((acme?.[name] ?? 0) / ms - 1)).toBeLessThan(0.1);
    }
  }
});

test("provider health has as many calls as the ledger for any records, by provider and model", async () => {
  const other = await openInstallation();
  try {
    await deliverRandomTurns(other, 150);
    const period = { from: time(startMs - 24 * hourMs), to: time(startMs + 72 * hourMs) };
    const { models } = await callAsAdministrator(other, UsageService.method.getUsageHealth, period);
    const { rows } = await sql<Record<"provider" | "model", string> & Record<"calls" | "answered", string>>`
      select provider, model, count(*) as calls, count(*) filter (where status in ('completed', 'incomplete')) as answered
      from all_calls
      where payer = 'key' and workspace_id = ${defaultWorkspaceId} and opened_at >= ${period.from} and opened_at < ${period.to}
      group by 1, 2`.execute(other.database);
    expect(rows.length).toBeGreaterThan(2);
    const named = (list: readonly { provider: string; model: string; calls: unknown; answered: unknown }[]) =>
      list.map((row) => [row.provider, row.model, String(row.calls), String(row.answered)].join(" ")).toSorted();
    expect(named(models)).toEqual(named(rows));
    const counted = { workspaceId: defaultWorkspaceId, from: new Date(period.from), to: new Date(period.to) };
    const sum = (given: typeof rows, figure: "calls" | "answered") =>
      given.reduce((all, row) => all + Number(row[figure]), 0);
    for (const [provider, model] of [
      ["acme", undefined],
      ["acme", "acme/two"],
      ["other", "acme/one"],
      ["acme", "none"],
      ["none", undefined],
    ] as const) {
      const chosen = rows.filter((row) => row.provider === provider && (model === undefined || row.model === model));
      const expected = { calls: sum(chosen, "calls"), answered: sum(chosen, "answered") };
      expect(await callsOfProvider(other.database, counted, provider, model)).toEqual(expected);
    }
  } finally {
    await other.close();
  }
});

test.each([
  [{ from: "2026-11-21T12:00:00Z", to: "2026-11-21T11:00:00Z" }, "from: must be before to"],
  [{ from: "2026-11-01T00:00:00Z", to: "2026-11-21T00:00:00Z" }, "from: must be at most 7 days before to"],
  [{ from: "yesterday" }, "from: "],
])("a health report for the period %j is refused", async (period, message) => {
  await expect(callAsAdministrator(installation, UsageService.method.getUsageHealth, period)).rejects.toThrow(message);
});
