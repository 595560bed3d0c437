/** Sums follow the ledger: with pending changes they equal it at every moment, also when several processes fold or one crashes. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { eraseEndUser } from "@sluice/admin-svc/store/erasure.js";
import { foldAll, hasChanges, tryFold } from "@sluice/admin-svc/store/ledger/fold.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { shiftAfterRestore } from "@sluice/admin-svc/store/ledger/ledger-sums.js";
import { usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import { TurnOutcome } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { seriesUnits } from "@sluice/proto/contract/records/usage-series.js";
import { type Transaction, sql } from "kysely";
import { eventually } from "../../support/processes.ts";
import { type AdminInstallation, addWorkspace, openInstallation, testAuthor } from "../installation.ts";
import { Process, deliver, startMs } from "./deliveries.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

const hasNone = async (): Promise<boolean> => !(await hasChanges(installation.database));
const stateOf = async () => {
  const { gaps, wrongSums } = await ledgerState(installation.database);
  return { gaps, wrongSums };
};
const whole = { gaps: [], wrongSums: [] };

async function deliverTurns(process: Process, count: number, fields: object = {}): Promise<void> {
  const ids = Array.from({ length: count }, () => `gen-${randomUUID()}`);
  await deliver(installation, {
    calls: ids.map((generationId) => process.call({ generationId, openedAtMs: BigInt(startMs), ...fields })),
    turns: ids.map((generationId) => process.turn({ generationId, ...fields })),
  });
}

test("sums are updated without any request", async () => {
  await deliverTurns(new Process(), 3);
  await eventually(hasNone);
  expect(await stateOf()).toEqual(whole);
});

/** The figures of all series and of the ledger at one moment. */
async function figuresOf(snapshot: Transaction<Database>) {
  const day = Math.floor(startMs / 86_400_000) * 86_400_000;
  const period = { step: "day", from: new Date(day), to: new Date(day + 86_400_000) } as const;
  const series: string[] = [];
  for (const by of [[], ...seriesUnits.map((unit) => [unit])]) {
    const rows = await usageSeries(snapshot, { workspaceId: defaultWorkspaceId, by, filter: {}, limit: 1, ...period });
    const totals = rows.filter(({ at }) => at === null);
    const sum = (figure: "requests" | "attempts" | "cost_usd") =>
      totals.reduce((all, row) => all + BigInt(row[figure].replace(".", "")), 0n);
    series.push([sum("requests"), sum("attempts"), sum("cost_usd")].join(" "));
  }
  const { rows } = await sql<{ figures: string }>`
    select concat_ws(' ', (select sum(requests) from all_turns where opened_at < ${period.to}), count(*), (sum(cost_usd) * 1e12)::bigint) as figures
    from all_calls where opened_at < ${period.to}`.execute(snapshot);
  return { series: [...new Set(series)], ledger: rows.map(({ figures }) => figures) };
}

test("series equal the ledger while batches land and several processes add to the sums", async () => {
  const progress = { over: false };
  const delivering = Promise.all(
    Array.from({ length: 3 }, async (_, n) => {
      const process = new Process();
      for (let batch = 0; batch < 8; batch++) {
        await deliverTurns(process, 10, { user: `u-${batch % 3}`, keyHash: String(n).repeat(64) });
      }
    }),
  ).finally(() => (progress.over = true));
  const folding = Promise.all(
    [1, 2].map(async () => {
      while (!progress.over) await tryFold(installation.database);
    }),
  );
  let moments = 0;
  while (!progress.over || moments < 3) {
    const { series, ledger } = await installation.database
      .transaction()
      .setIsolationLevel("repeatable read")
      .execute(figuresOf);
    expect(series).toEqual(ledger);
    moments++;
  }
  await Promise.all([delivering, folding]);
  await eventually(hasNone);
  expect(await stateOf()).toEqual(whole);
});

