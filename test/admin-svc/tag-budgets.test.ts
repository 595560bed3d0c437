/** Budgets for tags on a real Postgres: how admin-svc decides reservations and sums records. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { maxTagAccounts, type TagBudgetJson } from "@sluice/proto/contract/records/tag-budgets.js";
import { tagsQuery } from "@sluice/proto/contract/records/tags.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { CallPayer, type UsageRecord } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { eraseEndUser } from "@sluice/admin-svc/store/erasure.js";
import { type Reservation, reserveBudget } from "@sluice/admin-svc/store/ledger/budgets.js";
import { settleHolds } from "@sluice/admin-svc/store/ledger/holds.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { dropOldTagSums } from "@sluice/admin-svc/store/ledger/tag-accounts.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import { updateWorkspace } from "@sluice/admin-svc/store/workspaces.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import { type Kysely, type KyselyPlugin, sql } from "kysely";
import { type AdminInstallation, addKey, addWorkspace, openInstallation, testAuthor } from "./installation.ts";
import { Process, deliver, startMs } from "./turns/deliveries.ts";
import { usageRecord } from "./usage.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

/** A workspace with these budgets, and keys of it. */
async function workspaceWith(tagBudgets: readonly TagBudgetJson[], keys = 1) {
  const { database } = installation;
  const workspaceId = await addWorkspace(database);
  await updateWorkspace(database, testAuthor(workspaceId), { tagBudgets });
  const hashes: string[] = [];
  for (let n = 0; n < keys; n++) hashes.push(hashKey(await addKey(database, { workspaceId })));
  return { workspaceId, keyHash: hashes[0] as string, hashes };
}

const entry = (tag: string, value: string, limit: number, limitReset: TagBudgetJson["limit_reset"] = null) => ({
  tag,
  value,
  limit,
  limit_reset: limitReset,
});

const call = (keyHash: string, tags: Readonly<Record<string, string>>, amountUsd: string): Reservation => ({
  turnId: randomUUID(),
  attempt: 1,
  keyHash,
  amountUsd,
  bootId: "",
  keyBesidesUsd: "",
  workspaceBesidesUsd: "",
  tags: Object.entries(tags).map(([name, value]) => ({ name, value, besidesUsd: "", sharedBesidesUsd: "" })),
});

const reserve = async (keyHash: string, tags: Readonly<Record<string, string>>, amountUsd: string) => {
  const [result] = await reserveBudget(installation.database, [call(keyHash, tags, amountUsd)]);
  return result;
};

const spentOn = async (workspaceId: string): Promise<readonly string[]> => {
  const { rows } = await sql<{ line: string }>`
    select concat_ws(' ', name, value, sum(cost_usd)::float8) as line from tag_days where workspace_id = ${workspaceId} group by name, value order by 1`.execute(
    installation.database,
  );
  return rows.map(({ line }) => line);
};

const recordOf = (workspaceId: string, keyHash: string, tags: string, fields: Partial<UsageRecord> = {}) =>
  usageRecord({ workspaceId, keyHash, tags, openedAtMs: BigInt(Date.now()), costUsd: "0.25", ...fields });

test("each value of a tag has its own budget under the entry for every value of the tag", async () => {
  const { keyHash } = await workspaceWith([entry("project", "apollo", 3), entry("project", "*", 1)]);
  expect(await reserve(keyHash, { project: "apollo" }, "2")).toMatchObject({ admitted: true, tag: "project=apollo" });
  expect(await reserve(keyHash, { project: "apollo" }, "2")).toMatchObject({ admitted: false, held: true });
  expect(await reserve(keyHash, { project: "gemini" }, "0.9")).toMatchObject({ admitted: true, tag: "project=gemini" });
  expect(await reserve(keyHash, { project: "mercury" }, "0.9")).toMatchObject({ admitted: true });
  expect(await reserve(keyHash, { project: "gemini" }, "0.2")).toMatchObject({
    admitted: false,
    held: true,
    budget: "tag",
    tag: "project=gemini",
    remainingUsd: "0.1",
    heldUsd: "0.9",
  });
  // Requests without the tag, and with other tags, have no budget.
  expect(await reserve(keyHash, {}, "50")).toEqual({ admitted: true, held: false });
  expect(await reserve(keyHash, { team: "apollo" }, "50")).toEqual({ admitted: true, held: false });
});

