/** The ledger: turns with their calls, one row each, in a partition for each day; and the views of all records. */
import type { Generated } from "kysely";
import type { BigInteger } from "./columns.ts";
import type { RecordedTags, TurnsTable, UsageRecordsTable } from "./usage.ts";

/**
 * A turn that arrived whole. Texts that repeat are numbers of `ledger_names`. A turn with a single call, paid by the key, has its figures in the columns; any
 * other calls are listed in `calls`.
 */
export interface LedgerTable {
  opened_at: Date;
  /** Number of the transaction that stored the row, plus the shift of `ledger_progress`. */
  written: Generated<BigInteger>;
  /** Number by which exports read turns. */
  log_sequence: Generated<BigInteger>;
  /** Cost paid by the key in picodollars; null when the cost of the only call is unknown. */
  cost_pico: BigInteger | null;
  call_sequence: BigInteger | null;
  turn_id: string | null;
  workspace: number;
  key: number;
  boot: number | null;
  instance: number | null;
  door: number;
  operation: number;
  outcome: number;
  model: number | null;
  provider: number | null;
  upstream_model: number | null;
  service_tier: number | null;
  task: number | null;
  finish_reason: number | null;
  call_status: number | null;
  error_type: number | null;
  provider_error: number | null;
  guardrail: number | null;
  rule: number | null;
  duration_ms: number;
  first_ms: number | null;
  /** Milliseconds from the start of the turn to the start of the call. */
  call_after_ms: number | null;
  call_ms: number | null;
  call_first_ms: number | null;
  input_tokens: number | null;
  cached_tokens: number | null;
  cache_write_tokens: number | null;
  output_tokens: number | null;
  reasoning_tokens: number | null;
  requests: number;
  attempts: number;
  /** Number of the only call. */
  attempt: number | null;
  last_attempt: number;
  http_status: number;
  call_http_status: number | null;
  streamed: boolean;
  is_estimated: boolean;
  /** Whether `model` is also the requested model. */
  is_requested_model: boolean;
  /** Whether the turn is in `turns` and `usage_records` now, because another part of it arrived. */
  is_moved: Generated<boolean>;
  generation_id: string;
  request_id: string;
  requested_model: string | null;
  provider_code: string | null;
  user: string | null;
  session_id: string | null;
  trace_id: string | null;
  calls: readonly ListedCall[] | null;
  /** Tags of the request and of its key by their names; null when there are none. */
  tags: RecordedTags | null;
}

/** A call in the list of its turn. The end user and the session are those of the turn, or none: erasure then has one place. */
export type ListedCall = Omit<
  UsageRecordsTable,
  | "workspace_id"
  | "key_hash"
  | "generation_id"
  | "user"
  | "session_id"
  | "tags"
  | "recorded_at"
  | "in_turn"
  | "is_noted"
  | "sequence"
  | "duration_ms"
  | "first_ms"
  | TokenColumn
> & {
  readonly sequence: string;
  readonly duration_ms: number;
  readonly first_ms: number | null;
  readonly has_user: boolean;
  readonly has_session: boolean;
  /** Whether it is the last answering call of the turn. */
  readonly ends_turn: boolean;
} & { readonly [column in TokenColumn]: number | null };

export type TokenColumn =
  | "input_tokens"
  | "cached_tokens"
  | "cache_write_tokens"
  | "output_tokens"
  | "reasoning_tokens";

export interface LedgerNamesTable {
  id: Generated<number>;
  name: string;
  /** The name, if it is a UUID. */
  identifier: Generated<string | null>;
}

/** Days with a partition. */
export interface LedgerDaysTable {
  day: Date;
}

/** How far the sums include the ledger. */
export interface LedgerProgressTable {
  id: Generated<boolean>;
  /** Rows with a smaller number are included. */
  folded: BigInteger;
  /** All rows of earlier days are included. */
  from_day: Date;
  /** Difference of the numbers of new rows and those of their transactions. */
  shift: BigInteger;
  /** Whether the periods of the cube include all of these rows; false when an earlier build has moved the cursor. */
  is_cubed: Generated<boolean>;
  /** Numbers of included rows that the sums of end users lack, as a multirange. */
  unsummed_users: Generated<string>;
  /** None of these rows began on an earlier day. */
  users_from_day: Generated<Date>;
  /** When an earlier build last moved the cursor; it adds end users with all other sums. */
  earlier_at: Date | null;
}

/** Sums of the ledger for every combination of dimensions, by hour and by day. Numbers of names as in the ledger. */
export interface UsageCubeTable {
  is_day: boolean;
  /** Beginning of the hour or day in which the turns began. */
  period: Date;
  /** Beginning of the hour or day in which the figures count; an hour for calls that began after the period of their turn. */
  at: Date;
  workspace: number;
  key: number;
  door: number;
  operation: number;
  /** Null in a row of calls, like the other words of turns. */
  outcome: number | null;
  model: number | null;
  provider: number | null;
  task: number | null;
  guardrail: number | null;
  error_type: number | null;
  provider_error: number | null;
  http_status: number | null;
  /** Whether the spending counts where calls count as their turn's. */
  by_turn: boolean;
  /** Whether the spending counts where calls count by themselves. */
  by_call: boolean;
  requests: number;
  attempts: number;
  /** An integer. */
  cost_pico: string;
  input_tokens: BigInteger;
  cached_tokens: BigInteger;
  output_tokens: BigInteger;
  reasoning_tokens: BigInteger;
  /** Counts of latencies, as in `usage_sums`. */
  first_events: string;
  durations: string;
}

/** Hours and days that are in the cube, or on their way into it. */
export interface UsageCubePeriodsTable {
  is_day: boolean;
  period: Date;
  /** Whether the cube has the rows; false for hours that are read from the ledger. */
  is_stored: boolean;
  /** While an hour is filled, the cube has its turns up to this beginning, exclusive. */
  filled_to: Date | null;
  /** While a day is filled, the cube has its keys below this number. In a stored period, rows from this key on are still to be merged or removed. */
  next_key: number | null;
  /** In a day, this is the number of rows of its hours, as far as it is filled. */
  hour_rows: Generated<BigInteger>;
  requests: Generated<BigInteger>;
}

/** Calls of the ledger and of `usage_records`. */
export type AllCallsView = Omit<UsageRecordsTable, "tags"> & {
  /** Whether it is the last answering call of its turn; null outside of the ledger. */
  ends_turn: boolean | null;
  /** Number of the row; null outside of the ledger. */
  written: BigInteger | null;
  /** A time within a day of the start of the call, by which Postgres leaves out partitions. */
  near: Date;
  /** Whether the turn has no other call, and the call began in the hour of the turn; null outside of the ledger. */
  is_single: boolean | null;
};

/** Turns of the ledger and of `turns`. */
export type AllTurnsView = TurnsTable & {
  /** Number of the row; null outside of the ledger. */
  written: BigInteger | null;
  /** Whether the turn has at most one call, begun in the hour of the turn; null outside of the ledger. */
  is_single: boolean | null;
};
