/** The demo: a workspace of invented records, which the ledger treats like real ones, and their removal. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { auditStates } from "@sluice/admin-svc/store/audit-check.js";
import { sql } from "kysely";
import { type AdminInstallation, openInstallation } from "./installation.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

async function run(...args: string[]) {
  let stdout = "";
  let stderr = "";
  const code = await runCli(args, {
    databaseUrl: installation.databaseUrl,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

/** Number of rows that name a workspace, in every table that has such a column. */
async function rowsOf(workspaceId: string): Promise<Readonly<Record<string, number>>> {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where column_name = 'workspace_id' and table_schema = current_schema() and table_type = 'BASE TABLE'
    union select 'workspaces'`.execute(installation.database);
  const counts = tables.map(async ({ name }) => {
    const column = sql.ref(name === "workspaces" ? "id" : "workspace_id");
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from ${sql.table(name)} where ${column} = ${workspaceId}`.execute(
      installation.database,
    );
    return [name, rows[0]?.count ?? 0] as const;
  });
  const filled = (await Promise.all(counts)).filter(([, count]) => count > 0);
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from all_turns where workspace_id = ${workspaceId}`.execute(installation.database);
  return Object.fromEntries([...filled, ...(rows[0]?.count ? [["all_turns", rows[0].count] as const] : [])]);
}

test("the demo fills one workspace with consistent records, and its removal removes all of them", async () => {
  const made = await run("demo", "--days", "4");
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const [, count, id = ""] = /(\d+) requests of 4 days in the workspace demo \(([^)]+)\)/.exec(made.stdout) ?? [];
  expect(await rowsOf(id)).toMatchObject({ all_turns: Number(count), workspaces: 1, api_keys: 6 });
  const state = await ledgerState(installation.database);
  expect(state).toMatchObject({ turns: Number(count), gaps: [], wrongSums: [] });
  const { stdout } = await run("usage", "series", "--workspace", "demo", "--by", "status");
  for (const status of ["200", "403", "429", "499", "502"]) expect(stdout).toContain(status);
  expect(await run("demo")).toMatchObject({ code: 1, stderr: expect.stringContaining("`demo --remove`") });

  await run("workspaces", "update", id, "--name", "renamed");
  expect(await run("demo", "--remove")).toMatchObject({ code: 0, stderr: "" });
  expect(await rowsOf(id)).toEqual({});
  expect(await ledgerState(installation.database)).toMatchObject({ records: 0, turns: 0, gaps: [], wrongSums: [] });
  expect((await auditStates(installation.database)).flatMap(({ wrong }) => wrong)).toEqual([]);
  expect(await run("demo", "--remove")).toMatchObject({ code: 1, stderr: "there is no demo workspace\n" });
});

test.each(["0", "91", "x"])("demo --days %s is refused", async (days) => {
  expect(await run("demo", "--days", days)).toMatchObject({ code: 2, stderr: expect.stringContaining("--days") });
});