test("a call must fit all its budgets: those of several tags and periods, of its key and of its workspace", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([
    entry("project", "apollo", 5, "monthly"),
    entry("project", "apollo", 2, "daily"),
    entry("team", "search", 4),
  ]);
  await updateWorkspace(database, testAuthor(workspaceId), { limitUsd: "3" });
  const both = { project: "apollo", team: "search" };
  expect(await reserve(keyHash, both, "1.5")).toMatchObject({ admitted: true });
  expect(await reserve(keyHash, both, "1")).toMatchObject({
    admitted: false,
    tag: "project=apollo",
    limitReset: "daily",
  });
  expect(await reserve(keyHash, { team: "search" }, "2")).toMatchObject({ admitted: false, budget: "workspace" });
  expect(await reserve(keyHash, { team: "search" }, "1")).toMatchObject({ admitted: true });
  // A day later the daily budget is available in full again.
  await sql`update budget_reservations set is_settled = true, reserved_at = reserved_at - interval '1 day' where workspace_id = ${workspaceId}`.execute(
    database,
  );
  await updateWorkspace(database, testAuthor(workspaceId), { limitUsd: null });
  expect(await reserve(keyHash, { project: "apollo" }, "2")).toMatchObject({ admitted: true });
});

test("an amount reserved for a tag is charged exactly once when the cost or the record arrives", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([entry("project", "*", 1, "daily")]);
  const tags = { project: "apollo" };
  const held = call(keyHash, tags, "0.9");
  await reserveBudget(database, [held]);
  expect(await settleHolds(database, [{ turnId: held.turnId, attempt: 1, costUsd: "0.25" }])).toBe(0);
  expect(await reserve(keyHash, tags, "0.8")).toMatchObject({ admitted: false, held: false, remainingUsd: "0.75" });
  const record = recordOf(workspaceId, keyHash, "project=apollo, team=x", { turnId: held.turnId });
  // A record is stored once, with its turn or without.
  for (let n = 0; n < 2; n++) await insertUsage(database, [toRow(record)]);
  expect(await spentOn(workspaceId)).toEqual(["project apollo 0.25"]);
  const process = new Process();
  const common = { generationId: `gen-${randomUUID()}`, workspaceId, keyHash, openedAtMs: BigInt(Date.now()) };
  const whole = {
    calls: [
      process.call({ ...common, costUsd: "0.25", tags: "project=apollo" }),
      process.call({ ...common, attempt: 2, costUsd: "5", tags: "project=apollo", payer: CallPayer.OPERATOR }),
    ],
    turns: [process.turn({ ...common, tags: "project=apollo" })],
  };
  for (let n = 0; n < 2; n++) await deliver(installation, whole);
  expect(await spentOn(workspaceId)).toEqual(["project apollo 0.5"]);
  expect(await reserve(keyHash, tags, "0.6")).toMatchObject({ admitted: false, held: false, remainingUsd: "0.5" });
  expect(await reserve(keyHash, tags, "0.5")).toMatchObject({ admitted: true });
});

test("a record without a reservation counts in a tag's budget, and a record of yesterday not in the daily one", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([
    entry("project", "apollo", 1, "daily"),
    entry("project", "gemini", 1),
  ]);
  const yesterday = { openedAtMs: BigInt(Date.now() - 86_400_000) };
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "project=apollo", yesterday))]);
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "project=gemini", yesterday))]);
  expect(await reserve(keyHash, { project: "apollo" }, "1")).toMatchObject({ admitted: true });
  expect(await reserve(keyHash, { project: "gemini" }, "1")).toMatchObject({ admitted: false, remainingUsd: "0.75" });
});

