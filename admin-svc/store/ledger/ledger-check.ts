/**
 * Checks the ledger: no sequence number of a process is missing, turns match their calls, and sums match the records.
 */
import { type Kysely, sql } from "kysely";
import type { Database } from "../database.ts";
import { isAbandoned } from "./holds.ts";
import { ledgerChanges } from "./row-sums.ts";
import { isOnlyUnsummed, isUnfolded } from "./sums-progress.ts";
import { wrongTagSums } from "./tag-sums.ts";
import { callChanges, changeSums, joinColumns, sumColumns, sumFigures, sumKeys, turnChanges } from "./usage-rollup.ts";

/** Missing records of one start of a process. */
export interface Gap {
  readonly bootId: string;
  readonly instance: string;
  /** Number of missing sequence numbers below the highest stored one. */
  readonly missing: number;
  readonly lastAt: Date;
}

export interface WrongSum {
  readonly column: "key_hash" | "workspace_id" | "tag" | "generation_id" | "dimension";
  /**
   * Owner of the sum: the hash of a key, the id of a workspace (with a tag or its name), the id of a turn, a
   * dimension of the sums with its value, or the size of a period of the cube.
   */
  readonly owner: string;
  /** A day such as 2026-11-21. */
  readonly day: string;
  /** The stored sum, and the sum of the records, in USD as decimals. */
  readonly summedUsd: string;
  readonly recordedUsd: string;
}

export interface LedgerState {
  /** Number of stored calls. */
  readonly records: number;
  /** Number of stored turns, including refused turns. */
  readonly turns: number;
  /** Number of calls whose process died. */
  readonly lost: number;
  readonly estimated: number;
  /** Number of reservations of running calls. */
  readonly reservations: number;
  /**
   * Number of reservations that count as spent until their records arrive: of finished calls, and of lost processes.
   */
  readonly provisional: number;
  readonly gaps: readonly Gap[];
  readonly wrongSums: readonly WrongSum[];
}

/** Checks the ledger at one point in time. */
export function ledgerState(database: Kysely<Database>): Promise<LedgerState> {
  return database
    .transaction()
    .setIsolationLevel("repeatable read")
    .setAccessMode("read only")
    .execute(async (snapshot) => {
      const { rows } = await sql<Omit<LedgerState, "gaps" | "wrongSums">>`
        select
          (select coalesce(sum(requests), 0)::float8 from all_turns) as turns,
          count(*)::float8 as records,
          (count(*) filter (where status = 'lost'))::float8 as lost,
          (count(*) filter (where is_estimated))::float8 as estimated,
          (select count(*)::float8 from budget_reservations where not is_settled and not ${isAbandoned}) as reservations,
          (select count(*)::float8 from budget_reservations where is_settled or ${isAbandoned}) as provisional
        from all_calls`.execute(snapshot);
      const counts = rows[0] ?? { records: 0, turns: 0, lost: 0, estimated: 0, reservations: 0, provisional: 0 };
      const wrongSums = [
        ...(await wrongSumsOf(snapshot, "key_days", "key_hash")),
        ...(await wrongSumsOf(snapshot, "workspace_days", "workspace_id")),
        ...(await wrongTagSums(snapshot)).map((sum) => ({ ...sum, column: "tag" as const })),
        ...(await wrongTurns(snapshot)),
        ...(await wrongRollups(snapshot)),
        ...(await wrongPeriods(snapshot)),
      ];
      return { ...counts, gaps: await gapsOf(snapshot), wrongSums };
    });
}

async function gapsOf(database: Kysely<Database>): Promise<readonly Gap[]> {
  const { rows } = await sql<Gap>`
    select boot_id as "bootId", min(instance) as instance,
      (max(sequence) - count(*) - coalesce(min(removed.records), 0))::float8 as missing, max(recorded_at) as "lastAt"
    from all_calls left join removed_records as removed using (boot_id)
    group by boot_id having max(sequence) <> count(*) + coalesce(min(removed.records), 0)
    union all
    select boot_id, instance, (last_sequence - records)::float8, recorded_at from turn_deliveries where last_sequence <> records
    order by 4`.execute(database);
  return rows;
}

const keptFrom = sql`(select kept_from from ledger_retention)`;

/** Finds turns whose sums differ from those of their calls. A turn may have begun on the day before its first call. */
async function wrongTurns(database: Kysely<Database>): Promise<readonly WrongSum[]> {
  const { rows } = await sql<Omit<WrongSum, "column">>`
    with calls as (
      select generation_id, key_hash, min(opened_at) as opened_at, count(*) as attempts, coalesce(sum(cost_usd), 0) as cost_usd
      from all_calls where payer = 'key' group by 1, 2
    )
    select generation_id as owner, to_char(coalesce(turns.opened_at, calls.opened_at) at time zone 'UTC', 'YYYY-MM-DD') as day,
      coalesce(turns.cost_usd, 0) as "summedUsd", coalesce(calls.cost_usd, 0) as "recordedUsd"
    from all_turns as turns full join calls using (generation_id, key_hash)
    where (coalesce(turns.cost_usd, 0) <> coalesce(calls.cost_usd, 0) or coalesce(turns.attempts, 0) <> coalesce(calls.attempts, 0))
      and (coalesce(turns.opened_at, calls.opened_at - interval '1 day') at time zone 'UTC')::date >= ${keptFrom}
    order by 2, 1`.execute(database);
  return rows.map((row) => ({ ...row, column: "generation_id" }));
}

