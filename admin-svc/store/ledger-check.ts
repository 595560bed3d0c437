/** Whether the ledger is whole: every number that processes have given is there, and the sums are those of the records. */
import { type Kysely, sql } from "kysely";
import type { Database } from "./database.ts";

/** Of one start of a process. */
export interface Gap {
  readonly bootId: string;
  readonly instance: string;
  /** Numbers up to the highest that are not there. */
  readonly missing: number;
  readonly lastAt: Date;
}

export interface WrongSum {
  readonly keyHash: string;
  /** 2026-11-21. */
  readonly day: string;
  /** USD, decimal: as summed up, and as the records say. */
  readonly summedUsd: string;
  readonly recordedUsd: string;
}

export interface LedgerState {
  readonly records: number;
  /** Of calls that a process left behind. */
  readonly lost: number;
  readonly estimated: number;
  /** Held for calls under way. */
  readonly reservations: number;
  readonly gaps: readonly Gap[];
  readonly wrongSums: readonly WrongSum[];
}

/** Of one moment. */
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
      return { ...counts, gaps: await gapsOf(snapshot), wrongSums: await wrongSumsOf(snapshot) };
    });
}

async function gapsOf(database: Kysely<Database>): Promise<readonly Gap[]> {
  const { rows } = await sql<Gap>`
    select boot_id as "bootId", min(instance) as instance, (max(sequence) - count(*))::float8 as missing,
      max(recorded_at) as "lastAt"
    from usage_records group by boot_id having max(sequence) <> count(*) order by 4`.execute(database);
  return rows;
}

async function wrongSumsOf(database: Kysely<Database>): Promise<readonly WrongSum[]> {
  const { rows } = await sql<WrongSum>`
    select coalesce(days.key_hash, sums.key_hash) as "keyHash", to_char(coalesce(days.day, sums.day), 'YYYY-MM-DD') as day,
      coalesce(days.cost_usd, 0) as "summedUsd", coalesce(sums.cost_usd, 0) as "recordedUsd"
    from key_days as days
    full join (
      select key_hash, (opened_at at time zone 'UTC')::date as day, coalesce(sum(cost_usd), 0) as cost_usd,
        count(*) as attempts
      from usage_records where kind = 'primary' group by 1, 2
    ) as sums on sums.key_hash = days.key_hash and sums.day = days.day
    where days.cost_usd is distinct from sums.cost_usd or days.attempts is distinct from sums.attempts
    order by 2, 1`.execute(database);
  return rows;
}
