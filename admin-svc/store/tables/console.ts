/** Tables of the console, alerts, exports and captured contents. */
import type { AlertType } from "../../rules/alerts.ts";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { BigInteger, GeneratedTimestamp } from "./columns.ts";

/** A console session of a person. */
export interface ConsoleSessionsTable {
  /** SHA-256 of the session's secret, lower-case hexadecimal. */
  hash: string;
  /** Management key used to sign in, or the console key used by people. */
  key_hash: string;
  workspace_id: string;
  role: Generated<string>;
  /** E-mail address; null for a session of a management key. */
  person: string | null;
  /** The rule by which the person has the role; null for a session of a management key. */
  rule: string | null;
  opened_at: GeneratedTimestamp;
  /** Time of the last use, to the minute. */
  seen_at: ColumnType<Date, never, Date>;
  expires_at: Date;
}

/** An alert to be delivered to a sink. */
export interface AlertsTable {
  sink: string;
  /** Names the fact: each sink is notified of it once. */
  event: string;
  /** The same in every attempt to deliver it. */
  id: Generated<string>;
  workspace_id: string;
  type: AlertType;
  facts: JSONColumnType<JsonObject>;
  /** Time of the reported event. */
  at: Date;
  /** `dead`: delivery was given up. */
  state: Generated<"waiting" | "delivered" | "dead">;
  attempts: Generated<number>;
  /** The next attempt, or the time at which the running attempt counts as lost. */
  due_at: Date;
  /** A failed attempt after this time is the last one. */
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
  /** Last number of the batch under way, the same in every attempt; null between batches. */
  batch_last: BigInteger | null;
  batch_at: Date | null;
  attempts: Generated<number>;
  /** The next attempt, or the time at which the running attempt counts as lost. */
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
  /** Id of the row's encryption key in the configuration file. */
  key_id: string;
  salt: Buffer;
  /** Ciphertext and authentication tag. */
  sealed: Buffer;
}

/** A saved view of the explorer. */
export interface ViewsTable {
  workspace_id: string;
  /** Unique in the workspace. */
  name: string;
  /** Query of the explorer's address, percent-encoded. */
  query: string;
  /** Actor of the audit log. */
  created_by: string;
  created_at: GeneratedTimestamp;
  updated_at: ColumnType<Date, never, Date>;
}

/** An alert on a view, with the outcome of its last check. */
export interface AlertRulesTable {
  workspace_id: string;
  /** Unique in the workspace. */
  name: string;
  /** Names the rule in alerts: another one with the same name is another rule. */
  id: Generated<string>;
  settings: JSONColumnType<JsonObject>;
  /** Actor of the audit log. */
  created_by: string;
  created_at: GeneratedTimestamp;
  updated_at: ColumnType<Date, never, Date>;
  is_firing: Generated<boolean>;
  firing_since: Date | null;
  /** Beginning of the time without the condition while the rule fires. */
  calm_since: Date | null;
  /** Times that it fired. */
  episode: Generated<number>;
  /** Figure of the last check. */
  value: number | null;
  checked_at: Date | null;
  /** Why the last check failed, or a channel is not reached. */
  last_error: string | null;
  /** The next check, or the time at which the running one counts as lost. */
  due_at: Generated<Date>;
}

/** The history of an alert on a view. */
export interface AlertRuleEventsTable {
  id: Generated<string>;
  rule_id: string;
  workspace_id: string;
  at: Date;
  type: "fired" | "cleared" | "test";
  value: number | null;
  threshold: number;
}
