/** Tables changed by administrators: workspaces, keys, guardrails, end users, and the logs of these changes. */
import type { KeySettings } from "@sluice/proto/contract/records/key-record.js";
import type { StoredGuardrailSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import type { TagBudgetJson } from "@sluice/proto/contract/records/tag-budgets.js";
import type { ModelLimitJson, ModelLimitsJson } from "@sluice/proto/contract/records/model-limits.js";
import type { PermissionsJson } from "@sluice/proto/contract/records/permissions.js";
import type { RoutingPolicyJson } from "@sluice/proto/contract/records/routing-policy.js";
import type { ResetInterval } from "@sluice/proto/contract/records/record-shapes.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { BigInteger, GeneratedTimestamp } from "./columns.ts";

export interface WorkspacesTable {
  id: Generated<string>;
  /** Unique among workspaces. */
  name: string;
  created_at: GeneratedTimestamp;
  /** Number and hash of the last entry of its audit log. */
  audit_sequence: Generated<string>;
  audit_hash: Generated<Buffer>;
  /** Number and hash of the last audit entry removed by retention. */
  audit_trimmed_sequence: Generated<string>;
  audit_trimmed_hash: Generated<Buffer>;
  /** Budget shared by the keys of the workspace, USD as a decimal; null: any amount. */
  limit_usd: string | null;
  limit_reset: ResetInterval | null;
  /** Limits of models that its keys share; null without any. */
  model_limits: ModelLimitsColumn;
  /** Budgets for tags of requests; null without any. */
  tag_budgets: ColumnType<TagBudgetJson[] | null, string | null | undefined, string | null>;
  /** Time of the last change of the tags and values in these. */
  tags_counted_from: Generated<Date>;
  /** Upper bound of the permissions of its keys; null without lists. */
  permissions: PermissionsJson | null;
  deleted_at: Date | null;
  /** Names of required tags as text; null: none. */
  required_tags: string | null;
}

/** A change by an administrator. An entry is written once, by SQL that computes its hash. */
export interface AuditLogTable {
  workspace_id: string;
  /** Starts at 1 and has no gap within a workspace. */
  sequence: BigInteger;
  at: GeneratedTimestamp;
  /** Hash of the management key, or the name of the program with direct access to the database. */
  actor: string;
  /** Noun and verb, such as `keys.revoke`. */
  action: string;
  /** Null after erasure, like `before`, `after` and `salt`. */
  target: string | null;
  before: JSONColumnType<object> | null;
  after: JSONColumnType<object> | null;
  request_id: string | null;
  /** Plain address of the client; null where there was none, and in entries of earlier builds. */
  address: string | null;
  /** Policy generation of the change; null when it did not affect the policy. */
  generation: BigInteger | null;
  salt: string | null;
  /** Hash of the erasable fields. */
  digest: Buffer;
  /** Hash over the hash of the previous entry and every other field of this entry. */
  hash: Buffer;
  erased_at: Date | null;
}

/** A list is stored as JSON; a setting that is never null may be left out of an insert. */
type SettingColumn<Value> = [Value] extends [readonly (infer Entry)[]]
  ? JSONColumnType<Entry[], string | undefined>
  : null extends Value
    ? Value
    : Generated<Value>;

/** A nullable list, written as JSON. */
type ModelLimitsColumn = ColumnType<ModelLimitJson[] | null, string | null | undefined, string | null>;

/** Each setting has a column with its own name. */
type KeySettingColumns = {
  -readonly [Name in Exclude<keyof KeySettings, "model_limits">]-?: SettingColumn<
    Exclude<KeySettings[Name], undefined>
  >;
} & { model_limits: ModelLimitsColumn };

/** Settings with their limits of models as JSON, because the driver writes a list as an array of Postgres. */
export const withLimitsJson = <Settings extends { readonly model_limits?: ModelLimitsJson | null }>({
  model_limits: entries,
  ...settings
}: Settings): Omit<Settings, "model_limits"> & { model_limits?: string | null } => ({
  ...settings,
  ...(entries !== undefined && { model_limits: entries && JSON.stringify(entries) }),
});

export interface ApiKeysTable extends KeySettingColumns {
  /** SHA-256 of the whole key, lower-case hexadecimal. */
  hash: string;
  workspace_id: string;
  kind: "inference" | "management";
  /** The key without its middle, for display. */
  label: string;
  revoked_at: ColumnType<Date | null, never, Date>;
  created_at: GeneratedTimestamp;
  /** Null until the first change. */
  updated_at: ColumnType<Date | null, never, Date>;
  /** True for a management key of the default workspace with permission to change account-wide records. */
  account: Generated<boolean>;
  /** True for a management key used by people in the console: its text does not exist. */
  console: Generated<boolean>;
}

/** Each setting has a column with its own name, except `reset_interval`. */
type GuardrailSettingColumns = {
  [Name in keyof StoredGuardrailSettings as Name extends "reset_interval" ? "limit_reset" : Name]: SettingColumn<
    StoredGuardrailSettings[Name]
  >;
};

export interface GuardrailsTable extends GuardrailSettingColumns {
  id: Generated<string>;
  workspace_id: string;
  /** The configured fields of the routing policy. */
  routing_policy: JSONColumnType<RoutingPolicyJson, string | undefined>;
  created_at: GeneratedTimestamp;
  updated_at: ColumnType<Date, never, Date>;
}

export interface GuardrailKeyAssignmentsTable {
  /** Primary key of the table: a key holds at most one guardrail. */
  key_hash: string;
  guardrail_id: string;
  created_at: ColumnType<Date, never, Date>;
  /** A new id whenever the key gets another guardrail. */
  assignment_id: Generated<string>;
  /** Hash of the management key; null for the command line. */
  assigned_by: string | null;
}

/** A record's external id, given by another program. */
export interface ExternalIdsTable {
  /** Workspace of the record; the default workspace for ids of workspaces. */
  workspace_id: string;
  kind: "key" | "guardrail" | "workspace";
  external_id: string;
  /** Hash or id of the record, which may no longer exist. */
  target: string;
  created_at: GeneratedTimestamp;
}

export interface EndUsersTable {
  workspace_id: string;
  user: string;
  is_active: Generated<boolean>;
  created_at: GeneratedTimestamp;
  updated_at: ColumnType<Date, never, Date>;
}

export interface PolicyGenerationTable {
  /** Always true: the table has a single row. */
  id: Generated<boolean>;
  generation: BigInteger;
}

export interface PolicyLogTable {
  generation: BigInteger;
  /** Null means every key. */
  key_hashes: string[] | null;
  created_at: GeneratedTimestamp;
}

/** A provider of models, in addition to those of the configuration file. */
export interface StoredProvidersTable {
  id: string;
  /** Settings in the form of the configuration file, without API keys. */
  settings: JSONColumnType<JsonObject>;
  /** API keys, encrypted by inference-svc; empty without keys. */
  sealed_keys: string;
  /** The last characters of each API key. */
  key_ends: string[];
  /** Number of the change, from a sequence: unlike any number of a deleted provider with the same id. */
  revision: Generated<string>;
  created_at: GeneratedTimestamp;
  updated_at: ColumnType<Date, never, Date>;
}
