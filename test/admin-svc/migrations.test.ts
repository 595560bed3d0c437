/** Many processes start at once on an empty database; an old one meets a newer schema. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { migrations } from "@sluice/admin-svc/migrations/index.js";
import { NewerSchemaError, migrate } from "@sluice/admin-svc/migrations/migrate.js";
import { prepareSchema } from "@sluice/admin-svc/prepare.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { migrationLimits, openDatabase } from "@sluice/admin-svc/store/postgres.js";
import { openLog } from "@sluice/proto/runtime/log.js";
import { type Kysely, sql } from "kysely";
import { createDatabase } from "../support/database.ts";

let created: Awaited<ReturnType<typeof createDatabase>>;
let database: Kysely<Database>;
beforeEach(async () => {
  created = await createDatabase();
  database = openDatabase(created.url, migrationLimits, () => {});
});
afterEach(async () => {
  await database.destroy();
  await created.drop();
});

const applied = async (): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(database);
  return rows.map(({ name }) => name);
};

test("ten starters at once: each succeeds, each migration runs once", async () => {
  const log = openLog("test", "silent");
  await Promise.all(Array.from({ length: 10 }, () => prepareSchema(created.url, log)));
  expect(await applied()).toEqual(Object.keys(migrations));
  const workspaces = await database.selectFrom("workspaces").select(["id", "name"]).execute();
  expect(workspaces).toEqual([{ id: defaultWorkspaceId, name: "default" }]);
  expect(await database.selectFrom("policy_generation").select("generation").execute()).toEqual([{ generation: "1" }]);
});

test("a second start changes nothing", async () => {
  await migrate(database);
  await sql`update policy_generation set generation = 7`.execute(database);
  await migrate(database);
  expect(await applied()).toEqual(Object.keys(migrations));
  expect(await database.selectFrom("policy_generation").select("generation").execute()).toEqual([{ generation: "7" }]);
});

test("a schema of a later build is refused by name, and left as it is", async () => {
  await migrate(database);
  const later = "9999_from_the_future";
  await sql`insert into kysely_migration (name, timestamp) values (${later}, '2099-01-01')`.execute(database);
  await expect(migrate(database)).rejects.toThrow(NewerSchemaError);
  await expect(migrate(database)).rejects.toThrow(later);
  expect(await applied()).toEqual([...Object.keys(migrations), later]);
});

test("a migration that fails leaves nothing behind", async () => {
  // The last table of the first migration exists already.
  await sql`create table policy_log (generation bigint)`.execute(database);
  await expect(migrate(database)).rejects.toThrow("policy_log");
  expect(await applied()).toEqual([]);
  const { rows } = await sql<{ found: boolean }>`select to_regclass('api_keys') is not null as found`.execute(database);
  expect(rows).toEqual([{ found: false }]);
});