test("two processes that add the same turn to the sums at once count it once", async () => {
  for (let round = 0; round < 5; round++) {
    const generationId = `gen-${randomUUID()}`;
    const common = { generationId, keyHash: "b".repeat(64) };
    await Promise.all([
      ...Array.from({ length: 3 }, () => {
        const process = new Process();
        return deliver(installation, { calls: [process.call({ ...common, turnId: randomUUID() })], turns: [] });
      }),
      deliver(installation, {
        calls: [],
        turns: [new Process().turn({ ...common, outcome: TurnOutcome.FAILED, httpStatus: 502 })],
      }),
    ]);
  }
  await installation.database.transaction().execute(foldAll);
  expect(await stateOf()).toEqual(whole);
});

test("a batch with a late commit is counted in the sums, and a rolled-back batch is not", async () => {
  const copy = (transaction: Transaction<Database>) =>
    sql`
      insert into turns
      select (jsonb_populate_record(turn, jsonb_build_object('generation_id', ${`gen-${randomUUID()}`}::text, 'attempts', 0, 'cost_usd', 0,
        'input_tokens', 0, 'cached_tokens', 0, 'output_tokens', 0, 'reasoning_tokens', 0))).*
      from (select turns as turn from turns limit 1) as one`.execute(transaction);
  await eventually(hasNone);
  const late = installation.database.transaction().execute(async (transaction) => {
    await copy(transaction);
    await deliverTurns(new Process(), 2);
    expect(await stateOf()).toEqual(whole);
  });
  await late;
  await eventually(hasNone);
  expect(await stateOf()).toEqual(whole);
  await expect(
    installation.database.transaction().execute(async (transaction) => {
      await copy(transaction);
      throw new Error("rolled back");
    }),
  ).rejects.toThrow("rolled back");
  await eventually(hasNone);
  expect(await stateOf()).toEqual(whole);
});

test("an open transaction that writes elsewhere does not delay the sums", async () => {
  await installation.database.transaction().execute(async (transaction) => {
    await sql`insert into ledger_names (name) values ('of an open transaction')`.execute(transaction);
    await deliverTurns(new Process(), 2);
    await eventually(hasNone);
  });
  expect(await stateOf()).toEqual(whole);
});

test("turns stored after a restore into a server with fewer transactions are counted in the sums", async () => {
  await deliverTurns(new Process(), 2);
  await eventually(hasNone);
  // The restored server assigns smaller transaction numbers than the dump contains.
  await sql`update ledger set written = written + 1000000`.execute(installation.database);
  await sql`
    update ledger_progress set folded = folded + 1000000, unsummed_users = (
      select coalesce(range_agg(int8range(lower(waiting) + 1000000, upper(waiting) + 1000000)), '{}') from unnest(unsummed_users) as waiting
    )`.execute(installation.database);
  await installation.database.transaction().execute(shiftAfterRestore);
  await deliverTurns(new Process(), 2);
  expect(await stateOf()).toEqual(whole);
  await eventually(hasNone);
  expect(await stateOf()).toEqual(whole);
});

test("the erasure of an end user during deliveries leaves sums that equal the records", async () => {
  const workspaceId = await addWorkspace(installation.database);
  const fields = { workspaceId, user: "u-9", openedAtMs: BigInt(Date.now()) };
  const process = new Process();
  await deliverTurns(process, 5, fields);
  const landing = (async () => {
    for (let batch = 0; batch < 6; batch++) await deliverTurns(process, 5, fields);
  })();
  await eraseEndUser(installation.database, testAuthor(workspaceId), "u-9", () => {});
  await landing;
  const { records } = await eraseEndUser(installation.database, testAuthor(workspaceId), "u-9", () => {});
  expect(records).toBeLessThanOrEqual(30);
  expect(await stateOf()).toEqual(whole);
  const { rows } = await sql`select from usage_sums where value = 'u-9' and workspace_id = ${workspaceId}`.execute(
    installation.database,
  );
  expect(rows).toEqual([]);
});

test("sums left unfinished by a dead process are added by the next one", async () => {
  const dying = installation.database.transaction().execute(async (transaction) => {
    await foldAll(transaction);
    await deliverTurns(new Process(), 2);
    await foldAll(transaction);
    await sql`select pg_terminate_backend(pg_backend_pid())`.execute(transaction);
  });
  await expect(dying).rejects.toThrow();
  await eventually(hasNone);
  expect(await stateOf()).toEqual(whole);
});
