/** Compares the final state of the database with the journals of administrators, of clients and of the provider. */
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { commandConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import pg from "pg";
import type { Journal } from "./assignments.ts";

/**
 * Describes every difference; empty if there is none.  @param calls number of calls counted by the provider, by session  @param answered session of
 * each turn that was answered completely
 */
export async function findRecordDifferences(
  databaseUrl: string,
  journals: readonly Journal[],
  calls: ReadonlyMap<string, number>,
  answered: readonly string[],
): Promise<readonly string[]> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { missing, doubled, unrecorded, sums } = await wrongRecords(databaseUrl, database, calls, answered);
    return [...(await wrongAssignments(database, journals)), ...missing, ...doubled, ...unrecorded, ...sums];
  } finally {
    await database.end();
  }
}

/** Faults of the ledger, as texts. */
export interface WrongRecords {
  /** Calls that only the provider has counted. */
  readonly missing: readonly string[];
  /** Calls that only the ledger has counted. */
  readonly doubled: readonly string[];
  /** Answered turns whose record is missing or differs. */
  readonly unrecorded: readonly string[];
  /** Gaps in the sums, and sums that differ from their records. */
  readonly sums: readonly string[];
}

/** Parameters of `findRecordDifferences`. */
export async function wrongRecords(
  databaseUrl: string,
  database: pg.Client,
  calls: ReadonlyMap<string, number>,
  answered: readonly string[],
): Promise<WrongRecords> {
  const answers = new Map<string, number>();
  for (const session of answered) answers.set(session, (answers.get(session) ?? 0) + 1);
  const { missing, doubled, unrecorded } = await wrongCalls(database, calls, answers);
  const unlisted = await wrongTurns(database, answers);
  return { missing, doubled, unrecorded: [...unrecorded, ...unlisted], sums: await wrongLedger(databaseUrl) };
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
 * SQL condition for calls that may not have reached the provider: a call that began but was not sent has a record, too. Its status is lost if its
 * process was killed, cancelled if the gateway or the client was gone before, and failed with 503 if the process was ended.
 */
const maybeUnsent = "status in ('lost', 'cancelled') or (status = 'failed' and http_status = 503)";

interface Recorded {
  readonly session_id: string;
  readonly all: string;
  readonly sent: string;
  readonly completed: string;
  readonly statuses: string;
}

async function wrongCalls(
  database: pg.Client,
  calls: ReadonlyMap<string, number>,
  answers: ReadonlyMap<string, number>,
): Promise<Omit<WrongRecords, "sums">> {
  const { rows } = await database.query<Recorded>(
    `select session_id, count(*) as all, count(*) filter (where not (${maybeUnsent})) as sent,
       count(*) filter (where status = 'completed') as completed,
       string_agg(status || ' ' || http_status, ', ') as statuses
     from all_calls where session_id is not null group by session_id`,
  );
  const found = new Map(rows.map((row) => [row.session_id, row]));
  const on = (session: string) => `on record (${found.get(session)?.statuses ?? "nothing"})`;
  const missing = [...calls].filter(([session, count]) => Number(found.get(session)?.all ?? 0) < count);
  const doubled = rows.filter(({ session_id, sent }) => Number(sent) > (calls.get(session_id) ?? 0));
  const unrecorded = [...answers].filter(([session, count]) => Number(found.get(session)?.completed ?? 0) < count);
  return {
    missing: missing.map(([session, count]) => `${count} calls for ${session}, too few ${on(session)}`),
    doubled: doubled.map(
      ({ session_id }) => `${calls.get(session_id) ?? 0} calls for ${session_id}, too many ${on(session_id)}`,
    ),
    unrecorded: unrecorded.map(
      ([session, count]) => `${session} was answered ${count} times, and not every whole answer is ${on(session)}`,
    ),
  };
}

/** Turns whose records are wrong. A client gets the end of its answer only after the records of the call and of the turn are on disk. */
async function wrongTurns(database: pg.Client, answers: ReadonlyMap<string, number>): Promise<string[]> {
  const { rows } = await database.query<{ session_id: string; outcomes: string; completed: string }>(
    `select session_id, string_agg(outcome || case when is_recorded then '' else ' by their calls' end, ', ') as outcomes,
       count(*) filter (where outcome = 'completed' and is_recorded) as completed
     from all_turns where session_id is not null group by session_id`,
  );
  const found = new Map(rows.map((row) => [row.session_id, row]));
  return [...answers]
    .filter(([session, count]) => Number(found.get(session)?.completed ?? 0) < count)
    .map(([session]) => `${session} was answered, and its turns are ${found.get(session)?.outcomes ?? "not listed"}`);
}

/** Runs the same checks of the ledger as the command line. */
async function wrongLedger(databaseUrl: string): Promise<string[]> {
  const database = openDatabase(databaseUrl, commandConnectionLimits, () => {});
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
