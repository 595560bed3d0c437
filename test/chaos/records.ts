/** What the database says in the end, held against what administrators and the provider know. */
import { ledgerState } from "@sluice/admin-svc/store/ledger-check.js";
import { cliLimits, openDatabase } from "@sluice/admin-svc/store/postgres.js";
import pg from "pg";
import type { Journal } from "./writing.ts";

/** Every difference, in words; none when all is well. */
export async function differences(
  databaseUrl: string,
  journals: readonly Journal[],
  calls: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    return [
      ...(await wrongAssignments(database, journals)),
      ...(await wrongRecords(database, calls)),
      ...(await wrongLedger(databaseUrl)),
    ];
  } finally {
    await database.end();
  }
}

async function wrongAssignments(database: pg.Client, journals: readonly Journal[]): Promise<string[]> {
  const { rows } = await database.query<{ key_hash: string; guardrail_id: string }>(
    "select key_hash, guardrail_id from guardrail_key_assignments",
  );
  const stored = new Map(rows.map((row) => [row.key_hash, row.guardrail_id]));
  return journals.flatMap(({ keyHashes, acknowledged, uncertain }) => {
    const held = [...new Set(keyHashes.map((hash) => stored.get(hash)))];
    if (held.length > 1) return [`a bulk was half applied: ${held.join(", ")}`];
    return [acknowledged, ...uncertain].includes(held[0]) ? [] : [`an acknowledged write is lost: ${held[0]}`];
  });
}

/** Of a call that was begun and never sent there is a record, too: it is lost. */
async function wrongRecords(database: pg.Client, calls: ReadonlyMap<string, number>): Promise<string[]> {
  const { rows } = await database.query<{ session_id: string; all: string; lost: string }>(
    `select session_id, count(*) as all, count(*) filter (where status = 'lost') as lost
     from usage_records where session_id like 'chaos-%' group by session_id`,
  );
  const found = new Map(rows.map((row) => [row.session_id, row]));
  const missing = [...calls].filter(([session, count]) => Number(found.get(session)?.all ?? 0) < count);
  const doubled = rows.filter(({ session_id, all, lost }) => Number(all) - Number(lost) > (calls.get(session_id) ?? 0));
  return [
    ...missing.map(([session, count]) => `${count} calls for ${session}, ${found.get(session)?.all ?? 0} on record`),
    ...doubled.map(({ session_id, all }) => `${calls.get(session_id) ?? 0} calls for ${session_id}, ${all} on record`),
  ];
}

/** What the command line looks for. */
async function wrongLedger(databaseUrl: string): Promise<string[]> {
  const database = openDatabase(databaseUrl, cliLimits, () => {});
  try {
    const { gaps, wrongSums } = await ledgerState(database);
    return [
      ...gaps.map(({ bootId, missing }) => `${missing} records of boot ${bootId} are missing`),
      ...wrongSums.map(({ column, owner }) => `the sums of ${column} ${owner} are not those of its records`),
    ];
  } finally {
    await database.destroy();
  }
}
