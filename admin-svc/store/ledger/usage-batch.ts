/** Records that arrive together. */
import type { Insertable } from "kysely";
import type { TokenColumn } from "../tables/ledger.ts";
import type { UsageRecordsTable } from "../tables/usage.ts";
import type { NewTurnRecord } from "./turn-record.ts";

/** A record of a call, with the columns of `usage_records`. */
export type NewUsageRecord = Omit<
  Insertable<UsageRecordsTable>,
  "sequence" | "duration_ms" | "first_ms" | "in_turn" | TokenColumn
> & {
  /** Text, because JSON has no whole numbers of 64 bits. */
  readonly sequence: string;
  readonly duration_ms: number;
  readonly first_ms: number | null;
} & { readonly [column in TokenColumn]: number | null };

export interface UsageBatch {
  readonly records: readonly NewUsageRecord[];
  readonly turns: readonly NewTurnRecord[];
}
