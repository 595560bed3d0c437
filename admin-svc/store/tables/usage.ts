/** Tables of usage: calls, turns, their sums, and budget reservations. */
import type { OperationWord, PayerWord } from "@sluice/proto/lib/ledger/call-operation.js";
import type { Generated } from "kysely";
import type { BigInteger, GeneratedTimestamp } from "./columns.ts";

export type RecordedTags = Readonly<Record<string, string>>;

/** A call to a provider. A row is written once. */
export interface UsageRecordsTable {
  turn_id: string;
  attempt: number;
  boot_id: string;
  sequence: BigInteger;
  /** Name of the process that made the call. */
  instance: string;
  workspace_id: string;
  key_hash: string;
  generation_id: string;
  request_id: string;
  opened_at: Date;
  duration_ms: BigInteger;
  model: string;
  provider: string;
  upstream_model: string;
  service_tier: string;
  status: "completed" | "incomplete" | "failed" | "cancelled" | "lost";
  http_status: number;
  /** Number of input tokens. Either all five token counts are set, or none. */
  input_tokens: BigInteger | null;
  cached_tokens: BigInteger | null;
  cache_write_tokens: BigInteger | null;
  output_tokens: BigInteger | null;
  reasoning_tokens: BigInteger | null;
  is_estimated: boolean;
  /** Cost in USD as a decimal with 12 places; its unit is a picodollar. */
  cost_usd: string | null;
  streamed: boolean;
  user: string | null;
  session_id: string | null;
  /** The client's API format: responses, chat or messages. */
  door: string;
  /** Kind of task; null for calls that no learning router uses. */
  task: string | null;
  /** Purpose of the call. */
  operation: OperationWord;
  payer: PayerWord;
  /** Milliseconds from the start of the call to the provider's first event. */
  first_ms: BigInteger | null;
  /** Why the answer ended: stop, tool_calls, length or content_filter. */
  finish_reason: string | null;
  recorded_at: GeneratedTimestamp;
  /** Tags of the request and of its key, by name; null for none. */
  tags: RecordedTags | null;
  /**
   * Whether the call is included in the row of its turn and in the sums by hour and day; false in records from builds
   * without turns.
   */
  in_turn: Generated<boolean>;
  /** Whether a trigger has added the call to the sums of activity; false in earlier records. */
  is_noted: Generated<boolean>;
}

/** A turn, that is, a request to a model: its outcome, and the sums of its calls. */
export interface TurnsTable {
  generation_id: string;
  key_hash: string;
  workspace_id: string;
  request_id: string;
  opened_at: Date;
  duration_ms: BigInteger;
  /** Milliseconds until the first event was delivered to the client. */
  first_ms: BigInteger | null;
  door: string;
  operation: OperationWord;
  task: string | null;
  /** The model named in the request; null when unknown. */
  requested_model: string | null;
  /** The last called model; without a call, the requested model. */
  model: string;
  /** Id of the last called provider. Empty without a call, as is the tier. */
  provider: string;
  service_tier: string;
  outcome: "completed" | "incomplete" | "failed" | "cancelled" | "lost" | "refused";
  http_status: number;
  error_type: string | null;
  provider_error: string | null;
  provider_code: string | null;
  guardrail_id: string | null;
  rule: string | null;
  finish_reason: string | null;
  streamed: boolean;
  user: string | null;
  session_id: string | null;
  trace_id: string | null;
  /** Number of requests in the row: 1, or the number of refused turns that it counts together. */
  requests: number;
  attempts: number;
  cost_usd: string;
  input_tokens: BigInteger;
  cached_tokens: BigInteger;
  output_tokens: BigInteger;
  reasoning_tokens: BigInteger;
  is_estimated: boolean;
  /** Attempt number of the last call that gave an answer; 0 for none. */
  last_attempt: number;
  /** Whether the record of the turn has arrived, and not only its calls. */
  is_recorded: boolean;
  /** Tags of the request and of its key, by name; null for none. */
  tags: RecordedTags | null;
  /** Number by which exports read complete turns; null until the turn is complete. A changed turn gets a new number. */
  log_sequence: BigInteger | null;
}

/** Turn records delivered by one start of a process. */
export interface TurnDeliveriesTable {
  boot_id: string;
  instance: string;
  last_sequence: BigInteger;
  /** Number of delivered records; less than `last_sequence` when records are missing. */
  records: BigInteger;
  recorded_at: GeneratedTimestamp;
  /**
   * Sequence numbers below the last one without a record, as int8multirange; builds before this column leave it empty.
   */
  missing: Generated<string>;
}

