/** The tables of admin-svc, one interface each, as Kysely sees them. */
import type { BuiltinFilter, ContentFilter } from "@sluice/proto/contract/content-filters.js";
import type { DetectorRule } from "@sluice/proto/contract/detector-rules.js";
import type { AppliesToWord, ErrorPolicyWord, ModeWord } from "@sluice/proto/contract/guardrail-words.js";
import type { JudgeRule } from "@sluice/proto/contract/judge-rules.js";
import type { RoutingPolicyJson } from "@sluice/proto/contract/routing-policy.js";
import type { ResetInterval } from "@sluice/proto/contract/records.js";
import type { ColumnType, Generated, JSONColumnType } from "kysely";

/** Given by the database, never written by us. */
type Stamp = ColumnType<Date, never, never>;

/** A bigint arrives as text: a number would round it. */
type BigInteger = ColumnType<string, bigint, bigint>;

export interface WorkspacesTable {
  id: Generated<string>;
  /** Unique. */
  name: string;
  created_at: Stamp;
  /** Number and hash of the last entry of its audit log. */
  audit_sequence: Generated<string>;
  audit_hash: Generated<Buffer>;
  /** The same of the last entry that retention has removed. */
  audit_trimmed_sequence: Generated<string>;
  audit_trimmed_hash: Generated<Buffer>;
  /** What its keys may spend together, as with a key. */
  limit_usd: string | null;
  limit_reset: LimitReset | null;
}

/** One change by an administrator; written once, by SQL that makes its hash. */
export interface AuditLogTable {
  workspace_id: string;
  /** From 1, without a gap within a workspace. */
  sequence: BigInteger;
  at: Stamp;
  /** Hash of the management key, or the program that worked on the database itself. */
  actor: string;
  /** Noun and verb. */
  action: string;
  /** Null once it is erased, as are `before`, `after` and `salt`. */
  target: string | null;
  before: JSONColumnType<object> | null;
  after: JSONColumnType<object> | null;
  request_id: string | null;
  /** Of the policy, when the change was one of it. */
  generation: BigInteger | null;
  salt: string | null;
  /** Of what may be erased. */
  digest: Buffer;
  /** Of the entry before and all the rest of this one. */
  hash: Buffer;
  erased_at: Date | null;
}

/** Periods in UTC; weeks begin on Monday. */
export type LimitReset = ResetInterval;

export interface ApiKeysTable {
  /** SHA-256 of the whole key, lower-case hexadecimal. */
  hash: string;
  workspace_id: string;
  name: string;
  kind: "inference" | "management";
  /** The key with its middle left out, for people. */
  label: string;
  expires_at: Date | null;
  revoked_at: ColumnType<Date | null, never, Date>;
  created_at: Stamp;
  /** Refused like an unknown key, until it is enabled again. */
  disabled: Generated<boolean>;
  /** The end user that it was made for. */
  external_user: string | null;
  /** Null until the first change. */
  updated_at: ColumnType<Date | null, never, Date>;
  /** What it may spend, in USD as a decimal; null: any amount. */
  limit_usd: string | null;
  /** When that begins anew; null: never. */
  limit_reset: LimitReset | null;
  /** Null, here and below: as the house is configured. */
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_requests: number | null;
  /** Of a management key of the default workspace: whether it may change what holds for every workspace. */
  account: Generated<boolean>;
}

export interface GuardrailsTable {
  id: Generated<string>;
  workspace_id: string;
  name: string;
  description: string | null;
  content_filters: JSONColumnType<ContentFilter[]>;
  content_filter_builtins: JSONColumnType<BuiltinFilter[], string | undefined>;
  judge_rules: JSONColumnType<JudgeRule[], string | undefined>;
  detectors: JSONColumnType<DetectorRule[], string | undefined>;
  /** The fields that are set. */
  routing_policy: JSONColumnType<RoutingPolicyJson, string | undefined>;
  applies_to: Generated<AppliesToWord>;
  mode: Generated<ModeWord>;
  on_error: Generated<ErrorPolicyWord>;
  /** Whether all keys of the workspace are under it. */
  workspace_default: Generated<boolean>;
  /** Whether all keys of all workspaces are; only in the default workspace. */
  account_default: Generated<boolean>;
  /** What each key under it may spend, in USD as a decimal, and when that begins anew; both or neither. */
  limit_usd: string | null;
  limit_reset: LimitReset | null;
  created_at: Stamp;
  updated_at: ColumnType<Date, never, Date>;
}

