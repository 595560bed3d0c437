/** Tables of the ledger: calls, turns, their sums, and the reservations of budgets. */
import type { OperationWord, PayerWord } from "@sluice/proto/lib/ledger/call-operation.js";
import type { Generated } from "kysely";
import type { BigInteger, GeneratedTimestamp } from "./columns.ts";

export type RecordedTags = Readonly<Record<string, string>>;

/** A call to a provider. A record is written once. */
export interface UsageRecordsTable {
  turn_id: string;
  attempt: number;
  boot_id: string;
  sequence: BigInteger;
  /** Name of the calling process. */
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
  /** Either all five token counts are set, or none. */
  input_tokens: BigInteger | null;
  cached_tokens: BigInteger | null;
  cache_write_tokens: BigInteger | null;
  output_tokens: BigInteger | null;
  reasoning_tokens: BigInteger | null;
  is_estimated: boolean;
  /** A decimal with 12 places, that is, picodollars. */
  cost_usd: string | null;
  streamed: boolean;
  user: string | null;
  session_id: string | null;
  /** The client's API format: responses, chat or messages. */
  door: string;
  /** Kind of task; null for calls not used by learning routers. */
  task: string | null;
  /** Purpose of the call. */
  operation: OperationWord;
  payer: PayerWord;
  /** Milliseconds from the start of the call to the provider's first event. */
  first_ms: BigInteger | null;
  /** Why the answer ended: stop, tool_calls, length or content_filter. */
  finish_reason: string | null;
  recorded_at: GeneratedTimestamp;
  /** Tags of the request and of its key by their names; null when there are none. */
  tags: RecordedTags | null;
  /** Whether the row of its turn and the sums by hour and day include the call; false in records stored by an admin-svc without turns. */
  in_turn: Generated<boolean>;
  /** Whether a trigger has recorded the call for the sums of activity; false in earlier records. */
  is_noted: Generated<boolean>;
}

/** A request to a model: its outcome, and the sums of its calls. */
export interface TurnsTable {
  generation_id: string;
  key_hash: string;
  workspace_id: string;
  request_id: string;
  opened_at: Date;
  duration_ms: BigInteger;
  /** Milliseconds until the first delivered event. */
  first_ms: BigInteger | null;
  door: string;
  operation: OperationWord;
  task: string | null;
  /** The model named in the request; null when unknown. */
  requested_model: string | null;
  /** The model called last, or else the requested model. */
  model: string;
  /** Id of the provider called last; empty without a call, like the tier. */
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
  /** 1, or the number of refused turns counted by the row. */
  requests: number;
  attempts: number;
  cost_usd: string;
  input_tokens: BigInteger;
  cached_tokens: BigInteger;
  output_tokens: BigInteger;
  reasoning_tokens: BigInteger;
  is_estimated: boolean;
  /** Number of the last answering call; 0 without one. */
  last_attempt: number;
  /** Whether the record of the turn has arrived. */
  is_recorded: boolean;
  /** Tags of the request and of its key by their names; null when there are none. */
  tags: RecordedTags | null;
  /** Number among the complete turns, by which exports read them; null until the turn is complete. A changed turn gets a new number. */
  log_sequence: BigInteger | null;
}

/** Records of turns delivered by a start of a process. */
export interface TurnDeliveriesTable {
  boot_id: string;
  instance: string;
  last_sequence: BigInteger;
  /** Less than the last number when records are missing. */
  records: BigInteger;
  recorded_at: GeneratedTimestamp;
  /** Numbers below the last one without a record, as int8multirange; an earlier build does not note them. */
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
  /** Answered turns by the time of their first event: twelve decimal digits for each bucket, the last twelve for the first bucket. */
  first_events: string;
  /** Answered turns by their duration, in the same form. */
  durations: string;
}

/** Changes of the sums by hour, recorded by batches and not added yet. Figures are negative where the old values of a turn are subtracted. */
export interface UsageChangesTable {
  workspace_id: string;
  /** Beginning of an hour. */
  at: Date;
  /** A change by turns, including the figures of their calls; otherwise a change by calls. */
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

/** Usage per day in UTC of calls paid by keys, and its pending changes. */
export interface ActivityTable {
  workspace_id: string;
  /** Empty in the sums of all keys. */
  key_hash: string;
  day: Date;
  model: string;
  provider: string;
  service_tier: string;
  operation: OperationWord;
  door: string;
  /** Empty without a task. */
  task: string;
  /** Null where no call has a cost. */
  cost_usd: string | null;
  calls: BigInteger;
  /** Turns for which it is the last answering call. */
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

/** Unfinished work on the past. */
export interface BackfillsTable {
  name: string;
  /** Records from this time on are included. */
  reached: Date;
}

/** Usage of a key on one day in UTC: the sum of its records. */
export interface KeyDaysTable {
  key_hash: string;
  day: Date;
  cost_usd: string;
  attempts: BigInteger;
}

/** Usage of all keys of a workspace on one day in UTC. */
export interface WorkspaceDaysTable {
  workspace_id: string;
  day: Date;
  cost_usd: string;
  attempts: BigInteger;
}

export interface LedgerRetentionTable {
  /** Always true: the table has a single row. */
  id: Generated<boolean>;
  /** Records of earlier days may have been removed. */
  kept_from: Date;
}

/** Number of records removed by retention, by start of a process. */
export interface RemovedRecordsTable {
  boot_id: string;
  records: BigInteger;
}

/** Worst-case cost reserved for a call under way, or the cost of a finished call until its record is stored. */
export interface BudgetReservationsTable {
  turn_id: string;
  attempt: number;
  key_hash: string;
  /** Null in reservations of an earlier build. */
  workspace_id: string | null;
  amount_usd: string;
  expires_at: Date;
  /** Start of the process that renews it. Null in reservations of an earlier build, which are renewed one by one. */
  boot_id: string | null;
  /** Whether the amount is the cost of a finished call. */
  is_settled: Generated<boolean>;
  reserved_at: Generated<Date>;
  /** Accounts of tags by the names of the tags, `*` for the shared one; null when no budget for a tag applies. */
  tags: RecordedTags | null;
}

/** Spending of an account of a tag on a day in UTC. */
export interface TagDaysTable {
  workspace_id: string;
  name: string;
  /** `*` for values without an account of their own. */
  value: string;
  day: Date;
  cost_usd: string;
  /** The part of it by calls whose records have lost the tag by an erasure. */
  unrecorded_usd: Generated<string>;
}

/** Values of tags with an account of their own by an entry for every value. */
export interface TagAccountsTable {
  workspace_id: string;
  name: string;
  value: string;
  created_at: GeneratedTimestamp;
}

/** Starts of processes that renew their reservations. */
export interface BudgetProcessesTable {
  boot_id: string;
  instance: string;
  renewed_at: Date;
}
