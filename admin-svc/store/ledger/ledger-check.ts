/** Checks the ledger: every sequence number of a process is present, and the sums match the records. */
import { type Kysely, sql } from "kysely";
import type { Database } from "../database.ts";

/** Missing records of one start of a process. */
export interface Gap {
  readonly bootId: string;
  readonly instance: string;
  /** Count of the absent numbers below the highest one. */
  readonly missing: number;
  readonly lastAt: Date;
}

export interface WrongSum {
  readonly column: "key_hash" | "workspace_id";
  /** Hash of the key, or id of the workspace. */
  readonly owner: string;
  /** A day such as 2026-11-21. */
  readonly day: string;
  /** The stored sum and the sum of the records, USD as decimals. */
  readonly summedUsd: string;
  readonly recordedUsd: string;
}

export interface LedgerState {
  readonly records: number;
  /** Records of calls whose process died. */
  readonly lost: number;
  readonly estimated: number;
  /** Reservations of calls under way. */
  readonly reservations: number;
  readonly gaps: readonly Gap[];
  readonly wrongSums: readonly WrongSum[];
}

/** State of the ledger at one moment. */
export function ledgerState(database: Kysely<Database>): Promise<LedgerState> {
  return database
    .transaction()
    .setIsolationLevel("repeatable read")
    .setAccessMode("read only")
    .execute(async (snapshot) => {
      const { rows } = await sql<Pick<LedgerState, "records" | "lost" | "estimated" | "reservations">>`
        select
          count(*)::float8 as records,
          (count(*) filter (where status = 'lost'))::float8 as lost,
          (count(*) filter (where is_estimated))::float8 as estimated,
          (select count(*)::float8 from budget_reservations where expires_at > now()) as reservations
        from usage_records`.execute(snapshot);
      const counts = rows[0] ?? { records: 0, lost: 0, estimated: 0, reservations: 0 };
      const wrongSums = [
        ...(await wrongSumsOf(snapshot, "key_days", "key_hash")),
        ...(await wrongSumsOf(snapshot, "workspace_days", "workspace_id")),
      ];
      return { ...counts, gaps: await gapsOf(snapshot), wrongSums };
    });
}

async function gapsOf(database: Kysely<Database>): Promise<readonly Gap[]> {
  const { rows } = await sql<Gap>`
    select boot_id as "bootId", min(instance) as instance,
      (max(sequence) - count(*) - coalesce(min(removed.records), 0))::float8 as missing, max(recorded_at) as "lastAt"
    from usage_records left join removed_records as removed using (boot_id)
    group by boot_id having max(sequence) <> count(*) + coalesce(min(removed.records), 0) order by 4`.execute(database);
  return rows;
}

/** Compares only days whose records are all kept. */
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
      from usage_records where payer = 'key' group by 1, 2
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