test("tag values beyond the limit of accounts share one budget, and a value with an account keeps it", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([
    entry("project", "*", 1, "monthly"),
    entry("project", "own", 9),
  ]);
  await sql`insert into tag_accounts (workspace_id, name, value)
    select ${workspaceId}, 'project', 'known-' || n from generate_series(1, ${maxTagAccounts - 1}) as n`.execute(
    database,
  );
  // One place is left for two new values that arrive together.
  const together = [call(keyHash, { project: "a" }, "0.6"), call(keyHash, { project: "b" }, "0.6")];
  const tags = (await reserveBudget(database, together)).map(({ tag }) => tag);
  expect(tags).toEqual(["project=a", "project=*"]);
  expect(await reserve(keyHash, { project: "c" }, "0.6")).toMatchObject({ admitted: false, tag: "project=*" });
  expect(await reserve(keyHash, { project: "known-7" }, "0.6")).toMatchObject({
    admitted: true,
    tag: "project=known-7",
  });
  expect(await reserve(keyHash, { project: "own" }, "2")).toMatchObject({ admitted: true, tag: "project=own" });
  const [, shared] = together;
  await insertUsage(database, [
    toRow(recordOf(workspaceId, keyHash, "project=b", { turnId: shared?.turnId as string })),
  ]);
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "project=d"))]);
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "project=a"))]);
  expect(await spentOn(workspaceId)).toEqual(["project * 0.5", "project a 0.25"]);
  expect(await reserve(keyHash, { project: "e" }, "0.6")).toMatchObject({
    admitted: false,
    held: false,
    remainingUsd: "0.5",
  });
});

test("tag accounts without spending for two months are removed, except for a budget without a reset", async () => {
  const { database } = installation;
  const monthly = await workspaceWith([entry("project", "*", 1, "monthly")]);
  const prepaid = await workspaceWith([entry("project", "*", 1)]);
  for (const { keyHash, workspaceId } of [monthly, prepaid]) {
    for (const project of ["old", "used"]) {
      const held = call(keyHash, { project }, "0.1");
      await reserveBudget(database, [held]);
      const { turnId } = held;
      await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, `project=${project}`, { turnId }))]);
    }
    await sql`update tag_days set day = day - 70 where workspace_id = ${workspaceId} and value = 'old'`.execute(
      database,
    );
    await sql`update tag_accounts set created_at = created_at - interval '70 days' where workspace_id = ${workspaceId}`.execute(
      database,
    );
  }
  await dropOldTagSums(database);
  const accounts = async ({ workspaceId }: { readonly workspaceId: string }) => {
    const { rows } = await sql<{ value: string }>`
      select value from tag_accounts where workspace_id = ${workspaceId} order by 1`.execute(database);
    return rows.map(({ value }) => value);
  };
  expect(await accounts(monthly)).toEqual(["used"]);
  expect(await accounts(prepaid)).toEqual(["old", "used"]);
  // The sums are kept for budgets that may be set later.
  for (const { workspaceId } of [monthly, prepaid])
    expect(await spentOn(workspaceId)).toEqual(["project old 0.25", "project used 0.25"]);
});

const age = async (workspaceId: string, days: number): Promise<void> => {
  const { database } = installation;
  await sql`update tag_days set day = day - ${days}::int where workspace_id = ${workspaceId}`.execute(database);
  await sql`update tag_accounts set created_at = created_at - make_interval(days => ${days}::int) where workspace_id = ${workspaceId}`.execute(
    database,
  );
};

const accountsOf = async (workspaceId: string): Promise<readonly string[]> => {
  const { rows } = await sql<{ value: string }>`
    select value from tag_accounts where workspace_id = ${workspaceId} order by 1`.execute(installation.database);
  return rows.map(({ value }) => value);
};