/** Usage of one value of a dimension, in an hour or on a day. */
export interface UsageSumsTable {
  workspace_id: string;
  dimension: string;
  step: "hour" | "day";
  at: Date;
  value: string;
  requests: BigInteger;
  failures: BigInteger;
  attempts: BigInteger;
  cost_usd: string;
  input_tokens: BigInteger;
  cached_tokens: BigInteger;
  output_tokens: BigInteger;
  reasoning_tokens: BigInteger;
  /**
   * Histogram of the time to the first event of answered turns, as one number: twelve decimal digits for each bucket,
   * the last twelve for the first bucket.
   */
  first_events: string;
  /** Histogram of the duration of answered turns, in the same form. */
  durations: string;
}

/**
 * Changes of the sums by hour, recorded by batches and still to be added. Figures are negative where they subtract the
 * old values of a turn.
 */
export interface UsageChangesTable {
  workspace_id: string;
  /** Start of the hour. */
  at: Date;
  /** Whether the change is by turns, whose figures include their calls; otherwise it is by calls. */
  is_turn: boolean;
  key_hash: string;
  model: string;
  provider: string;
  user: string;
  door: string;
  operation: string;
  task: string;
  status: string;
  guardrail: string;
  requests: BigInteger;
  failures: BigInteger;
  attempts: BigInteger;
  cost_usd: string;
  input_tokens: BigInteger;
  cached_tokens: BigInteger;
  output_tokens: BigInteger;
  reasoning_tokens: BigInteger;
  first_events: string;
  durations: string;
}

/** Activity: usage per UTC day of calls paid by keys; also its pending changes. */
export interface ActivityTable {
  workspace_id: string;
  /** Hash of the key; empty in the sums of all keys. */
  key_hash: string;
  day: Date;
  model: string;
  provider: string;
  service_tier: string;
  operation: OperationWord;
  door: string;
  /** Kind of task; empty for none. */
  task: string;
  /** Sum of costs in USD; null when no call has a known cost. */
  cost_usd: string | null;
  calls: BigInteger;
  /** Number of turns whose last answering call is counted in this row. */
  requests: BigInteger;
  input_tokens: BigInteger;
  output_tokens: BigInteger;
  reasoning_tokens: BigInteger;
}

/** Total spending of a key, and the start of its latest call. */
export interface KeyTotalsTable {
  key_hash: string;
  workspace_id: string;
  cost_usd: string;
  last_used_at: Date | null;
}

/** An unfinished conversion of older records. */
export interface BackfillsTable {
  name: string;
  /** Records from this time on are converted. */
  reached: Date;
}

/** Usage of a key on one UTC day: the sum of its records. */
export interface KeyDaysTable {
  key_hash: string;
  day: Date;
  cost_usd: string;
  attempts: BigInteger;
}

/** Usage of all keys of a workspace on one UTC day. */
export interface WorkspaceDaysTable {
  workspace_id: string;
  day: Date;
  cost_usd: string;
  attempts: BigInteger;
}

export interface LedgerRetentionTable {
  /** Always true, because the table has a single row. */
  id: Generated<boolean>;
  /** First day from which records are complete; records of earlier days may have been removed. */
  kept_from: Date;
}

/** Number of records removed by retention, by the start of a process that made them. */
export interface RemovedRecordsTable {
  boot_id: string;
  records: BigInteger;
}

/** Worst-case cost reserved for a call under way, or the cost of a finished call until its record is stored. */
export interface BudgetReservationsTable {
  turn_id: string;
  attempt: number;
  key_hash: string;
  /** Id of the key's workspace; null in reservations of an earlier build. */
  workspace_id: string | null;
  amount_usd: string;
  expires_at: Date;
  /**
   * Boot id of the process renewing the reservation; null in reservations of an earlier build, which are renewed one
   * by one.
   */
  boot_id: string | null;
  /** Whether the amount is the cost of a finished call. */
  is_settled: Generated<boolean>;
  reserved_at: Generated<Date>;
  /** Tag accounts charged with the call, by tag name, `*` for the shared account; null when no tag budget applies. */
  tags: RecordedTags | null;
}

/** Spending of a tag account on one UTC day. */
export interface TagDaysTable {
  workspace_id: string;
  name: string;
  /** Tag value; `*` for all values without an individual account. */
  value: string;
  day: Date;
  cost_usd: string;
  /** Part of the spending by calls whose records have lost the tag by an erasure. */
  unrecorded_usd: Generated<string>;
}

/** Tag values that have an individual account because of a budget entry for every value. */
export interface TagAccountsTable {
  workspace_id: string;
  name: string;
  value: string;
  created_at: GeneratedTimestamp;
}

/** Starts of processes renewing their budget reservations. */
export interface BudgetProcessesTable {
  boot_id: string;
  instance: string;
  renewed_at: Date;
}
