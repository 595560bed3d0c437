/** Compares the final state of the database with the journals of administrators, of clients and of the provider. */
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { cliLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import pg from "pg";
import type { Journal } from "./assignments.ts";

/**
 * Every difference, in words; none when all is well.
 * @param calls that the provider counted, by session
 * @param answered sessions whose turn had a whole answer
 */
export async function differences(
  databaseUrl: string,
  journals: readonly Journal[],
  calls: ReadonlyMap<string, number>,
  answered: readonly string[],
): Promise<readonly string[]> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    return [
      ...(await wrongAssignments(database, journals)),
      ...(await wrongRecords(database, calls, answered)),
      ...(await wrongTurns(database, answered)),
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

/**
 * A call that was begun and never sent has a record, too. It is lost when its process was killed, cancelled when the gateway or the client was
 * gone before the provider was asked, and failed with 503 when the process was ended.
 */
const maybeUnsent = "status in ('lost', 'cancelled') or (status = 'failed' and http_status = 503)";

interface Recorded {
  readonly session_id: string;
  readonly all: string;
  readonly sent: string;
  readonly completed: string;
  readonly statuses: string;
}

async function wrongRecords(
  database: pg.Client,
  calls: ReadonlyMap<string, number>,
  answered: readonly string[],
): Promise<string[]> {
  const { rows } = await database.query<Recorded>(
    `select session_id, count(*) as all, count(*) filter (where not (${maybeUnsent})) as sent,
       count(*) filter (where status = 'completed') as completed,
       string_agg(status || ' ' || http_status, ', ') as statuses
     from usage_records where session_id like 'chaos-%' group by session_id`,
  );
  const found = new Map(rows.map((row) => [row.session_id, row]));
  const on = (session: string) => `on record (${found.get(session)?.statuses ?? "nothing"})`;
  const missing = [...calls].filter(([session, count]) => Number(found.get(session)?.all ?? 0) < count);
  const doubled = rows.filter(({ session_id, sent }) => Number(sent) > (calls.get(session_id) ?? 0));
  const unrecorded = answered.filter((session) => Number(found.get(session)?.completed ?? 0) === 0);
  return [
    ...missing.map(([session, count]) => `${count} calls for ${session}, too few ${on(session)}`),
    ...doubled.map(
      ({ session_id }) => `${calls.get(session_id) ?? 0} calls for ${session_id}, too many ${on(session_id)}`,
    ),
    ...unrecorded.map((session) => `${session} was answered, and no whole answer is ${on(session)}`),
  ];
}

/** A client hears the end of its answer only after the record of the call; where the record of the turn is lost with its process, that call tells the end. */
async function wrongTurns(database: pg.Client, answered: readonly string[]): Promise<string[]> {
  const { rows } = await database.query<{ session_id: string; outcomes: string; completed: string }>(
    `select session_id, string_agg(outcome, ', ') as outcomes, count(*) filter (where outcome = 'completed') as completed
     from turns where session_id like 'chaos-%' group by session_id`,
  );
  const found = new Map(rows.map((row) => [row.session_id, row]));
  return answered
    .filter((session) => Number(found.get(session)?.completed ?? 0) === 0)
    .map((session) => `${session} was answered, and its turn is ${found.get(session)?.outcomes ?? "not listed"}`);
}

/** The same checks that the command line runs. */
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
