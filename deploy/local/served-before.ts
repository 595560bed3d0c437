/** Whether a database belongs to an earlier start, so that a secret made now is not the one under which it was used. */
import pg from "pg";

const connectLimitMs = 5_000;

/** False also when the database cannot be asked: admin-svc, which needs it, says why. */
export async function hasServedBefore(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: connectLimitMs });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ used: boolean }>("SELECT to_regclass('api_keys') IS NOT NULL AS used");
    if (rows[0]?.used !== true) return false;
    const keys = await client.query<{ used: boolean }>("SELECT EXISTS (SELECT FROM api_keys) AS used");
    return keys.rows[0]?.used === true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
