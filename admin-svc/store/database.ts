/** The tables of admin-svc as Kysely sees them, one interface each. */
import type { KeySettings } from "@sluice/proto/contract/records/key-record.js";
import type { StoredGuardrailSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import type { RoutingPolicyJson } from "@sluice/proto/contract/records/routing-policy.js";
import type { ResetInterval } from "@sluice/proto/contract/records.js";
import type { AlertType } from "@sluice/proto/contract/records/alerts.js";
import type { OperationWord, PayerWord } from "@sluice/proto/runtime/call-operation.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { ColumnType, Generated, JSONColumnType } from "kysely";

/** Written by the database only. */
type Stamp = ColumnType<Date, never, never>;

/** A bigint arrives as text, because a JavaScript number would round it. */
type BigInteger = ColumnType<string, bigint, bigint>;

export interface WorkspacesTable {
  id: Generated<string>;
  /** Unique among workspaces. */
  name: string;
  created_at: Stamp;
  /** Number and hash of the last entry of its audit log. */
  audit_sequence: Generated<string>;
  audit_hash: Generated<Buffer>;
  /** Number and hash of the last audit entry that retention has removed. */
  audit_trimmed_sequence: Generated<string>;
  audit_trimmed_hash: Generated<Buffer>;
  /** Budget that the keys of the workspace share, USD as a decimal; null: any amount. */
  limit_usd: string | null;
  limit_reset: ResetInterval | null;
}

/** A change by an administrator. An entry is written once, by SQL that computes its hash. */
export interface AuditLogTable {
  workspace_id: string;
  /** Starts at 1 and has no gap within a workspace. */
  sequence: BigInteger;
  at: Stamp;
  /** Hash of the management key, or the name of the program that changed the database itself. */
  actor: string;
  /** Noun and verb, such as `keys.revoke`. */
  action: string;
  /** Null after erasure, like `before`, `after` and `salt`. */
  target: string | null;
  before: JSONColumnType<object> | null;
  after: JSONColumnType<object> | null;
  request_id: string | null;
  /** Policy generation of the change; null when it did not affect the policy. */
  generation: BigInteger | null;
  salt: string | null;
  /** Hash of the fields that can be erased. */
  digest: Buffer;
  /** Hash of the previous entry and of every other field of this one. */
  hash: Buffer;
  erased_at: Date | null;
}

/** A list is stored as JSON; a setting that is never null may be left out of an insert. */
type SettingColumn<Value> = [Value] extends [readonly (infer Entry)[]]
  ? JSONColumnType<Entry[], string | undefined>
  : null extends Value
    ? Value
    : Generated<Value>;

/** Each setting has the column of its own name. */
type KeySettingColumns = {
  -readonly [Name in keyof KeySettings]-?: SettingColumn<Exclude<KeySettings[Name], undefined>>;
};

export interface ApiKeysTable extends KeySettingColumns {
  /** SHA-256 of the whole key, lower-case hexadecimal. */
  hash: string;
  workspace_id: string;
  kind: "inference" | "management";
  /** The key with its middle left out, for people. */
  label: string;
  revoked_at: ColumnType<Date | null, never, Date>;
  created_at: Stamp;
  /** Null until the first change. */
  updated_at: ColumnType<Date | null, never, Date>;
  /** True for a management key of the default workspace that may change records of the whole account. */
  account: Generated<boolean>;
  /** True for a management key that people act with in the console: nobody has it. */
  console: Generated<boolean>;
}

/** Each setting has the column of its own name, except `reset_interval`. */
type GuardrailSettingColumns = {
  [Name in keyof StoredGuardrailSettings as Name extends "reset_interval" ? "limit_reset" : Name]: SettingColumn<
    StoredGuardrailSettings[Name]
  >;
};

export interface GuardrailsTable extends GuardrailSettingColumns {
  id: Generated<string>;
  workspace_id: string;
  /** Fields of the routing policy that are set. */
  routing_policy: JSONColumnType<RoutingPolicyJson, string | undefined>;
  created_at: Stamp;
  updated_at: ColumnType<Date, never, Date>;
}

export interface GuardrailKeyAssignmentsTable {
  /** Primary key of the table: a key holds at most one guardrail. */
  key_hash: string;
  guardrail_id: string;
  created_at: ColumnType<Date, never, Date>;
  /** A new id each time the key is given another guardrail. */
  assignment_id: Generated<string>;
  /** Hash of the management key; null for the command line. */
  assigned_by: string | null;
}

/** An id that another program gave to a record. */
export interface ExternalIdsTable {
  /** Workspace of the record; the default one for ids of workspaces. */
  workspace_id: string;
  kind: "key" | "guardrail" | "workspace";
  external_id: string;
  /** Hash or id of the record, which may be gone by now. */
  target: string;
  created_at: Stamp;
}

export interface EndUsersTable {
  workspace_id: string;
  user: string;
  is_active: Generated<boolean>;
  created_at: Stamp;
  updated_at: ColumnType<Date, never, Date>;
}

export interface PolicyGenerationTable {
  /** Always true, because the table has one row. */
  id: Generated<boolean>;
  generation: BigInteger;
}

export interface PolicyLogTable {
  generation: BigInteger;
  /** Null means every key. */
  key_hashes: string[] | null;
  created_at: Stamp;
}

/** A call to a provider. A record is written once. */
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
  /** Either all five token counts are set, or none. */
  input_tokens: BigInteger | null;
  cached_tokens: BigInteger | null;
  cache_write_tokens: BigInteger | null;
  output_tokens: BigInteger | null;
  reasoning_tokens: BigInteger | null;
  is_estimated: boolean;
  /** A decimal with 12 places: picodollars. */
  cost_usd: string | null;
  streamed: boolean;
  user: string | null;
  session_id: string | null;
  /** Format in which the client spoke: responses, chat or messages. */
  door: string;
  /** Kind of task; null for calls that routers learn nothing from. */
  task: string | null;
  /** Purpose of the call. */
  operation: OperationWord;
  payer: PayerWord;
  /** Milliseconds from the start of the call to the provider's first event. */
  first_ms: BigInteger | null;
  /** Why the answer ended: stop, tool_calls, length or content_filter. */
  finish_reason: string | null;
  recorded_at: Stamp;
  /** Whether the row of its turn and the sums by hour and day have the call; false in records that an admin-svc of before turns has stored. */
  in_turn: Generated<boolean>;
}