test("a tag budget without a reset that is removed and set again still counts the earlier spending", async () => {
  const { database } = installation;
  const budgets = [entry("customer", "acme", 1)];
  const { keyHash, workspaceId } = await workspaceWith(budgets);
  const spent = recordOf(workspaceId, keyHash, "customer=acme", { costUsd: "0.9" });
  await insertUsage(database, [toRow(spent)]);
  await age(workspaceId, 70);
  await updateWorkspace(database, testAuthor(workspaceId), { tagBudgets: null });
  await dropOldTagSums(database);
  await updateWorkspace(database, testAuthor(workspaceId), { tagBudgets: budgets });
  expect(await reserve(keyHash, { customer: "acme" }, "0.5")).toMatchObject({ admitted: false, remainingUsd: "0.1" });
  // Sums of more than 400 days go once no budget counts them.
  await age(workspaceId, 400);
  await dropOldTagSums(database);
  expect(await spentOn(workspaceId)).toEqual(["customer acme 0.9"]);
  await updateWorkspace(database, testAuthor(workspaceId), { tagBudgets: null });
  await dropOldTagSums(database);
  expect(await spentOn(workspaceId)).toEqual([]);
});

test("a cost without a reservation opens an account for its tag value, and a replaced entry keeps earlier costs", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([entry("project", "apollo", 1, "monthly")]);
  const held = call(keyHash, { project: "apollo" }, "0.9");
  await reserveBudget(database, [held]);
  await updateWorkspace(database, testAuthor(workspaceId), { tagBudgets: [entry("project", "*", 1, "monthly")] });
  const cost = { turnId: held.turnId, costUsd: "0.9" };
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "project=apollo", cost))]);
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "project=gemini"))]);
  expect(await spentOn(workspaceId)).toEqual(["project apollo 0.9", "project gemini 0.25"]);
  expect(await accountsOf(workspaceId)).toEqual(["gemini"]);
  expect(await reserve(keyHash, { project: "apollo" }, "0.5")).toMatchObject({
    admitted: false,
    tag: "project=apollo",
    remainingUsd: "0.1",
  });
  expect(await reserve(keyHash, { project: "apollo" }, "0.1")).toMatchObject({ admitted: true });
  expect(await accountsOf(workspaceId)).toEqual(["apollo", "gemini"]);
});

test("a record is charged to the tag account of its reservation, even if entries and accounts have changed since", async () => {
  const { database } = installation;
  const monthly = entry("project", "*", 1, "monthly");
  const { keyHash, workspaceId } = await workspaceWith([monthly, entry("team", "x", 5)]);
  await sql`insert into tag_accounts (workspace_id, name, value)
    select ${workspaceId}, 'project', 'known-' || n from generate_series(1, ${maxTagAccounts}) as n`.execute(database);
  // All places for accounts are taken, so the shared account pays; a place becomes free before the record arrives.
  const held = ["whole", "part"].map((project) => call(keyHash, { project, team: "x" }, "0.4"));
  expect(await reserveBudget(database, held)).toMatchObject([{ tag: "project=*" }, { tag: "project=*" }]);
  await sql`delete from tag_accounts where workspace_id = ${workspaceId}`.execute(database);
  const [whole, part] = held.map(({ turnId }) => turnId) as [string, string];
  const process = new Process();
  const common = { generationId: `gen-${randomUUID()}`, workspaceId, keyHash, openedAtMs: BigInt(Date.now()) };
  const tags = "project=whole,team=x";
  await deliver(installation, {
    calls: [process.call({ ...common, turnId: whole, costUsd: "0.25", tags })],
    turns: [process.turn({ ...common, tags })],
  });
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "project=part,team=x", { turnId: part }))]);
  expect(await spentOn(workspaceId)).toEqual(["project * 0.5", "team x 0.5"]);
  // A tag value gets its own budget entry, or loses it, while its calls are running.
  const begun = [call(keyHash, { project: "own" }, "0.1"), call(keyHash, { project: "other" }, "0.1")];
  await reserveBudget(database, begun);
  const changed = async (tagBudgets: readonly TagBudgetJson[] | null, value: string, of: Reservation | undefined) => {
    await updateWorkspace(database, testAuthor(workspaceId), { tagBudgets });
    const { turnId = randomUUID() } = of ?? {};
    await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, `project=${value}`, { turnId }))]);
  };
  await changed([entry("team", "x", 5)], "own", begun[0]);
  await changed(null, "other", begun[1]);
  await changed(null, "third", undefined);
  expect(await spentOn(workspaceId)).toEqual(["project * 0.5", "project other 0.25", "project own 0.25", "team x 0.5"]);
});

