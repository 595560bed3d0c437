/** Removal of records by age and on demand; both logs still pass their checks afterwards. */
import { randomUUID } from "node:crypto";
import { toJsonString } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { auditStates } from "@sluice/admin-svc/store/audit-check.js";
import { removeExpiredRecords } from "@sluice/admin-svc/store/ledger/retention.js";
import {
  LedgerService,
  RecordUsageRequestSchema,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
import { type AdminInstallation, openInstallation, serviceToken, timeoutMs } from "./installation.ts";
import { usageRecord } from "./usage.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

async function admin(...args: string[]) {
  let stdout = "";
  let stderr = "";
  const code = await runCli(args, {
    databaseUrl: installation.databaseUrl,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

const record = (...records: UsageRecord[]) => {
  const recordsJson = records.map((each) => Buffer.from(toJsonString(UsageRecordSchema, each)));
  const request = create(RecordUsageRequestSchema, { recordsJson });
  return call(installation.client, LedgerService.method.recordUsage, request, serviceMetadata(serviceToken), timeoutMs);
};

const daysAgo = (days: number) => BigInt(Date.now() - days * 86_400_000);

const turns = async () => {
  const rows = await installation.database.selectFrom("all_calls").select("turn_id").execute();
  return rows.map(({ turn_id: turnId }) => turnId);
};

describe("retention", () => {
  test("removes old records and keeps their sums; the ledger stays intact", async () => {
    const bootId = randomUUID();
    const [old, edge, fresh] = [40, 29, 0].map((days, n) =>
      usageRecord({ bootId, sequence: BigInt(n + 1), openedAtMs: daysAgo(days) }),
    ) as [UsageRecord, UsageRecord, UsageRecord];
    await record(old, edge, fresh);
    const sums = () =>
      sql`select sum(cost_usd) as cost, sum(attempts) as calls from key_days`.execute(installation.database);
    const before = (await sums()).rows;
    const { code, stdout } = await admin("retention", "run", "--ledger-days", "30");
    expect([code, stdout]).toEqual([0, "ledger: 1 removed\nledger: 1 removed\nturns: 1 removed\nturns: 1 removed\n"]);
    expect(new Set(await turns())).toEqual(new Set([edge.turnId, fresh.turnId]));
    expect((await sums()).rows).toEqual(before);
    expect(await admin("ledger", "check")).toMatchObject({ code: 0 });
    await record(usageRecord({ bootId, sequence: 5n, openedAtMs: daysAgo(0) }));
    const { stderr, stdout: state } = await admin("ledger", "check");
    expect(state).toMatch(new RegExp(`^${bootId} +test-1 +1 `, "m"));
    expect(stderr).toBe("the ledger is inconsistent: 1 place\n");
  });

  test("removes the beginning of the audit log, and the rest can be verified", async () => {
    for (let n = 0; n < 5; n++) await admin("keys", "create", "--name", `k${n}`);
    await admin("workspaces", "create", "--name", "quiet");
    const aged = "update audit_log set at = at - interval '100 days' where sequence <= 4";
    await sql.raw(aged).execute(installation.database);
    const { code, stdout } = await admin("retention", "run", "--audit-days", "90");
    expect([code, stdout]).toEqual([0, "audit: 5 removed\naudit: 5 removed\n"]);
    const [main] = await auditStates(installation.database);
    expect(main).toMatchObject({ name: "default", wrong: [] });
    const list = JSON.parse((await admin("audit", "list", "--json")).stdout) as { sequence: number; action: string }[];
    expect(list.at(-1)?.sequence).toBe(5);
    expect(list[0]).toMatchObject({ action: "retention.run", after: { audit_days: 90, ledger_days: null } });
    await sql`delete from audit_log where sequence = 5`.execute(installation.database);
    expect((await auditStates(installation.database))[0]?.wrong).toEqual(["6"]);
  });

  test("removes records of more than one batch, also after an interruption", async () => {
    await sql`
      insert into usage_records
      select gen_random_uuid(), 1, ${randomUUID()}, n, 'many', workspace_id, key_hash, generation_id, request_id,
        now() - interval '50 days', duration_ms, model, provider, upstream_model, service_tier, status, http_status,
        input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, is_estimated, cost_usd,
        streamed, "user", session_id, now(), kind
      from generate_series(1, 10001) as n, (select * from usage_records limit 1) as one`.execute(installation.database);
    const author = { keyHash: null, program: "cli", requestId: null } as const;
    for await (const { count } of removeExpiredRecords(installation.database, author, { ledgerDays: 30 })) {
      expect(count).toBe(10_000);
      break;
    }
    const { stdout } = await admin("retention", "run", "--ledger-days", "30", "--audit-days", "30");
    expect(stdout).toBe("ledger: 1 removed\nledger: 1 removed\nturns: 0 removed\naudit: 0 removed\n");
    const many = await sql`select from usage_records where instance = 'many'`.execute(installation.database);
    expect(many.rows).toEqual([]);
  });

  test.each([
    [["retention", "run"], "missing option: --ledger-days or --audit-days"],
    [["retention", "run", "--ledger-days", "0"], "--ledger-days: a number of days"],
    [["retention", "run", "--audit-days", "1e3"], "--audit-days: a number of days"],
  ])("refuses the command line %j", async (args, message) => {
    expect(await admin(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
  });
});

describe("an erased end user", () => {
  const user = "mallory@example.com";
  beforeEach(async () => {
    for (const table of ["usage_records", "turns", "usage_changes", "usage_sums"] as const)
      await installation.database.deleteFrom(table).execute();
  });

  test("is removed from every table, and no other data is lost", async () => {
    const other = "alice@example.com";
    await record(
      ...[45, 2, 2, 0].map((days) => usageRecord({ user, sessionId: "s", openedAtMs: daysAgo(days) })),
      usageRecord({ user: other, sessionId: "t", openedAtMs: daysAgo(2) }),
    );
    for (const name of [user, other]) await admin("end-users", "create", name);
    await admin("end-users", "deactivate", user);
    for (const name of [user, other]) await admin("keys", "create", "--name", "k", "--external-user", name);
    for (const name of [user, other]) await admin("views", "put", `of ${name.length}`, `tab=errors&user=${name}`);
    const { code, stdout } = await admin("end-users", "erase", user, "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      records: 4,
      tags: 0,
      keys: 1,
      entries: 4,
      views: 1,
      rules: 0,
      registered: true,
    });
    expect(JSON.parse((await admin("views", "list", "--json")).stdout)).toHaveLength(1);
    expect(await everything()).not.toContain(user);
    expect(await everything()).toContain(other);
    const rows = await installation.database
      .selectFrom("all_calls")
      .select(["user", "session_id", "cost_usd"])
      .execute();
    expect(rows.filter((row) => row.user === null && row.session_id === null && row.cost_usd !== null).length).toBe(4);
    expect(rows.filter((row) => row.user === other && row.session_id === "t").length).toBe(1);
  });

  test("leaves an intact audit log with an entry for the erasure", async () => {
    await admin("end-users", "create", user);
    expect((await admin("end-users", "erase", user)).stdout).toBe(
      "erased from 0 records, tags of 0 more, 0 keys and 1 entries of the audit log; 0 views and 0 alerts deleted; no longer registered\n",
    );
    expect((await admin("end-users", "erase", user)).stdout).toBe(
      "erased from 0 records, tags of 0 more, 0 keys and 0 entries of the audit log; 0 views and 0 alerts deleted\n",
    );
    const list = JSON.parse((await admin("audit", "list", "--json", "--limit", "3")).stdout) as object[];
    expect(list).toMatchObject([
      { action: "end-users.erase", after: { entries: 0 } },
      { action: "end-users.erase", after: { entries: 1, registered: true } },
      { action: "end-users.create", actor: "cli", target: null, after: null, erased_at: expect.any(String) },
    ]);
    const erased = "update audit_log set actor = 'nobody' where erased_at is not null";
    const wrongBefore = (await auditStates(installation.database))[0]?.wrong.length ?? 0;
    await sql.raw(erased).execute(installation.database);
    expect((await auditStates(installation.database))[0]?.wrong.length).toBeGreaterThan(wrongBefore);
  });

  /** Every row of every table, as text. */
  async function everything(): Promise<string> {
    const { rows } = await sql<{ name: string }>`
      select tablename as name from pg_tables where schemaname = current_schema()`.execute(installation.database);
    const texts = await Promise.all(
      rows.map(async ({ name }) => {
        const found = await sql<{ text: string }>`select t::text as text from ${sql.table(name)} as t`.execute(
          installation.database,
        );
        return found.rows.map(({ text }) => text).join("\n");
      }),
    );
    return texts.join("\n");
  }
});