/** A request to a model: what became of it, and the sums of its calls. */
export interface TurnsTable {
  generation_id: string;
  key_hash: string;
  workspace_id: string;
  request_id: string;
  opened_at: Date;
  duration_ms: BigInteger;
  /** Milliseconds until the first event was given out. */
  first_ms: BigInteger | null;
  door: string;
  operation: OperationWord;
  task: string | null;
  /** The model that the request named; null when that is unknown. */
  requested_model: string | null;
  /** The model that was called last, or else the one that was asked for. */
  model: string;
  /** Id of the provider that was called last; empty without a call, like the tier. */
  provider: string;
  service_tier: string;
  outcome: "completed" | "incomplete" | "failed" | "cancelled" | "lost" | "refused";
  http_status: number;
  error_type: string | null;
  guardrail_id: string | null;
  rule: string | null;
  finish_reason: string | null;
  streamed: boolean;
  user: string | null;
  session_id: string | null;
  trace_id: string | null;
  /** 1, or the number of refused turns that the row counts. */
  requests: number;
  attempts: number;
  cost_usd: string;
  input_tokens: BigInteger;
  cached_tokens: BigInteger;
  output_tokens: BigInteger;
  reasoning_tokens: BigInteger;
  is_estimated: boolean;
  /** Number of the call that was the last one to answer; 0 without one. */
  last_attempt: number;
  /** Whether the record of the turn has arrived. */
  is_recorded: boolean;
  /** Number among the complete turns, by which exports read them; null until the turn is complete. A turn that changes gets another one. */
  log_sequence: BigInteger | null;
}

/** Records of turns that a start of a process has delivered. */
export interface TurnDeliveriesTable {
  boot_id: string;
  instance: string;
  last_sequence: BigInteger;
  /** Less than the last number when records are missing. */
  records: BigInteger;
  recorded_at: Stamp;
}

/** Usage in an hour or on a day, of one value of a dimension. */
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
  /** Answered turns by the time of their first event: twelve decimal digits for each bucket, the last twelve for the first one. */
  first_events: string;
  /** Answered turns by their duration, likewise. */
  durations: string;
}

