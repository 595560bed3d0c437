/** Tables of the console, alerts, exports and captured contents. */
import type { AlertType } from "../../rules/alerts.ts";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { BigInteger, GeneratedTimestamp } from "./columns.ts";

/** A console session of a person. */
export interface ConsoleSessionsTable {
  /** SHA-256 of the session's secret in lower-case hexadecimal. */
  hash: string;
  /** Hash of the management key used to sign in, or of the console's key for people. */
  key_hash: string;
  workspace_id: string;
  role: Generated<string>;
  /** E-mail address of the person; null for a session of a management key. */
  person: string | null;
  /** The configured rule that gave the person the role; null for a session of a management key. */
  rule: string | null;
  opened_at: GeneratedTimestamp;
  /** Time of the last use, to the minute. */
  seen_at: ColumnType<Date, never, Date>;
  expires_at: Date;
}

/** An alert to be delivered to a sink. */
export interface AlertsTable {
  sink: string;
  /** Name of the reported event; each sink is notified once of an event. */
  event: string;
  /** Id of the message, the same in every delivery attempt. */
  id: Generated<string>;
  workspace_id: string;
  type: AlertType;
  facts: JSONColumnType<JsonObject>;
  /** Time of the reported event. */
  at: Date;
  /** `dead` means that delivery was given up. */
  state: Generated<"waiting" | "delivered" | "dead">;
  attempts: Generated<number>;
  /** Time of the next attempt, or when the running attempt counts as lost. */
  due_at: Date;
  /** Time after which a failed attempt is the last one. */
  give_up_at: Date;
  settled_at: Date | null;
  /** HTTP status or kind of failure of the last attempt. */
  last_error: string | null;
}

/** The progress of an export in a workspace. */
export interface ExportCursorsTable {
  export: string;
  workspace_id: string;
  /** Start of the export: earlier turns are not exported. */
  started_at: Date;
  started: BigInteger;
  /** Turns up to this export number are delivered. */
  delivered: BigInteger;
  /** Last export number of the batch being delivered, the same in every attempt; null between batches. */
  batch_last: BigInteger | null;
  batch_at: Date | null;
  attempts: Generated<number>;
  /** Time of the next attempt, or when the running attempt counts as lost. */
  due_at: Date;
  last_error: string | null;
}

/** Captured prompt and answer of a turn. A row is written once. */
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

/** A saved view of the console's explorer. */
export interface ViewsTable {
  workspace_id: string;
  /** Unique in the workspace. */
  name: string;
  /** Query string of the explorer's address, percent-encoded. */
  query: string;
  /** Creator of the view, as the audit log names an actor. */
  created_by: string;
  created_at: GeneratedTimestamp;
  updated_at: ColumnType<Date, never, Date>;
}

/** An alert on a view, with the outcome of its last check. */
export interface AlertRulesTable {
  workspace_id: string;
  /** Unique in the workspace. */
  name: string;
  /** Id of the rule in alerts: a rule created later with the same name has another id. */
  id: Generated<string>;
  settings: JSONColumnType<JsonObject>;
  /** Creator of the rule, as the audit log names an actor. */
  created_by: string;
  created_at: GeneratedTimestamp;
  updated_at: ColumnType<Date, never, Date>;
  is_firing: Generated<boolean>;
  firing_since: Date | null;
  /** Time since which the condition has been false while the rule is still firing; null otherwise. */
  calm_since: Date | null;
  /** Number of times that the rule has fired. */
  episode: Generated<number>;
  /** Figure at the last check; null when there was no usage to compute it from. */
  value: number | null;
  checked_at: Date | null;
  /** Why the last check failed or a channel cannot be reached; null without a problem. */
  last_error: string | null;
  /** Time of the next check, or when the running check counts as lost. */
  due_at: Generated<Date>;
}

/** An event in the history of an alert rule. */
export interface AlertRuleEventsTable {
  id: Generated<string>;
  rule_id: string;
  workspace_id: string;
  at: Date;
  type: "fired" | "cleared" | "test";
  value: number | null;
  threshold: number;
}
