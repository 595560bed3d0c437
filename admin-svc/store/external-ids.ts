/** Finds records by external id, and creates or changes them in one transaction. */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Database } from "./database.ts";
import type { ExternalIdsTable } from "./tables/administration.ts";
import { runInTransaction } from "./postgres/transaction.ts";

export interface ExternalId {
  readonly workspaceId: string;
  readonly kind: ExternalIdsTable["kind"];
  readonly externalId: string;
}

export interface PutResult<Result> {
  readonly result: Result;
  readonly created: boolean;
}

interface PutSteps<Result> {
  /** Changes the existing record; undefined when it no longer exists. */
  readonly change: (transaction: Transaction<Database>, target: string) => Promise<Result | undefined>;
  readonly make: (transaction: Transaction<Database>) => Promise<Result>;
  /** Hash or id of the created or changed record. */
  readonly targetOf: (result: Result) => string;
}

/**
 * Creates or changes the record of an external id. Calls with the same id wait for one another, so two simultaneous
 * calls create one record.
 */
export function putByExternalId<Result>(
  database: Kysely<Database>,
  id: ExternalId,
  { change, make, targetOf }: PutSteps<Result>,
): Promise<PutResult<Result>> {
  return runInTransaction(database, async (transaction) => {
    const name = JSON.stringify([id.workspaceId, id.kind, id.externalId]);
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(transaction);
    const known = await findRecordByExternalId(transaction, id);
    const changed = known === undefined ? undefined : await change(transaction, known);
    if (changed) return { result: changed, created: false };
    const result = await make(transaction);
    await remember(transaction, id, targetOf(result));
    return { result, created: true };
  });
}

/** Hash or id of the record with an external id; undefined when there never was one. */
export async function findRecordByExternalId(database: Kysely<Database>, id: ExternalId): Promise<string | undefined> {
  const row = await database
    .selectFrom("external_ids")
    .select("target")
    .where("workspace_id", "=", id.workspaceId)
    .where("kind", "=", id.kind)
    .where("external_id", "=", id.externalId)
    .executeTakeFirst();
  return row?.target;
}

/** External ids by the hashes or ids of records. Records without an external id are left out. */
export async function externalIdsOf(
  database: Kysely<Database>,
  kind: ExternalId["kind"],
  targets: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await database
    .selectFrom("external_ids")
    .select(["target", "external_id"])
    .where("kind", "=", kind)
    .where("target", "=", sql<string>`any(${targets}::text[])`)
    .execute();
  return new Map(rows.map(({ target, external_id: id }) => [target, id]));
}

async function remember(database: Kysely<Database>, id: ExternalId, target: string): Promise<void> {
  await database
    .insertInto("external_ids")
    .values({ workspace_id: id.workspaceId, kind: id.kind, external_id: id.externalId, target })
    .onConflict((conflict) => conflict.columns(["workspace_id", "kind", "external_id"]).doUpdateSet({ target }))
    .execute();
}

/** Moves the external ids of a record to its successor, such as a rotated key. */
export async function moveExternalIds(database: Kysely<Database>, from: string, to: string): Promise<void> {
  await database.updateTable("external_ids").set({ target: to }).where("target", "=", from).execute();
}