test("neither refused calls nor a tag value named like the shared account open an account", async () => {
  const { database } = installation;
  const { workspaceId, hashes } = await workspaceWith([entry("project", "*", 1, "monthly")], 2);
  const [poor, rich] = hashes as [string, string];
  await sql`update api_keys set limit_usd = 0 where hash = ${poor}`.execute(database);
  expect(await reserve(poor, { project: "junk" }, "0.1")).toMatchObject({ admitted: false, budget: "key" });
  expect(await reserve(rich, { project: "large" }, "2")).toMatchObject({ admitted: false, tag: "project=large" });
  expect(await reserve(rich, { project: "*" }, "0.5")).toMatchObject({ admitted: true, tag: "project=*" });
  expect(await accountsOf(workspaceId)).toEqual([]);
  // The refused call is decided first, and would otherwise have taken the last place for an account.
  await sql`insert into tag_accounts (workspace_id, name, value)
    select ${workspaceId}, 'project', 'known-' || n from generate_series(1, ${maxTagAccounts - 1}) as n`.execute(
    database,
  );
  const together = [call(poor, { project: "a" }, "0.1"), call(rich, { project: "b" }, "0.6")];
  expect(await reserveBudget(database, together)).toMatchObject([
    { admitted: false },
    { admitted: true, tag: "project=b" },
  ]);
  expect(await reserve(rich, { project: "c" }, "0.6")).toMatchObject({ admitted: false, tag: "project=*" });
});

test("accounts of a tag without an entry for every value take no room from other tags, and are removed", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([entry("request", "*", 1, "monthly")]);
  await sql`insert into tag_accounts (workspace_id, name, value)
    select ${workspaceId}, 'request', 'r-' || n from generate_series(1, ${maxTagAccounts}) as n`.execute(database);
  await updateWorkspace(database, testAuthor(workspaceId), { tagBudgets: [entry("project", "*", 1, "monthly")] });
  expect(await reserve(keyHash, { project: "a" }, "0.9")).toMatchObject({ admitted: true, tag: "project=a" });
  await dropOldTagSums(database);
  expect(await accountsOf(workspaceId)).toEqual(["a"]);
});

test("the account of a tag value with an open call is kept", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([entry("project", "*", 1, "monthly")]);
  const held = call(keyHash, { project: "old" }, "0.9");
  await reserveBudget(database, [held]);
  await age(workspaceId, 70);
  await dropOldTagSums(database);
  expect(await accountsOf(workspaceId)).toEqual(["old"]);
});

const dayOf = (at: bigint): string => new Date(Number(at)).toISOString().slice(0, 10);

/** Differences between tag sums and records in a workspace, as the ledger check names them. */
const wrongTagsOf = async (workspaceId: string) => {
  const { wrongSums } = await ledgerState(installation.database);
  const ofTags = wrongSums.filter(({ column, owner }) => column === "tag" && owner.startsWith(workspaceId));
  return ofTags.map(({ owner, day, summedUsd, recordedUsd }) => [
    owner.slice(workspaceId.length + 1),
    day,
    Number(summedUsd),
    Number(recordedUsd),
  ]);
};

/** Delivers a turn of one call with its record. */
async function deliverTagged(workspaceId: string, keyHash: string, tags: string, fields: Partial<UsageRecord> = {}) {
  const process = new Process();
  const common = { generationId: `gen-${randomUUID()}`, workspaceId, keyHash, openedAtMs: BigInt(startMs), tags };
  const { user } = fields;
  await deliver(installation, {
    calls: [process.call({ ...common, costUsd: "0.25", ...fields })],
    turns: [process.turn({ ...common, ...(user !== undefined && { user }) })],
  });
}