/** Finds sums by hour and day that, together with pending changes, differ from the records in any figure. */
async function wrongRollups(database: Kysely<Database>): Promise<readonly WrongSum[]> {
  const keys = joinColumns(sumKeys);
  const stored = sql`select ${joinColumns([...sumKeys, ...sumFigures])} from usage_sums`;
  const pending = sql`(select * from usage_changes union all ${ledgerChanges(isUnfolded)})`;
  const users = sql`select * from (${changeSums(sql`(${ledgerChanges(isOnlyUnsummed)})`)}) as waiting where dimension = 'user'`;
  const recorded = changeSums(sql`(${callChanges(sql`all_calls`)} union all ${turnChanges(sql`all_turns`)})`);
  const differs = sumFigures.map((figure) => `coalesce(summed.${figure}, 0) <> coalesce(recorded.${figure}, 0)`);
  const { rows } = await sql<Omit<WrongSum, "column">>`
    with summed as (
      select ${keys}, ${sumColumns(sumFigures)}
      from (${stored} union all select * from (${changeSums(pending)}) as changed union all ${users}) as found
      group by ${keys}
    )
    select dimension || ' ' || value as owner, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24') as day,
      coalesce(summed.cost_usd, 0)::text as "summedUsd", coalesce(recorded.cost_usd, 0)::text as "recordedUsd"
    from summed full join (${recorded}) as recorded using (${keys})
    where (${sql.raw(differs.join(" or "))}) and (at at time zone 'UTC')::date >= ${keptFrom}
    order by 2, 1`.execute(database);
  return rows.map((row) => ({ ...row, column: "dimension" }));
}

/**
 * Finds hours and days of the cube differing from the ledger, or in which the spending of turns differs from that of
 * their calls.
 */
async function wrongPeriods(database: Kysely<Database>): Promise<readonly WrongSum[]> {
  const figures = ["requests", "attempts", "cost_pico"];
  const zero = (table: string, figure: string) => `coalesce(${table}.${figure}, 0)`;
  const differs = figures.map((figure) => `${zero("summed", figure)} <> ${zero("recorded", figure)}`);
  const { rows } = await sql<Omit<WrongSum, "column">>`
    with hours as (
      select date_bin('1 hour', opened_at, 'epoch') as period, ${sumColumns(figures)} from ledger
      where not is_moved and written < (select folded from ledger_progress) group by 1
    ),
    recorded as (
      select false as is_day, * from hours
      union all select true, date_bin('1 day', period, 'epoch'), ${sumColumns(figures)} from hours group by 2
    ),
    summed as (
      select is_day, period, sum(requests) as requests,
        sum(attempts) filter (where by_turn) as attempts, sum(cost_pico) filter (where by_turn) as cost_pico,
        sum(attempts) filter (where by_call) as attempts_of_calls, sum(cost_pico) filter (where by_call) as cost_of_calls
      from usage_cube group by 1, 2
    )
    select case when is_day then 'cube day' else 'cube hour' end as owner, to_char(period at time zone 'UTC', 'YYYY-MM-DD"T"HH24') as day,
      (coalesce(summed.cost_pico, 0) * 0.000000000001)::text as "summedUsd", (coalesce(recorded.cost_pico, 0) * 0.000000000001)::text as "recordedUsd"
    from usage_cube_periods left join summed using (is_day, period) left join recorded using (is_day, period)
    where is_stored and (select is_cubed from ledger_progress) and (period at time zone 'UTC')::date >= ${keptFrom}
      and (${sql.raw(differs.join(" or "))} or attempts_of_calls <> summed.attempts or cost_of_calls <> summed.cost_pico)
    order by 2, 1`.execute(database);
  return rows.map((row) => ({ ...row, column: "dimension" }));
}

/** Finds sums differing from the records, on days whose records are complete. */
async function wrongSumsOf(
  database: Kysely<Database>,
  days: "key_days" | "workspace_days",
  column: WrongSum["column"],
): Promise<readonly WrongSum[]> {
  const owner = sql.ref(column);
  const { rows } = await sql<Omit<WrongSum, "column">>`
    with kept as (
      select ${owner}::text as owner, (opened_at at time zone 'UTC')::date as day, coalesce(sum(cost_usd), 0) as cost_usd,
        count(*) as attempts
      from all_calls where payer = 'key' group by 1, 2
    ),
    summed as (select ${owner}::text as owner, day, cost_usd, attempts from ${sql.table(days)})
    select coalesce(summed.owner, kept.owner) as owner, to_char(coalesce(summed.day, kept.day), 'YYYY-MM-DD') as day,
      coalesce(summed.cost_usd, 0) as "summedUsd", coalesce(kept.cost_usd, 0) as "recordedUsd"
    from summed full join kept on kept.owner = summed.owner and kept.day = summed.day
    where (summed.cost_usd is distinct from kept.cost_usd or summed.attempts is distinct from kept.attempts)
      and coalesce(summed.day, kept.day) >= (select kept_from from ledger_retention)
    order by 2, 1`.execute(database);
  return rows.map((row) => ({ ...row, column }));
}
