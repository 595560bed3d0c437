/** A process that cached a policy before a restore enforces the policy of the restored database. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
import { eventually } from "../support/processes.ts";
import { type AdminInstallation, addKey, openInstallation, serviceToken } from "./installation.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());

test("after a restore, a key made since the backup is unknown at once, and one revoked since is valid again", async () => {
  const { database, port, log } = installation;
  const client = dial(`127.0.0.1:${port}`);
  const access = new Access({ client, token: serviceToken, process: "test", log, registry: new Registry() });
  await access.watch();
  const old = { hash: hashKey(await addKey(database)) };
  const { generation: backup } = await access.resolve(old.hash);
  const later = { hash: hashKey(await addKey(database)) };
  await sql`update api_keys set revoked_at = now() where hash = ${old.hash}`.execute(database);
  await sql`update policy_generation set generation = generation + 3`.execute(database);
  await eventually(async () => (await access.resolve(old.hash)).caller === undefined);
  expect((await access.resolve(later.hash)).caller).toBeDefined();
  expect(access.generation).toBeGreaterThan(backup);

  // The state of the backup, with an earlier policy.
  await database.transaction().execute(async (restore) => {
    await sql`delete from policy_log where generation > ${backup}`.execute(restore);
    await sql`update policy_generation set generation = ${backup}`.execute(restore);
    await sql`delete from api_keys where hash = ${later.hash}`.execute(restore);
    await sql`update api_keys set revoked_at = null where hash = ${old.hash}`.execute(restore);
  });
  await eventually(() => access.generation === backup);
  expect((await access.resolve(later.hash)).caller).toBeUndefined();
  expect((await access.resolve(old.hash)).caller).toBeDefined();
  access.stop();
});