test("the ledger check names tag sums above and below their records", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([entry("project", "*", 9), entry("team", "x", 9)]);
  const at = { openedAtMs: BigInt(startMs) };
  const day = dayOf(at.openedAtMs);
  await deliverTagged(workspaceId, keyHash, "project=a,team=x");
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "project=b,team=y", at))]);
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "", at))]);
  expect(await wrongTagsOf(workspaceId)).toEqual([]);
  const ofDay = sql`workspace_id = ${workspaceId} and name = 'project'`;
  await sql`update tag_days set cost_usd = cost_usd + 1 where ${ofDay} and value = 'a'`.execute(database);
  expect(await wrongTagsOf(workspaceId)).toEqual([
    ["project", day, 1.5, 0.5],
    ["project=a", day, 1.25, 0.25],
  ]);
  await sql`update tag_days set cost_usd = 0.25 where ${ofDay} and value = 'a'`.execute(database);
  await sql`delete from tag_days where ${ofDay} and value = 'b'`.execute(database);
  // Sums count since the entries were made today, and may lack earlier records.
  expect(await wrongTagsOf(workspaceId)).toEqual([]);
  await sql`update workspaces set tags_counted_from = now() - interval '3 days' where id = ${workspaceId}`.execute(
    database,
  );
  expect(await wrongTagsOf(workspaceId)).toEqual([["project", day, 0.25, 0.5]]);
  // An entry with another limit has the same calls in its sum, but a further value has not.
  await updateWorkspace(database, testAuthor(workspaceId), {
    tagBudgets: [entry("project", "*", 5), entry("team", "x", 9)],
  });
  expect(await wrongTagsOf(workspaceId)).toHaveLength(1);
  await updateWorkspace(database, testAuthor(workspaceId), {
    tagBudgets: [entry("project", "*", 5), entry("team", "y", 9)],
  });
  expect(await wrongTagsOf(workspaceId)).toEqual([]);
});

test("the erasure of an end user renames tags with the user's name everywhere, and the sums stay right", async () => {
  const { database } = installation;
  const user = "mallory@example.com";
  const { keyHash, workspaceId } = await workspaceWith([entry("customer", "*", 9), entry("team", "x", 9)]);
  await sql`update workspaces set tags_counted_from = now() - interval '3 days' where id = ${workspaceId}`.execute(
    database,
  );
  const named = `customer=${user},team=x`;
  await deliverTagged(workspaceId, keyHash, named, { user });
  await deliverTagged(workspaceId, keyHash, named, { user: "other" });
  const part = { openedAtMs: BigInt(startMs) };
  for (const each of [{ user }, { user: "other" }])
    await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, named, { ...part, ...each }))]);
  await deliverTagged(workspaceId, keyHash, "customer=acme,team=x", { user: "other" });
  await reserve(keyHash, { customer: user }, "0.5");
  expect(await wrongTagsOf(workspaceId)).toEqual([]);
  const { tags } = await eraseEndUser(database, testAuthor(workspaceId), user, () => {});
  expect(tags).toBe(2);
  const { rows } = await sql<{ text: string }>`
    select ledger::text as text from ledger union all select usage_records::text from usage_records
    union all select turns::text from turns union all select tag_days::text from tag_days
    union all select tag_accounts::text from tag_accounts union all select budget_reservations::text from budget_reservations`.execute(
    database,
  );
  expect(rows.map(({ text }) => text).join("\n")).not.toContain(user);
  const sums = await spentOn(workspaceId);
  expect(sums).toEqual([
    "customer acme 0.25",
    expect.stringMatching(/^customer erased-[0-9a-f-]{36} 1$/),
    "team x 1.25",
  ]);
  expect(await wrongTagsOf(workspaceId)).toEqual([]);
  // A new call with the name begins with a budget of its own.
  expect(await reserve(keyHash, { customer: user }, "9")).toMatchObject({ admitted: true, tag: `customer=${user}` });
});

