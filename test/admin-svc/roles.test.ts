/** Database rights of admin-svc at run time, and rights reserved for the owner. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { migrate } from "@sluice/admin-svc/store/postgres/migrate.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import { openDatabase, readConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { grantRuntime, runtimeRole } from "@sluice/admin-svc/store/postgres/roles.js";
import { EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { type Kysely, sql } from "kysely";
import {
  type AdminInstallation,
  addGuardrail,
  addKeys,
  callAsAdministrator,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
} from "./installation.ts";

let installation: AdminInstallation;
let running: Kysely<Database>;
beforeAll(async () => {
  installation = await openInstallation();
  running = openDatabase(installation.databaseUrl, readConnectionLimits, () => {}, { role: runtimeRole });
});
afterAll(async () => {
  await running?.destroy();
  await installation?.close();
});

const run = (statement: string, database = running) => sql.raw(statement).execute(database);

describe("the runtime role of admin-svc", () => {
  test.each([
    "delete from audit_log",
    "update audit_log set actor = 'nobody'",
    "truncate audit_log",
    "alter table audit_log disable trigger all",
    "delete from policy_log",
    "delete from usage_records",
    "update usage_records set cost_usd = 0",
    "delete from key_days",
    "delete from api_keys",
    "update workspaces set audit_trimmed_sequence = 1",
    "insert into workspaces (name, audit_sequence) values ('mine', 7)",
    "delete from workspaces",
    "alter table api_keys drop column revoked_at",
    "alter table usage_records rename to other",
    "drop table audit_log",
    "drop function trim_policy_log()",
    "create index other on api_keys (name)",
    "delete from kysely_migration",
    "create role other",
    "select pg_read_file('/etc/passwd')",
  ])("may not %s", async (statement) => {
    await expect(run(statement)).rejects.toMatchObject({ code: "42501" });
  });

  test("may read every table", async () => {
    // Partitions are read through their table.
    const { rows } = await sql<{ name: string; can: boolean }>`
      select relname as name, has_table_privilege(${runtimeRole}, oid, 'select') as can from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition`.execute(
      installation.database,
    );
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.filter(({ can }) => !can)).toEqual([]);
  });

  test("is the role of every session of the service", async () => {
    await run(`revoke select on end_users from ${runtimeRole}`, installation.database);
    const list = () => callAsAdministrator(installation, EndUserService.method.listEndUsers, {});
    await expect(list()).rejects.toThrow();
    expect(await grantRuntime(installation.database)).toBe(true);
    await expect(list()).resolves.toMatchObject({ endUsers: [] });
    await run(`revoke insert on audit_log from ${runtimeRole}`, installation.database);
    const create = () => callAsAdministrator(installation, EndUserService.method.createEndUser, { user: "alice" });
    await expect(create()).rejects.toThrow();
    expect(await grantRuntime(installation.database)).toBe(true);
    await expect(create()).resolves.toMatchObject({ endUser: { user: "alice" } });
  });

  test("may remove old generations", async () => {
    const [keyHash] = (await addKeys(installation.database, 1)) as [string];
    await assignGuardrail(
      installation.client,
      await addGuardrail(installation.database),
      [keyHash],
      bearerMetadata(installation.managementKey),
    );
    await run("update policy_log set created_at = now() - interval '2 days'", installation.database);
    await run("select trim_policy_log()");
    expect((await run("select from policy_log", installation.database)).rows).toEqual([]);
  });
});

describe("a database user", () => {
  const user = `sluice_test_${randomBytes(8).toString("hex")}`;
  const as = async <Result>(work: (database: Kysely<Database>) => Promise<Result>): Promise<Result> => {
    const url = new URL(installation.databaseUrl);
    Object.assign(url, { username: user, password: user });
    const database = openDatabase(url.href, readConnectionLimits, () => {});
    try {
      return await work(database);
    } finally {
      await database.destroy();
    }
  };
  beforeAll(() => run(`create role ${user} login password '${user}'`, installation.database));
  afterAll(() => run(`drop role ${user}`, installation.database));

  test("outside of the runtime role serves with its own rights", async () => {
    expect(await as(grantRuntime)).toBe(false);
  });

  test("with membership in the runtime role and without ownership takes the role on, and grants nothing", async () => {
    await run(`grant ${runtimeRole} to ${user}`, installation.database);
    await run(`revoke select on end_users from ${runtimeRole}`, installation.database);
    await as(migrate);
    expect(await as(grantRuntime)).toBe(true);
    await expect(run("select from end_users")).rejects.toMatchObject({ code: "42501" });
    expect(await grantRuntime(installation.database)).toBe(true);
    await run("select from end_users");
  });
});

test("many databases of one server may create the runtime role at once", async () => {
  const installations = await Promise.all(Array.from({ length: 4 }, () => openInstallation()));
  await Promise.all(installations.map((each) => each.close()));
});
