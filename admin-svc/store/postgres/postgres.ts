/** Connections to Postgres. Every wait has a limit, and a lost connection is an error of its query, never of the process. */
import { Kysely, type LogEvent, PostgresDialect } from "kysely";
import { type ClientBase, type ClientConfig, Pool } from "pg";
import type { Database } from "../database.ts";
import { prepareMarked } from "./prepared.ts";

export interface ConnectionLimits {
  readonly max: number;
  /** Limit for connecting, and for the wait for a free connection of the pool. */
  readonly connectTimeoutMs: number;
  /** No limit when 0. */
  readonly statementTimeoutMs: number;
  /** No limit when 0. */
  readonly lockTimeoutMs: number;
}

/** For the reads behind every request with an unknown key. The separate pool keeps administration from blocking them. */
export const resolutionConnectionLimits: ConnectionLimits = {
  max: 4,
  connectTimeoutMs: 2_000,
  statementTimeoutMs: 2_000,
  lockTimeoutMs: 2_000,
};

/** For the point reads of administration, including the key of each call. */
export const readConnectionLimits: ConnectionLimits = { ...resolutionConnectionLimits, max: 2 };

/** For lists, searches and sums, which may read much. A connection is free when a report begins, so nothing waits for one. */
export const reportConnectionLimits: ConnectionLimits = {
  max: 4,
  connectTimeoutMs: 2_000,
  statementTimeoutMs: 3_000,
  lockTimeoutMs: 0,
};

/** Connecting and one full wait for a lock fit into the gateway's limit of 10 s for a change. */
export const writeConnectionLimits: ConnectionLimits = {
  max: 8,
  connectTimeoutMs: 3_000,
  statementTimeoutMs: 6_000,
  lockTimeoutMs: 4_000,
};

/** A workspace runs at most one bulk at a time. The separate pool keeps bulks waiting for keys from blocking reservations of running turns. */
export const bulkConnectionLimits: ConnectionLimits = { ...writeConnectionLimits, max: 2 };

/** Generous, because a command has no competition and a person waits for it. */
export const commandConnectionLimits: ConnectionLimits = {
  max: 2,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 0,
  lockTimeoutMs: 10_000,
};

/** Limits of the connections for portions of a backfill. */
export const backfillConnectionLimits: ConnectionLimits = {
  max: 1,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 0,
  lockTimeoutMs: 4_000,
};

/** A starting process waits for the migration lock as long as another process migrates. */
export const migrationConnectionLimits: ConnectionLimits = {
  max: 2,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 0,
  lockTimeoutMs: 0,
};

/** Limits of the server are not included: a pooler refuses unknown start-up parameters, so each session sets them. */
export function connection(databaseUrl: string, limits: Omit<ConnectionLimits, "max">): ClientConfig {
  return {
    connectionString: databaseUrl,
    application_name: "sluice-admin",
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    // The server's own limit ends a statement first, unless the connection is dead.
    ...(limits.statementTimeoutMs > 0 && { query_timeout: limits.statementTimeoutMs + 1_000 }),
  };
}

/** Role of a session; undefined keeps the rights of its user. */
export type Role = string | undefined;

/**
 * Sets limits and role of a session and turns JIT compilation off: Postgres overestimates statements that write several tables, and spent 130 of 150 ms of
 * a bulk of 500 keys on compiling them (PostgreSQL 15, two busy cores, 2026-11-21).
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

/** Opens lazily: the first query connects. `lost` is called for broken connections. */
export function openDatabase(
  databaseUrl: string,
  limits: ConnectionLimits,
  lost: (error: Error) => void,
  { role, opened, onStatement }: SessionOptions = {},
): Kysely<Database> {
  // The pool awaits this hook and closes a connection when it fails, although its types do not show it.
  const session = { onConnect: (client: ClientBase) => beginSession(client, limits, role) };
  const pool = new Pool({
    ...connection(databaseUrl, limits),
    ...session,
    max: limits.max,
    idleTimeoutMillis: 30_000,
    // Replaces silently dead connections, which would otherwise be handed out for ever.
    maxLifetimeSeconds: 300,
  });
  opened?.(pool);
  pool.on("error", lost);
  // The pool does not listen to a client in use, and an error event without a listener would end the process. The client's query reports the lost
  // connection.
  pool.on("connect", (client) => {
    client.on("error", () => {});
    prepareMarked(client);
  });
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }), ...(onStatement && { log: onStatement }) });
}
