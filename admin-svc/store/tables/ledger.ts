/**
 * Tables of the ledger, with one row for a turn and its calls and one partition for each day; and the views of all
 * records.
 */
import type { Generated } from "kysely";
import type { BigInteger } from "./columns.ts";
import type { RecordedTags, TurnsTable, UsageRecordsTable } from "./usage.ts";

/**
 * A turn that arrived together with all of its calls. Repeated texts are replaced by numbers of `ledger_names`. The
 * figures of a single call, paid by the key, are in the columns of the row; any other calls are listed in `calls`.
 */
export interface LedgerTable {
  opened_at: Date;
  /** Number of the transaction that stored the row, increased by `shift` of `ledger_progress`. */
  written: Generated<BigInteger>;
  /** Number by which exports read turns in order. */
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
  /** Attempt number of the only call. */
  attempt: number | null;
  last_attempt: number;
  http_status: number;
  call_http_status: number | null;
  streamed: boolean;
  is_estimated: boolean;
  /** Whether `model` is also the requested model. */
  is_requested_model: boolean;
  /** Whether the turn was moved to `turns` and `usage_records`, because another part of it arrived later. */
  is_moved: Generated<boolean>;
  generation_id: string;
  request_id: string;
  requested_model: string | null;
  provider_code: string | null;
  user: string | null;
  session_id: string | null;
  trace_id: string | null;
  calls: readonly ListedCall[] | null;
  /** Tags of the request and of its key, by name; null for none. */
  tags: RecordedTags | null;
}

/**
 * A call in the list `calls` of its turn. It has the end user and session of the turn, or none, so an erasure has
 * to change them only in the turn.
 */
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
  /** Whether this is the last call of the turn that gave an answer. */
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
  /** The name as a UUID, if it is one. */
  identifier: Generated<string | null>;
}

/** Days that have a partition of the ledger. */
export interface LedgerDaysTable {
  day: Date;
}

/** How far the sums include the rows of the ledger. */
export interface LedgerProgressTable {
  id: Generated<boolean>;
  /** Rows whose `written` is below this number are included in the sums. */
  folded: BigInteger;
  /** Rows of days before this one are all included in the sums. */
  from_day: Date;
  /** Amount added to the transaction numbers of new rows. */
  shift: BigInteger;
  /** Whether the cube includes all rows that the sums include; false when an earlier build has updated the sums. */
  is_cubed: Generated<boolean>;
  /** Numbers of rows that all sums include except those of end users, as a multirange. */
  unsummed_users: Generated<string>;
  /** No row in `unsummed_users` began before this day. */
  users_from_day: Generated<Date>;
  /**
   * Time when an earlier build last updated the sums; such a build updates sums of end users together with all others.
   */
  earlier_at: Date | null;
}

/**
 * Sums of the ledger for every combination of dimensions, by hour and by day. As in the ledger, texts are replaced by
 * numbers of names.
 */
export interface UsageCubeTable {
  is_day: boolean;
  /** Start of the hour or day in which the turns began. */
  period: Date;
  /**
   * Start of the hour or day in which the figures count; for calls that began after the period of their turn, their
   * hour.
   */
  at: Date;
  workspace: number;
  key: number;
  door: number;
  operation: number;
  /** Number of the turns' outcome. It and the other dimensions of turns are null in a row of calls. */
  outcome: number | null;
  model: number | null;
  provider: number | null;
  task: number | null;
  guardrail: number | null;
  error_type: number | null;
  provider_error: number | null;
  http_status: number | null;
  /** Whether the spending counts in reports that count all calls of a turn with the turn. */
  by_turn: boolean;
  /** Whether the spending counts in reports that count each call by itself. */
  by_call: boolean;
  requests: number;
  attempts: number;
  /** Cost in picodollars, an integer. */
  cost_pico: string;
  input_tokens: BigInteger;
  cached_tokens: BigInteger;
  output_tokens: BigInteger;
  reasoning_tokens: BigInteger;
  /** Counts of latencies, as in `usage_sums`. */
  first_events: string;
  durations: string;
}

/** Hours and days in the cube, complete or being filled. */
export interface UsageCubePeriodsTable {
  is_day: boolean;
  period: Date;
  /** Whether the cube is complete for the period; false for hours that are still read from the ledger. */
  is_stored: boolean;
  /** While an hour is being filled, the cube has its turns that began before this time. */
  filled_to: Date | null;
  /**
   * While a day is being filled, the cube has its keys below this number. In a complete period, rows of keys from this
   * number on still have to be merged or removed.
   */
  next_key: number | null;
  /** For a day: the number of hourly rows from which it was filled so far. */
  hour_rows: Generated<BigInteger>;
  requests: Generated<BigInteger>;
}

/** Calls of the ledger and of `usage_records`. */
export type AllCallsView = Omit<UsageRecordsTable, "tags"> & {
  /** Whether this is the last call of its turn that gave an answer; null outside of the ledger. */
  ends_turn: boolean | null;
  /** Number of the ledger row; null outside of the ledger. */
  written: BigInteger | null;
  /** A time at most a day from the start of the call, by which Postgres can skip partitions. */
  near: Date;
  /** Whether this is the only call of the turn and began in the same hour; null outside of the ledger. */
  is_single: boolean | null;
};

/** Turns of the ledger and of `turns`. */
export type AllTurnsView = TurnsTable & {
  /** Number of the ledger row; null outside of the ledger. */
  written: BigInteger | null;
  /** Whether the turn has at most one call, begun in the same hour as the turn; null outside of the ledger. */
  is_single: boolean | null;
};
