/** Connections to Postgres: every wait on them has a limit, and losing one is an error of its query, never of the process. */
import { Kysely, type LogEvent, PostgresDialect } from "kysely";
import { type ClientBase, type ClientConfig, Pool } from "pg";
import type { Database } from "./database.ts";

export interface ConnectionLimits {
  readonly max: number;
  /** Also the wait for a free connection of the pool. */
  readonly connectTimeoutMs: number;
  /** 0 means none. */
  readonly statementTimeoutMs: number;
  /** 0 means none. */
  readonly lockTimeoutMs: number;
}

/** Point reads behind every request of an unknown key; a pool of their own, so that bulk writes never stand in their way. */
export const readLimits: ConnectionLimits = {
  max: 4,
  connectTimeoutMs: 2_000,
  statementTimeoutMs: 2_000,
  lockTimeoutMs: 2_000,
};

/** Connecting and one full wait for a lock fit into the 10 s that the gateway gives a change. */
export const writeLimits: ConnectionLimits = {
  max: 8,
  connectTimeoutMs: 3_000,
  statementTimeoutMs: 6_000,
  lockTimeoutMs: 4_000,
};

/** A workspace has one of them at most. A pool of their own: they wait for keys, and reservations of running turns must not wait with them. */
export const bulkLimits: ConnectionLimits = { ...writeLimits, max: 2 };

/** One command at a time, at the pace of a person. */
export const cliLimits: ConnectionLimits = {
  max: 2,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 0,
  lockTimeoutMs: 10_000,
};

/** A starter waits for the migration lock as long as another starter migrates. */
export const migrationLimits: ConnectionLimits = {
  max: 2,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 0,
  lockTimeoutMs: 0,
};

export function connection(databaseUrl: string, limits: Omit<ConnectionLimits, "max">): ClientConfig {
  return {
    connectionString: databaseUrl,
    application_name: "sluice-admin",
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    idle_in_transaction_session_timeout: 5_000,
    ...(limits.lockTimeoutMs > 0 && { lock_timeout: limits.lockTimeoutMs }),
    ...(limits.statementTimeoutMs > 0 && {
      statement_timeout: limits.statementTimeoutMs,
      // The server's own limit comes first unless the server is gone without a word.
      query_timeout: limits.statementTimeoutMs + 1_000,
    }),
  };
}

/** Of a session; undefined: the rights of its user. */
export type Role = string | undefined;

/**
 * What a session may do, and how its statements are run: Postgres' compiler takes those that write several tables for expensive ones, and
 * spends 130 of 150 ms of a bulk of 500 keys on itself (PostgreSQL 15, two busy cores, 2026-11-21).
 */
export async function beginSession(client: ClientBase, role: Role): Promise<void> {
  const taken = role === undefined ? "" : `; set role ${client.escapeIdentifier(role)}`;
  await client.query(`set jit = off${taken}`);
}

export interface SessionOptions {
  readonly role?: Role;
  readonly opened?: (pool: Pool) => void;
  /** Hears of every statement when it is over. */
  readonly heard?: ((event: LogEvent) => void) | undefined;
}

/** Opens lazily: the first query connects. `lost` hears of connections that broke. */
export function openDatabase(
  databaseUrl: string,
  limits: ConnectionLimits,
  lost: (error: Error) => void,
  { role, opened, heard }: SessionOptions = {},
): Kysely<Database> {
  // The pool waits for it, and ends a connection where it fails; its types say neither.
  const session = { onConnect: (client: ClientBase) => beginSession(client, role) };
  const pool = new Pool({
    ...connection(databaseUrl, limits),
    ...session,
    max: limits.max,
    idleTimeoutMillis: 30_000,
    // A connection that fell silent would otherwise be handed out for ever.
    maxLifetimeSeconds: 300,
  });
  opened?.(pool);
  pool.on("error", lost);
  // The pool does not listen to a client that is in use, whose query reports the loss: an error that nobody hears ends the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }), ...(heard && { log: heard }) });
}