test("a turn that leaves the ledger for a later call keeps the tags of its calls, and the sums stay right", async () => {
  const { keyHash, workspaceId } = await workspaceWith([entry("project", "*", 9)]);
  const process = new Process();
  const openedAtMs = BigInt(startMs);
  const common = { generationId: `gen-${randomUUID()}`, workspaceId, keyHash, openedAtMs, tags: "project=a" };
  await deliver(installation, {
    calls: [process.call({ ...common, costUsd: "0.25" })],
    turns: [process.turn(common)],
  });
  await deliver(installation, { calls: [process.call({ ...common, attempt: 2, costUsd: "0.5" })], turns: [] });
  expect(await spentOn(workspaceId)).toEqual(["project a 0.75"]);
  expect(await wrongTagsOf(workspaceId)).toEqual([]);
});

/** Runs the work once, after the erasure has searched a day for the name in tags. @param nth number of the day, from 1 */
const afterSearch = (nth: number, work: () => Promise<unknown>): KyselyPlugin => {
  const searches: unknown[] = [];
  return {
    transformQuery: ({ node, queryId }) => {
      const [text = ""] = node.kind === "RawNode" ? node.sqlFragments : [];
      if (text.includes("select exists (select from all_turns")) searches.push(queryId);
      return node;
    },
    transformResult: async ({ result, queryId }) => {
      if (queryId === searches[nth - 1]) await work();
      return result;
    },
  };
};

test("a call that arrives while its tag is being erased has the same tag in its record and in its sum", async () => {
  const { database } = installation;
  const user = "eve@example.com";
  const erased = expect.stringMatching(/^customer erased-[0-9a-f-]{36} 0.25$/);
  // The erasure searches the day of the record first, and erases this day before it searches the next one.
  for (const [nth, sums] of [
    [1, [erased]],
    [2, [erased, `customer ${user} 0.25`]],
  ] as const) {
    const { keyHash, workspaceId } = await workspaceWith([entry("customer", "*", 9)]);
    const fields = { user: "other", openedAtMs: BigInt(startMs) };
    const record = (tags: string) => toRow(recordOf(workspaceId, keyHash, tags, fields));
    await insertUsage(database, [record(nth === 1 ? "" : `customer=${user}`)]);
    const plugin = afterSearch(nth, () => insertUsage(database, [record(`customer=${user}`)]));
    await eraseEndUser(database.withPlugin(plugin), testAuthor(workspaceId), user, () => {});
    expect(await spentOn(workspaceId)).toEqual(sums);
    expect(await wrongTagsOf(workspaceId)).toEqual([]);
  }
});

test("the erasure of an end user named like the shared tag account keeps the account's spending", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([entry("customer", "*", 9)]);
  const fields = { user: "*", openedAtMs: BigInt(startMs) };
  await insertUsage(database, [toRow(recordOf(workspaceId, keyHash, "customer=*", fields))]);
  await eraseEndUser(database, testAuthor(workspaceId), "*", () => {});
  expect(await spentOn(workspaceId)).toEqual(["customer * 0.25"]);
  expect(await wrongTagsOf(workspaceId)).toEqual([]);
});

test("a blank list as a filter of tags is refused", () => {
  const problems = new Problems();
  tagsQuery.check(" ", "tags", problems);
  expect(problems.count).toBe(1);
});

