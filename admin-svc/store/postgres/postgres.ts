/**
 * Opens connections to Postgres. Every wait has a time limit, and a lost connection fails its query but never ends the
 * process.
 */
import { Kysely, type LogEvent, PostgresDialect } from "kysely";
import { type ClientBase, type ClientConfig, Pool } from "pg";
import type { Database } from "../database.ts";
import { prepareMarked } from "./prepared.ts";

export interface ConnectionLimits {
  readonly max: number;
  /** Time limit for connecting, and for waiting for a free connection of the pool. */
  readonly connectTimeoutMs: number;
  /** Time limit of a statement; 0 for none. */
  readonly statementTimeoutMs: number;
  /** Time limit for waiting for a lock; 0 for none. */
  readonly lockTimeoutMs: number;
}

/**
 * Limits of the pool that resolves unknown keys of requests. A separate pool keeps administrative operations from
 * delaying these reads.
 */
export const resolutionConnectionLimits: ConnectionLimits = {
  max: 4,
  connectTimeoutMs: 2_000,
  statementTimeoutMs: 2_000,
  lockTimeoutMs: 2_000,
};

/** Limits of the pool for administrative reads of single records, including the key of each call. */
export const readConnectionLimits: ConnectionLimits = { ...resolutionConnectionLimits, max: 2 };

/** Maximum number of simultaneous lists, searches and sums, without the checks of alert rules. */
export const maxReports = 4;

/**
 * Limits of the pool for lists, searches and sums, which may read many rows. There are as many connections as
 * concurrent reports and one more for the check of an alert rule, so neither waits for a connection.
 */
export const reportConnectionLimits: ConnectionLimits = {
  max: maxReports + 1,
  connectTimeoutMs: 2_000,
  statementTimeoutMs: 3_000,
  lockTimeoutMs: 0,
};

/**
 * Limits of the pool for writes. Connecting and one full wait for a lock together take less than the gateway's limit of
 * 10 s for a change.
 */
export const writeConnectionLimits: ConnectionLimits = {
  max: 8,
  connectTimeoutMs: 3_000,
  statementTimeoutMs: 6_000,
  lockTimeoutMs: 4_000,
};

/**
 * Limits of the pool for bulk changes, of which a workspace runs one at a time. A separate pool keeps bulks waiting
 * for keys from delaying budget reservations of running turns.
 */
export const bulkConnectionLimits: ConnectionLimits = { ...writeConnectionLimits, max: 2 };

/** Limits of the command line: generous, because a command runs alone and a person waits for it. */
export const commandConnectionLimits: ConnectionLimits = {
  max: 2,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 0,
  lockTimeoutMs: 10_000,
};

/** Limits of the connection for portions of a backfill. */
export const backfillConnectionLimits: ConnectionLimits = {
  max: 1,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 0,
  lockTimeoutMs: 4_000,
};

/**
 * Limits of the connection for migrations: a starting process waits for the migration lock as long as another process
 * migrates.
 */
export const migrationConnectionLimits: ConnectionLimits = {
  max: 2,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 0,
  lockTimeoutMs: 0,
};

/**
 * Connection settings, without time limits enforced by the server: poolers refuse unknown start-up parameters, so each
 * session sets these limits itself.
 */
export function connection(databaseUrl: string, limits: Omit<ConnectionLimits, "max">): ClientConfig {
  return {
    connectionString: databaseUrl,
    application_name: "sluice-admin",
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    // The server's own limit ends a statement first, except on a dead connection, which this limit ends.
    ...(limits.statementTimeoutMs > 0 && { query_timeout: limits.statementTimeoutMs + 1_000 }),
  };
}

/** Database role that a session takes; undefined keeps the privileges of its user. */
export type Role = string | undefined;

/**
 * Sets limits and role of a session, and turns JIT compilation off: Postgres overestimates the cost of statements that
 * write several tables, and spent 130 of 150 ms of a bulk of 500 keys on compiling them (PostgreSQL 15, two busy cores,
 * 2026-11-21).
 */
export async function beginSession(
  client: ClientBase,
  { statementTimeoutMs, lockTimeoutMs }: Pick<ConnectionLimits, "statementTimeoutMs" | "lockTimeoutMs">,
  role: Role,
): Promise<void> {
  const settings = [
    "jit = off",
    "idle_in_transaction_session_timeout = 5000",
    `lock_timeout = ${lockTimeoutMs}`,
    `statement_timeout = ${statementTimeoutMs}`,
    ...(role === undefined ? [] : [`role = ${client.escapeIdentifier(role)}`]),
  ];
  await client.query(settings.map((setting) => `set ${setting}`).join("; "));
}

export interface SessionOptions {
  readonly role?: Role;
  readonly opened?: (pool: Pool) => void;
  /** Called after every statement. */
  readonly onStatement?: ((event: LogEvent) => void) | undefined;
}

/** Creates a pool; the first query connects. @param lost called for broken connections */
export function openDatabase(
  databaseUrl: string,
  limits: ConnectionLimits,
  lost: (error: Error) => void,
  { role, opened, onStatement }: SessionOptions = {},
): Kysely<Database> {
  // The pool awaits this hook and closes a connection when it fails, though the type declarations of pg do not mention
  // it.
  const session = { onConnect: (client: ClientBase) => beginSession(client, limits, role) };
  const pool = new Pool({
    ...connection(databaseUrl, limits),
    ...session,
    max: limits.max,
    idleTimeoutMillis: 30_000,
    // Connections are replaced after a while, because a silently dead one would otherwise be handed out for ever.
    maxLifetimeSeconds: 300,
  });
  opened?.(pool);
  pool.on("error", lost);
  // The pool does not listen for errors of a client in use, and an error event without a listener would end the
  // process. The client's query reports the lost connection anyway.
  pool.on("connect", (client) => {
    client.on("error", () => {});
    prepareMarked(client);
  });
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }), ...(onStatement && { log: onStatement }) });
}
