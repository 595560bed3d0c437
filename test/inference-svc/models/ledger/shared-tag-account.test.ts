/**
 * Calls with tag values that share one account, at a real admin-svc: they wait in one queue, and leave the amount kept for turns with other
 * values.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { type Caller, CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { maxTagAccounts } from "@sluice/proto/contract/records/tag-budgets.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { updateWorkspace } from "@sluice/admin-svc/store/workspaces.js";
import { Budgets } from "@sluice/inference-svc/models/ledger/budget.js";
import { tagBudgetsOf } from "@sluice/inference-svc/turn/tag-budgets.js";
import { Trace } from "@sluice/inference-svc/turn/trace.js";
import { sql } from "kysely";
import {
  type AdminInstallation,
  addKey,
  addWorkspace,
  openInstallation,
  serviceToken,
  testAuthor,
} from "../../../admin-svc/installation.ts";
import { eventually } from "../../../support/processes.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

/** A key of a workspace where new values of the tag `project` share one account of 1 USD. */
async function sharingKey(): Promise<Caller> {
  const { database } = installation;
  const workspaceId = await addWorkspace(database);
  const entry = { tag: "project", value: "*", limit: 1, limit_reset: null };
  await updateWorkspace(database, testAuthor(workspaceId), { tagBudgets: [entry] });
  await sql`insert into tag_accounts (workspace_id, name, value)
    select ${workspaceId}, 'project', 'known-' || n from generate_series(1, ${maxTagAccounts}) as n`.execute(database);
  const keyHash = hashKey(await addKey(database, { workspaceId }));
  return create(CallerSchema, { keyHash, workspaceId, budgetTags: ["project=*"] });
}

const openBudgets = () =>
  new Budgets({
    client: installation.client,
    token: serviceToken,
    log: openLog("test", "silent"),
    bootId: randomUUID(),
    instance: "test-1",
  });

const spender = (caller: Caller, value: string) => ({
  turnId: randomUUID(),
  generationId: `gen-${value}`,
  caller,
  trace: new Trace(1n),
  tagBudgets: tagBudgetsOf(caller, `project=${value}`),
});

/** Reserves the amount for a call with this value. */
const openedBy = (budgets: Budgets, caller: Caller, value: string, pico: bigint) =>
  budgets.reserve(spender(caller, value), pico);

const usd = (amount: number): bigint => BigInt(Math.round(amount * 1e12));

test("calls of 40 tag values on a full shared account wait in one queue of 32, and others are refused", async () => {
  const caller = await sharingKey();
  const budgets = openBudgets();
  const hold = await budgets.reserve(spender(caller, "first"), usd(0.9));
  let admitted = 0;
  const refusals: unknown[] = [];
  const calls = Array.from({ length: 40 }, (_, n) =>
    budgets.reserve(spender(caller, `value-${n}`), usd(0.9)).then(
      () => admitted++,
      (error: unknown) => refusals.push(error),
    ),
  );
  await eventually(async () => refusals.length >= 8);
  await hold.settle(0n);
  await budgets.close();
  await Promise.all(calls);
  const refused = { reason: FaultReason.BUDGET_HELD, metadata: { budget: "tag", tag: "project=*" } };
  for (const refusal of refusals) expect(refusal).toMatchObject(refused);
  expect([admitted, refusals.length]).toEqual([1, 39]);
}, 120_000);

test("the first call of a tag value leaves the amount kept for another value's turn in the shared account", async () => {
  const caller = await sharingKey();
  const budgets = openBudgets();
  const turn = spender(caller, "a");
  const end = budgets.begin(turn);
  await budgets.reserve(turn, usd(0.2));
  // Of 0.8 free USD, 0.4 are kept for the turn. Two turns with a value that has no account begin with the same call.
  const refused = { reason: FaultReason.BUDGET_HELD, metadata: { tag: "project=*" } };
  for (const value of ["b", "c"])
    await expect(openedBy(budgets, caller, value, usd(0.5))).rejects.toMatchObject(refused);
  const other = spender(caller, "d");
  const endOther = budgets.begin(other);
  // The second turn needs 0.3 USD more for its further calls.
  await expect(budgets.reserve(other, usd(0.15))).rejects.toMatchObject(refused);
  endOther();
  await openedBy(budgets, caller, "e", usd(0.4));
  end();
  await budgets.close();
}, 120_000);

test("a call leaves the amount kept for another tag value's turn in the shared account", async () => {
  const caller = await sharingKey();
  const budgets = openBudgets();
  const turn = spender(caller, "a");
  const end = budgets.begin(turn);
  await budgets.reserve(turn, usd(0.2));
  // The answer names the account of the tag value.
  const known = await budgets.reserve(spender(caller, "b"), usd(0.001));
  await known.settle(0n);
  // Of 0.8 free USD, 0.4 are kept for the turn.
  const refused = { reason: FaultReason.BUDGET_HELD, metadata: { tag: "project=*" } };
  await expect(budgets.reserve(spender(caller, "b"), usd(0.5))).rejects.toMatchObject(refused);
  end();
  await budgets.reserve(spender(caller, "b"), usd(0.5));
  await budgets.close();
}, 120_000);
