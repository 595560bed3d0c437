/** Tables of the console and of what Sluice tells by itself: sessions, alerts, exports and captured contents. */
import type { AlertType } from "@sluice/proto/contract/records/alerts.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { ColumnType, Generated, JSONColumnType } from "kysely";
import type { BigInteger, Stamp } from "./columns.ts";

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