test("concurrent reservations and records of many keys, tags and workspaces never overspend or deadlock", async () => {
  const { database } = installation;
  const limited = [entry("project", "*", 1, "monthly"), entry("team", "x", 1.5, "daily")];
  const [one, other] = [await workspaceWith(limited, 3), await workspaceWith(limited, 3)];
  const places = [one, other];
  const projects = ["a", "b", "c"];
  const admitted = new Map<string, number>();
  const run = async (n: number): Promise<void> => {
    // Each transaction has calls of both workspaces, in another order.
    const chosen = n % 2 === 0 ? places : places.toReversed();
    const wanted = chosen.flatMap(({ workspaceId, hashes }) => {
      const project = projects[n % 3] as string;
      const tags = n % 4 === 0 ? { project, team: "x" } : { project };
      return [{ workspaceId, project, team: "team" in tags, call: call(hashes[n % 3] as string, tags, "0.1") }];
    });
    const results = await reserveBudget(
      database,
      wanted.map((each) => each.call),
    );
    const paid = wanted.filter((_, index) => results[index]?.admitted);
    for (const { workspaceId, project, team } of paid)
      for (const name of [`${workspaceId} ${project}`, ...(team ? [`${workspaceId} x`] : [])])
        admitted.set(name, (admitted.get(name) ?? 0) + 1);
    const records = paid.map(({ workspaceId, project, team, call: { turnId, keyHash } }) =>
      toRow(recordOf(workspaceId, keyHash, `project=${project}${team ? ",team=x" : ""}`, { turnId, costUsd: "0.1" })),
    );
    if (records.length > 0) await insertUsage(database, n % 3 === 0 ? records : records.toReversed());
  };
  await Promise.all(Array.from({ length: 120 }, (_, n) => run(n)));
  for (const { workspaceId } of places) {
    for (const project of projects) expect(admitted.get(`${workspaceId} ${project}`)).toBe(10);
    expect(await spentOn(workspaceId)).toEqual([
      "project a 1",
      "project b 1",
      "project c 1",
      `team x ${(admitted.get(`${workspaceId} x`) ?? 0) / 10}`,
    ]);
    expect(admitted.get(`${workspaceId} x`)).toBeLessThanOrEqual(15);
  }
});

/** Statements of a piece of work, and the rows of reservations that it has read. */
async function costOf(work: (database: Kysely<Database>) => Promise<unknown>) {
  let statements = 0;
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => {
      statements++;
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  return installation.database.transaction().execute(async (transaction) => {
    const readSoFar = async (): Promise<number> => {
      const { rows } = await sql<{ read: number }>`
        select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_xact_user_tables where relname = 'budget_reservations'`.execute(
        transaction,
      );
      return rows[0]?.read ?? 0;
    };
    const before = await readSoFar();
    await work(transaction.withPlugin(counting));
    return { statements, read: (await readSoFar()) - before };
  });
}

test("reservations for many tag values read the workspace's open ones once, and those without tags not at all", async () => {
  const { database } = installation;
  const { keyHash, workspaceId } = await workspaceWith([
    entry("customer", "*", 9, "monthly"),
    entry("customer", "*", 9),
  ]);
  await sql`insert into tag_accounts (workspace_id, name, value) select ${workspaceId}, 'customer', 'c-' || n from generate_series(1, 64) as n`.execute(
    database,
  );
  const open = 500;
  await sql`
    insert into budget_reservations (turn_id, attempt, key_hash, workspace_id, amount_usd, tags, expires_at)
    select gen_random_uuid(), 1, ${keyHash}, ${workspaceId}, 0.01, jsonb_build_object('customer', 'c-' || (1 + n % 64)), now() + interval '1 hour'
    from generate_series(1, ${sql.lit(open)}) as n`.execute(database);
  const { rows } = await sql<{ all: number }>`select count(*)::int as all from budget_reservations`.execute(database);
  const values = Array.from({ length: 64 }, (_, n) => call(keyHash, { customer: `c-${n + 1}` }, "0.01"));
  const many = await costOf(async (transaction) => {
    const results = await reserveBudget(transaction, values);
    expect(results.filter(({ admitted }) => admitted)).toHaveLength(64);
    expect(results[0]).toMatchObject({ tag: "customer=c-1", heldUsd: "0.07", remainingUsd: "8.93" });
  });
  // The insertion of new reservations may read some open ones again.
  expect(many.read).toBeLessThan(3 * (rows[0]?.all as number));
  const untagged = await costOf((transaction) => reserveBudget(transaction, [call(keyHash, {}, "0.01")]));
  expect(untagged).toEqual({ statements: 2, read: 0 });
});
