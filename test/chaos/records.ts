/** What the database says in the end, held against what administrators and the provider know. */
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
      ...(await gaps(database)),
      ...(await wrongSums(database)),
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

async function gaps(database: pg.Client): Promise<string[]> {
  const { rows } = await database.query<{ boot_id: string; missing: string }>(
    `select boot_id, max(sequence) - count(*) as missing from usage_records group by boot_id having max(sequence) <> count(*)`,
  );
  return rows.map(({ boot_id, missing }) => `${missing} records of boot ${boot_id} are missing`);
}

async function wrongSums(database: pg.Client): Promise<string[]> {
  const { rows } = await database.query<{ key_hash: string }>(
    `select coalesce(days.key_hash, sums.key_hash) as key_hash
     from key_days as days
     full join (
       select key_hash, (opened_at at time zone 'UTC')::date as day, coalesce(sum(cost_usd), 0) as cost, count(*) as calls
       from usage_records group by 1, 2
     ) as sums on sums.key_hash = days.key_hash and sums.day = days.day
     where days.cost_usd is distinct from sums.cost or days.attempts is distinct from sums.calls`,
  );
  return rows.map(({ key_hash }) => `the sums of key ${key_hash} are not those of its records`);
}