export interface GuardrailKeyAssignmentsTable {
  /** The primary key: a key holds at most one guardrail. */
  key_hash: string;
  guardrail_id: string;
  created_at: ColumnType<Date, never, Date>;
  /** Another one whenever the key is given another guardrail. */
  assignment_id: Generated<string>;
  /** Hash of the management key; null for the command line. */
  assigned_by: string | null;
}

export interface EndUsersTable {
  workspace_id: string;
  user: string;
  is_active: Generated<boolean>;
  created_at: Stamp;
  updated_at: ColumnType<Date, never, Date>;
}

export interface PolicyGenerationTable {
  /** Always true: there is one row. */
  id: Generated<boolean>;
  generation: BigInteger;
}

export interface PolicyLogTable {
  generation: BigInteger;
  /** Null means every key. */
  key_hashes: string[] | null;
  created_at: Stamp;
}

/** One call to a provider; written once. */
export interface UsageRecordsTable {
  turn_id: string;
  attempt: number;
  boot_id: string;
  sequence: BigInteger;
  /** Name of the process. */
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
  /** All five or none. */
  input_tokens: BigInteger | null;
  cached_tokens: BigInteger | null;
  cache_write_tokens: BigInteger | null;
  output_tokens: BigInteger | null;
  reasoning_tokens: BigInteger | null;
  is_estimated: boolean;
  /** A decimal of 12 places: picodollars. */
  cost_usd: string | null;
  streamed: boolean;
  user: string | null;
  session_id: string | null;
  /** Of calls of the house's own nothing is counted for the key: `paidKinds` are those that are. */
  kind:
    | "primary"
    | "judge"
    | "moderation"
    | "classifier"
    | "panel"
    | "analyst"
    | "charged_judge"
    | "charged_moderation"
    | "charged_classifier";
  /** Milliseconds from the beginning to the first event of the provider. */
  first_ms: BigInteger | null;
  /** stop, tool_calls, length or content_filter. */
  finish_reason: string | null;
  recorded_at: Stamp;
}

/** What was used of a key on one day in UTC: the sum of its records. */
export interface KeyDaysTable {
  key_hash: string;
  day: Date;
  cost_usd: string;
  attempts: BigInteger;
}

/** The same of all keys of a workspace. */
export interface WorkspaceDaysTable {
  workspace_id: string;
  day: Date;
  cost_usd: string;
  attempts: BigInteger;
}

export interface LedgerRetentionTable {
  /** Always true: there is one row. */
  id: Generated<boolean>;
  /** Records of days before it may have been removed. */
  kept_from: Date;
}

/** How many records of one start of a process retention has removed. */
export interface RemovedRecordsTable {
  boot_id: string;
  records: BigInteger;
}

/** The worst case of a call under way. */
export interface BudgetReservationsTable {
  turn_id: string;
  attempt: number;
  key_hash: string;
  /** Null where a build before this one wrote it. */
  workspace_id: string | null;
  amount_usd: string;
  expires_at: Date;
}

export interface Database {
  workspaces: WorkspacesTable;
  audit_log: AuditLogTable;
  api_keys: ApiKeysTable;
  guardrails: GuardrailsTable;
  guardrail_key_assignments: GuardrailKeyAssignmentsTable;
  end_users: EndUsersTable;
  policy_generation: PolicyGenerationTable;
  policy_log: PolicyLogTable;
  usage_records: UsageRecordsTable;
  key_days: KeyDaysTable;
  workspace_days: WorkspaceDaysTable;
  ledger_retention: LedgerRetentionTable;
  removed_records: RemovedRecordsTable;
  budget_reservations: BudgetReservationsTable;
}

/** The workspace that the first migration makes. */
export const defaultWorkspaceId = "00000000-0000-4000-8000-000000000001";
