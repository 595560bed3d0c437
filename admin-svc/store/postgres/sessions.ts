/**
 * Checks that a connection keeps its session. Behind a pooler in transaction or statement mode, connections share
 * settings, role, locks and LISTEN: admin-svc would run without time limits, and other programs behind the pooler would
 * run in its role.
 */
import { Client } from "pg";
import { connection, migrationConnectionLimits } from "./postgres.ts";

/** Error of a connection that does not keep its session; retrying does not help. */
export class NoSessionError extends Error {
  override readonly name = "NoSessionError";
  constructor(variable: string) {
    super(
      `${variable} leads to a pooler that gives each transaction another session of Postgres. Pool by session (PgBouncer: pool_mode = session), or connect to Postgres itself`,
    );
  }
}

/** Number of repetitions of the check, because a pooler may give out the same session by chance. */
const rounds = 3;

/**
 * @param variable name of the environment variable with the address, for the error text
 * @throws NoSessionError when connections share sessions
 */
export async function requireSessions(databaseUrl: string, variable = "DATABASE_URL"): Promise<void> {
  const [one, other] = [0, 1].map(() => new Client(connection(databaseUrl, migrationConnectionLimits))) as [
    Client,
    Client,
  ];
  const clients = [one, other];
  for (const client of clients) client.on("error", () => {});
  try {
    for (const client of clients) await client.connect();
    for (let round = 0; round < rounds; round++)
      if (await sharesSessions(one, other)) throw new NoSessionError(variable);
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
  }
}

/**
 * Whether two connections share a session. Between statements, a pooler gives the session of one connection to the
 * other when it begins a transaction, or uses another session for the next statement.
 */
async function sharesSessions(one: Client, other: Client): Promise<boolean> {
  const first = await sessionOf(one);
  if ((await sessionOf(one)) !== first) return true;
  try {
    await other.query("begin");
  } catch (error) {
    if (/statement pooling/.test(String(error))) return true;
    throw error;
  }
  const held = await sessionOf(other);
  const last = await sessionOf(one);
  await other.query("rollback");
  return held === first || last !== first;
}

async function sessionOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid as number;
}
