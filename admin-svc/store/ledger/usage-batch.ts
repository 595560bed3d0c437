/** A batch of records that arrive in one delivery. */
import type { Insertable } from "kysely";
import type { TokenColumn } from "../tables/ledger.ts";
import type { UsageRecordsTable } from "../tables/usage.ts";
import type { NewTurnRecord } from "./turn-record.ts";

/** A record of a call, with the columns of `usage_records`. */
export type NewUsageRecord = Omit<
  Insertable<UsageRecordsTable>,
  "sequence" | "duration_ms" | "first_ms" | "in_turn" | TokenColumn
> & {
  /** Sequence number as text, because JSON numbers cannot hold all 64-bit integers. */
  readonly sequence: string;
  readonly duration_ms: number;
  readonly first_ms: number | null;
} & { readonly [column in TokenColumn]: number | null };

export interface UsageBatch {
  readonly records: readonly NewUsageRecord[];
  readonly turns: readonly NewTurnRecord[];
}
