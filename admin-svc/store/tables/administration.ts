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
  /** Unique among all workspaces. */
  name: string;
  created_at: GeneratedTimestamp;
  /** Sequence number and hash of the last entry in the workspace's audit log. */
  audit_sequence: Generated<string>;
  audit_hash: Generated<Buffer>;
  /** Sequence number and hash of the last audit entry that retention has removed. */
  audit_trimmed_sequence: Generated<string>;
  audit_trimmed_hash: Generated<Buffer>;
  /** Budget shared by the workspace's keys, in USD as a decimal; null for no budget. */
  limit_usd: string | null;
  limit_reset: ResetInterval | null;
  /** Rate limits by model that the workspace's keys share; null for none. */
  model_limits: ModelLimitsColumn;
  /** Budgets by tag of requests; null for none. */
  tag_budgets: ColumnType<TagBudgetJson[] | null, string | null | undefined, string | null>;
  /** Time of the last change of the tags and values in `tag_budgets`. */
  tags_counted_from: Generated<Date>;
  /** Maximum permissions of the workspace's keys; null for no restriction. */
  permissions: PermissionsJson | null;
  deleted_at: Date | null;
  /** Names of required tags as text; null for none. */
  required_tags: string | null;
}

/** An audit entry: a change by an administrator. It is written once, by SQL that computes its hash. */
export interface AuditLogTable {
  workspace_id: string;
  /** Number of the entry, from 1 and without gaps within a workspace. */
  sequence: BigInteger;
  at: GeneratedTimestamp;
  /** Hash of the management key, or the name of the program that accessed the database directly. */
  actor: string;
  /** Noun and verb of the change, such as `keys.revoke`. */
  action: string;
  /**
   * Hash, id or name of the changed record. Erasure of an end user sets it to null, as it does `before`, `after` and
   * `salt`.
   */
  target: string | null;
  before: JSONColumnType<object> | null;
  after: JSONColumnType<object> | null;
  request_id: string | null;
  /** Network address of the client; null when there was none, and in entries of earlier builds. */
  address: string | null;
  /** Policy generation of the change; null when it did not affect policies. */
  generation: BigInteger | null;
  salt: string | null;
  /** Hash of the fields that an erasure may remove. */
  digest: Buffer;
  /** Hash of the previous entry's hash together with every other field of this entry. */
  hash: Buffer;
  erased_at: Date | null;
}

/** Type of a setting's column: a list is stored as JSON; a setting that is never null may be left out of an insert. */
type SettingColumn<Value> = [Value] extends [readonly (infer Entry)[]]
  ? JSONColumnType<Entry[], string | undefined>
  : null extends Value
    ? Value
    : Generated<Value>;

/** A nullable list, stored as JSON. */
type ModelLimitsColumn = ColumnType<ModelLimitJson[] | null, string | null | undefined, string | null>;

/** Each setting has a column with its own name. */
type KeySettingColumns = {
  -readonly [Name in Exclude<keyof KeySettings, "model_limits">]-?: SettingColumn<
    Exclude<KeySettings[Name], undefined>
  >;
} & { model_limits: ModelLimitsColumn };

/** Encodes the model limits of settings as JSON, because the driver would write a list as a Postgres array. */
export const withLimitsJson = <Settings extends { readonly model_limits?: ModelLimitsJson | null }>({
  model_limits: entries,
  ...settings
}: Settings): Omit<Settings, "model_limits"> & { model_limits?: string | null } => ({
  ...settings,
  ...(entries !== undefined && { model_limits: entries && JSON.stringify(entries) }),
});

export interface ApiKeysTable extends KeySettingColumns {
  /** SHA-256 of the key's text in lower-case hexadecimal. */
  hash: string;
  workspace_id: string;
  kind: "inference" | "management";
  /** The key's text without its middle, for display. */
  label: string;
  revoked_at: ColumnType<Date | null, never, Date>;
  created_at: GeneratedTimestamp;
  /** Null until the first change. */
  updated_at: ColumnType<Date | null, never, Date>;
  /** Whether this is a management key of the default workspace that may change account-wide records. */
  account: Generated<boolean>;
  /** Whether this is the management key with which people act in the console. Its text is not stored anywhere. */
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
  /** The fields of the routing policy that are set. */
  routing_policy: JSONColumnType<RoutingPolicyJson, string | undefined>;
  created_at: GeneratedTimestamp;
  updated_at: ColumnType<Date, never, Date>;
}

export interface GuardrailKeyAssignmentsTable {
  /** Hash of the key, the primary key of this table: a key has at most one assigned guardrail. */
  key_hash: string;
  guardrail_id: string;
  created_at: ColumnType<Date, never, Date>;
  /** Id of the assignment; a new one whenever the key gets another guardrail. */
  assignment_id: Generated<string>;
  /** Hash of the management key that made the assignment; null for the command line. */
  assigned_by: string | null;
}

/** The external id of a record, given by another program. */
export interface ExternalIdsTable {
  /** Workspace of the record; for the external id of a workspace, the default workspace. */
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
  /** Always true, because the table has a single row. */
  id: Generated<boolean>;
  generation: BigInteger;
}

export interface PolicyLogTable {
  generation: BigInteger;
  /** Hashes of the changed keys; null for all keys. */
  key_hashes: string[] | null;
  created_at: GeneratedTimestamp;
}

/** A model provider stored in the database, in addition to those of the configuration file. */
export interface StoredProvidersTable {
  id: string;
  /** Settings in the form of the configuration file, without API keys. */
  settings: JSONColumnType<JsonObject>;
  /** API keys, encrypted by inference-svc; empty without keys. */
  sealed_keys: string;
  /** The last characters of each API key. */
  key_ends: string[];
  /**
   * Number of the last change, from a sequence; so a provider created anew with the same id never has an earlier
   * number.
   */
  revision: Generated<string>;
  created_at: GeneratedTimestamp;
  updated_at: ColumnType<Date, never, Date>;
}