/** Changes of the sums by hour that batches have noted and that are not added yet. Figures are negative where a turn was taken out as it was before. */
export interface UsageChangesTable {
  workspace_id: string;
  /** Beginning of an hour. */
  at: Date;
  /** A change by turns, which has the figures of their calls as well; otherwise one by calls. */
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
  /** Always true, because the table has one row. */
  id: Generated<boolean>;
  /** Records of earlier days may have been removed. */
  kept_from: Date;
}

/** Number of records that retention has removed, by start of a process. */
export interface RemovedRecordsTable {
  boot_id: string;
  records: BigInteger;
}

/** Worst-case cost that is reserved for a call under way. */
export interface BudgetReservationsTable {
  turn_id: string;
  attempt: number;
  key_hash: string;
  /** Null in reservations of an earlier build. */
  workspace_id: string | null;
  amount_usd: string;
  expires_at: Date;
}

/** A person who signed in to the console. */
export interface ConsoleSessionsTable {
  /** SHA-256 of the session's secret, lower-case hexadecimal. */
  hash: string;
  /** Management key that signed in, or the key of the console that people act with. */
  key_hash: string;
  workspace_id: string;
  role: Generated<string>;
  /** E-mail address; null for a session of a management key. */
  person: string | null;
  /** The rule that gave the person the role; null for a session of a management key. */
  rule: string | null;
  opened_at: Stamp;
  /** Time of the last use, to the minute. */
  seen_at: ColumnType<Date, never, Date>;
  expires_at: Date;
}

/** An alert on its way to a sink. */
export interface AlertsTable {
  sink: string;
  /** Names the fact: a sink is told of it once. */
  event: string;
  /** The same in every attempt to deliver it. */
  id: Generated<string>;
  workspace_id: string;
  type: AlertType;
  facts: JSONColumnType<JsonObject>;
  /** Time of the fact. */
  at: Date;
  /** `dead`: given up. */
  state: Generated<"waiting" | "delivered" | "dead">;
  attempts: Generated<number>;
  /** The next attempt, or the time at which the one under way counts as lost. */
  due_at: Date;
  /** An attempt that fails after that is the last one. */
  give_up_at: Date;
  settled_at: Date | null;
  /** Status or kind of failure of the last attempt. */
  last_error: string | null;
}

/** How far an export has delivered the turns of a workspace. */
export interface ExportCursorsTable {
  export: string;
  workspace_id: string;
  /** Beginning of the export. */
  started_at: Date;
  started: BigInteger;
  /** Everything up to this number is delivered. */
  delivered: BigInteger;
  /** Last number of the batch under way, which keeps it in every attempt; null between batches. */
  batch_last: BigInteger | null;
  batch_at: Date | null;
  attempts: Generated<number>;
  /** The next attempt, or the time at which the one under way counts as lost. */
  due_at: Date;
  last_error: string | null;
}

/** Prompt and answer of a turn. A row is written once. */
export interface CapturedContentsTable {
  generation_id: string;
  key_hash: string;
  workspace_id: string;
  request_id: string;
  user: string | null;
  opened_at: Date;
  expires_at: Date;
  /** Names the key of the configuration file with which the row is encrypted. */
  key_id: string;
  salt: Buffer;
  /** Ciphertext and authentication tag. */
  sealed: Buffer;
}

export interface Database {
  workspaces: WorkspacesTable;
  audit_log: AuditLogTable;
  api_keys: ApiKeysTable;
  guardrails: GuardrailsTable;
  guardrail_key_assignments: GuardrailKeyAssignmentsTable;
  end_users: EndUsersTable;
  external_ids: ExternalIdsTable;
  policy_generation: PolicyGenerationTable;
  policy_log: PolicyLogTable;
  usage_records: UsageRecordsTable;
  turns: TurnsTable;
  turn_deliveries: TurnDeliveriesTable;
  usage_sums: UsageSumsTable;
  usage_changes: UsageChangesTable;
  key_days: KeyDaysTable;
  workspace_days: WorkspaceDaysTable;
  ledger_retention: LedgerRetentionTable;
  removed_records: RemovedRecordsTable;
  budget_reservations: BudgetReservationsTable;
  console_sessions: ConsoleSessionsTable;
  alerts: AlertsTable;
  export_cursors: ExportCursorsTable;
  captured_contents: CapturedContentsTable;
}

/** Id of the workspace that the first migration creates. */
export const defaultWorkspaceId = "00000000-0000-4000-8000-000000000001";
