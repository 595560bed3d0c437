/**
 * Alert rules on views of the explorer: checked by two processes, fired once, cleared after a calm time, and sent to the channels of the
 * workspace.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AlertRules } from "@sluice/admin-svc/sinks/alert-rules.js";
import type { Author } from "@sluice/admin-svc/store/audit.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { eraseEndUser } from "@sluice/admin-svc/store/erasure.js";
import { awaitDeliveries, startRuleTest } from "@sluice/admin-svc/store/alerts/rule-tests.js";
import {
  addRuleEvent,
  deleteAlertRule,
  findAlertRule,
  listRuleEvents,
  putAlertRule,
} from "@sluice/admin-svc/store/alerts/rules.js";
import { putView } from "@sluice/admin-svc/store/views.js";
import { deleteWorkspace, updateWorkspace } from "@sluice/admin-svc/store/workspaces.js";
import { type AlertRuleWords, maxAlertRules, maxRuleEvents } from "@sluice/proto/contract/records/alert-rules.js";
import { alerts as alertsSchema } from "@sluice/proto/config/sinks/alerts.js";
import { noSinks } from "@sluice/proto/config/sinks/sinks.js";
import { AttemptStatus, TurnOutcome } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { sql } from "kysely";
import { eventually } from "../../support/processes.ts";
import { addWorkspace, testAuthor, waitingStatements } from "../installation.ts";
import { Process } from "../turns/deliveries.ts";
import { Replicas } from "./replicas.ts";
import { ScriptedSink, acceptPost, refusePost } from "./scripted-sink.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const minuteMs = 60_000;

let replicas: Replicas;
let sink: ScriptedSink;
let workers: readonly AlertRules[];
/** When set, the next checks fail with this error. */
let refusal: Error | undefined;
/** Duration of a check in milliseconds. */
let checkMs = 0;
beforeAll(async () => {
  replicas = await Replicas.open();
  sink = await new ScriptedSink().open();
  const parts = {
    database: replicas.database,
    settings: () => replicas.settings,
    now: () => replicas.now(),
    log: openLog("test", "silent"),
    read: <Result>(work: (database: typeof replicas.database) => Promise<Result>) => {
      replicas.advance(checkMs);
      return refusal ? Promise.reject(refusal) : work(replicas.database);
    },
  };
  workers = [new AlertRules(parts), new AlertRules(parts)];
});
afterAll(async () => {
  await sink.close();
  await replicas.close();
});
beforeEach(async () => {
  sink.taken.length = 0;
  sink.answer = acceptPost;
  refusal = undefined;
  checkMs = 0;
  replicas.settings = {
    ...noSinks,
    alerts: alertsSchema.parse([
      { name: "ops", webhook: { url: `${sink.url}/ops`, secret } },
      { name: "elsewhere", workspace: "elsewhere", webhook: { url: `${sink.url}/elsewhere`, secret } },
      { name: "budgets", events: ["budget"], webhook: { url: `${sink.url}/budgets`, secret } },
    ]),
  };
  for (const table of ["alerts", "alert_rules", "alert_rule_events"] as const)
    await replicas.database.deleteFrom(table).execute();
});

const author: Author = testAuthor();
let models = 0;
/** A new model for each test, because its rules filter by the model. */
const newModel = () => `acme/model-${++models}`;

interface Used {
  readonly failures?: number;
  readonly costUsd?: string;
  readonly durationMs?: number;
  readonly provider?: string;
  readonly agoMs?: number;
}

/** Records requests, each with one call. */
async function use(model: string, count: number, used: Used = {}): Promise<void> {
  const { failures = 0, costUsd = "0.01", durationMs = 1_000, provider = "acme", agoMs = 0 } = used;
  const process = new Process();
  const openedAtMs = BigInt(replicas.now().getTime() - agoMs);
  const turns = Array.from({ length: count }, (_, n) => {
    const hasFailed = n < failures;
    const shared = { generationId: `gen-${randomUUID()}`, openedAtMs, model, user: "u-1" };
    const call = {
      ...shared,
      provider,
      turnId: randomUUID(),
      attempt: 1,
      costUsd,
      durationMs,
      ...(hasFailed && { status: AttemptStatus.FAILED, httpStatus: 502 }),
    };
    const turn = { ...shared, durationMs, ...(hasFailed && { outcome: TurnOutcome.FAILED, httpStatus: 502 }) };
    return { call: process.call(call), turn: process.turn(turn) };
  });
  await replicas.both[0].record(
    turns.map(({ call }) => call),
    turns.map(({ turn }) => turn),
  );
}

const rule = (settings: Partial<AlertRuleWords>): AlertRuleWords => ({
  filters: {},
  condition: "spend",
  threshold: 0,
  window_minutes: 60,
  min_requests: 1,
  channels: ["ops"],
  ...settings,
});

const set = (name: string, settings: Partial<AlertRuleWords>, by = author) =>
  putAlertRule(replicas.database, by, { name, settings: rule(settings) });

/**
 * Two processes check the due rules at the same time, and deliver their alerts.
 * @returns the messages
 */
async function check(advanceMs = minuteMs): Promise<JsonObject[]> {
  replicas.advance(advanceMs);
  const before = sink.taken.length;
  await Promise.all(workers.map((worker) => worker.run()));
  await replicas.deliver();
  return sink.taken.slice(before).map(({ body }) => JSON.parse(body.toString()) as JsonObject);
}

const state = async (name: string, workspaceId = defaultWorkspaceId) =>
  findAlertRule(replicas.database, workspaceId, name);

test("an alert rule fires once however long its condition is met, and clears after five minutes without it", async () => {
  const model = newModel();
  await set("errors", {
    condition: "error_rate",
    threshold: 20,
    min_requests: 10,
    window_minutes: 5,
    filters: { model },
  });
  await use(model, 9, { failures: 9 });
  expect(await check()).toEqual([]);
  expect(await state("errors")).toMatchObject({ is_firing: false, value: 100 });
  await use(model, 11);
  expect(await check(0)).toEqual([]);
  const [fired, ...more] = await check();
  expect(more).toEqual([]);
  expect(fired).toMatchObject({
    type: "rule.fired",
    data: {
      rule: "errors",
      condition: "error_rate",
      value: 45,
      threshold: 20,
      window_minutes: 5,
      min_requests: 10,
      filters: { model },
      workspace_id: defaultWorkspaceId,
      workspace: "default",
    },
  });
  for (let minute = 0; minute < 3; minute++) expect(await check()).toEqual([]);
  // The window without the condition has passed, and the calm time begins.
  const told: JsonObject[] = [];
  for (let minute = 0; minute < 8; minute++) told.push(...(await check()));
  expect(told).toMatchObject([{ type: "rule.cleared", data: { rule: "errors" } }]);
  const events = await listRuleEvents(replicas.database, (await state("errors"))?.id ?? "");
  expect(events).toMatchObject([
    { type: "cleared", value: null, threshold: 20 },
    { type: "fired", value: 45, threshold: 20 },
  ]);
});

test("an alert rule does not fire again while its figure goes up and down around the threshold", async () => {
  const model = newModel();
  await set("flapping", { condition: "error_rate", threshold: 50, window_minutes: 5, filters: { model } });
  await use(model, 1, { failures: 1 });
  const told = await check();
  for (let round = 0; round < 4; round++) {
    await use(model, 3);
    told.push(...(await check()));
    await use(model, 10, { failures: 10 });
    told.push(...(await check()));
  }
  expect(told.map(({ type }) => type)).toEqual(["rule.fired"]);
});

describe("the condition of an alert rule", () => {
  test.each<[string, Partial<AlertRuleWords>, readonly (readonly [number, Used])[], number | null, boolean]>([
    ["spend is above its threshold", { threshold: 0.99 }, [[100, {}]], 1, true],
    ["spend is at its threshold", { threshold: 1 }, [[100, {}]], 1, false],
    ["spend of before the window does not count", { threshold: 0.1 }, [[100, { agoMs: 90 * minuteMs }]], 0, false],
    [
      "spend has doubled",
      { condition: "spend_change", threshold: 99 },
      [
        [10, { agoMs: 90 * minuteMs }],
        [20, {}],
      ],
      100,
      true,
    ],
    ["spend began with nothing before", { condition: "spend_change", threshold: 900 }, [[1, {}]], null, true],
    ["spend began with too few requests", { condition: "spend_change", min_requests: 2 }, [[1, {}]], null, false],
    [
      "latency is above its threshold",
      { condition: "latency_p95", threshold: 3_000 },
      [[20, { durationMs: 4_000 }]],
      3_756,
      true,
    ],
    ["latency is below its threshold", { condition: "latency_p95", threshold: 3_000 }, [[20, {}]], 939, false],
    ["latency without a request is not met", { condition: "latency_p95", threshold: 0 }, [], null, false],
    ["error rate without a request is not met", { condition: "error_rate", threshold: 0 }, [], null, false],
  ])("is decided by the recorded usage: %s", async (_, settings, usage, value, isMet) => {
    const model = newModel();
    for (const [count, used] of usage) await use(model, count, used);
    await set("one", { ...settings, filters: { model } });
    await check(0);
    replicas.advance(1);
    await check(0);
    const row = await state("one");
    expect([row?.value === null ? null : Math.round(row?.value ?? NaN), row?.is_firing, row?.last_error]).toEqual([
      value,
      isMet,
      null,
    ]);
  });

  test("for providers is met when none of a provider's calls was answered, until the first answer", async () => {
    const [model, provider] = [newModel(), `provider-${randomUUID()}`];
    await set("down", { condition: "provider_down", min_requests: 5, window_minutes: 10, filters: { provider } });
    await use(model, 4, { failures: 4, provider });
    expect(await check()).toEqual([]);
    await use(model, 1, { failures: 1, provider });
    expect(await check()).toMatchObject([{ data: { condition: "provider_down", value: 5 } }]);
    await use(model, 1, { provider });
    await check();
    expect(await state("down")).toMatchObject({ value: 0, is_firing: true, calm_since: expect.any(Date) });
  });

  test("for budgets forecasts the spending until the reset, and has no value without a limit", async () => {
    const workspaceId = await addWorkspace(replicas.database);
    await updateWorkspace(replicas.database, testAuthor(workspaceId), { limitUsd: "1000", limitReset: "monthly" });
    await set("forecast", { condition: "budget_forecast", threshold: 100 }, testAuthor(workspaceId));
    await check();
    expect(await state("forecast", workspaceId)).toMatchObject({ value: 0, is_firing: false });
    await updateWorkspace(replicas.database, testAuthor(workspaceId), { limitUsd: null });
    await check();
    expect(await state("forecast", workspaceId)).toMatchObject({ value: null, is_firing: false });
  });
});

test("a changed condition, filter or threshold starts an alert rule anew, without a clearing alert", async () => {
  const [model, other] = [newModel(), newModel()];
  await use(model, 2, { failures: 1 });
  await set("one", { filters: { model } });
  expect(await check()).toMatchObject([{ type: "rule.fired", data: { condition: "spend" } }]);
  await set("one", { condition: "error_rate", threshold: 10, filters: { model } });
  expect(await state("one")).toMatchObject({ is_firing: false, firing_since: null, value: null, checked_at: null });
  expect(await check()).toMatchObject([{ type: "rule.fired", data: { condition: "error_rate", value: 50 } }]);
  await set("one", { condition: "error_rate", threshold: 60, filters: { model } });
  for (let minute = 0; minute < 7; minute++) expect(await check()).toEqual([]);
  await set("one", { condition: "error_rate", threshold: 20, filters: { model } });
  expect(await check()).toMatchObject([{ type: "rule.fired", data: { threshold: 20 } }]);
  await set("one", { condition: "error_rate", threshold: 20, filters: { model: other } });
  for (let minute = 0; minute < 7; minute++) expect(await check()).toEqual([]);
});

test("a firing alert rule keeps firing when only its channels change", async () => {
  const model = newModel();
  await use(model, 1);
  await set("one", { filters: { model } });
  await check();
  const before = await state("one");
  await set("one", { filters: { model }, channels: ["ops", "gone"] });
  expect(await state("one")).toMatchObject({ is_firing: true, firing_since: before?.firing_since, value: 0.01 });
  expect(await check()).toEqual([]);
});

test("an alert rule without a usable channel reports this, and fires or clears once it has one again", async () => {
  const model = newModel();
  const lost = { ...replicas.settings, alerts: [] };
  const known = replicas.settings;
  await use(model, 1);
  await set("one", { filters: { model }, window_minutes: 5 });
  replicas.settings = lost;
  expect(await check()).toEqual([]);
  expect(await check()).toEqual([]);
  const waiting = { is_firing: false, value: 0.01, last_error: "no channel ops for this workspace" };
  expect(await state("one")).toMatchObject(waiting);
  replicas.settings = known;
  expect(await check()).toMatchObject([{ type: "rule.fired" }]);
  expect(await state("one")).toMatchObject({ is_firing: true, last_error: null });
  replicas.settings = lost;
  for (let minute = 0; minute < 12; minute++) expect(await check()).toEqual([]);
  expect(await state("one")).toMatchObject({ is_firing: true, last_error: "no channel ops for this workspace" });
  replicas.settings = known;
  expect(await check()).toMatchObject([{ type: "rule.cleared" }]);
});

test("an alert rule names its unusable channels: missing, of another workspace, or without the event", async () => {
  const model = newModel();
  await use(model, 1);
  await set("lost", { threshold: 0, filters: { model }, channels: ["gone", "elsewhere", "budgets", "ops"] });
  await check();
  expect(sink.taken.map(({ path }) => path)).toEqual(["/ops"]);
  expect(await state("lost")).toMatchObject({
    is_firing: true,
    last_error: "no channel gone, elsewhere, budgets for this workspace",
  });
});

const rows = () => replicas.database.selectFrom("alert_rules").selectAll().orderBy("checked_at").execute();

test("a round checks everything that is due, and workspaces take turns in it", async () => {
  const [first, second] = await Promise.all([addWorkspace(replicas.database), addWorkspace(replicas.database)]);
  for (let n = 0; n < 12; n++) await set(`rule ${n}`, {}, testAuthor(first));
  await set("later", {}, testAuthor(second));
  await set("last", {}, testAuthor(second));
  replicas.advance(minuteMs);
  checkMs = 100;
  await workers[0]?.run();
  const checked = await rows();
  expect(checked.map(({ checked_at: at }) => at !== null)).toEqual(Array(14).fill(true));
  expect(checked.map(({ workspace_id: of }) => (of === first ? 1 : 2))).toEqual([
    1,
    2,
    1,
    2,
    ...Array<number>(10).fill(1),
  ]);
});

test.each([
  [100, 60],
  [1_500, 150],
  [10_000, 300],
])("a rule whose check takes %i ms is checked again %i s after its beginning", async (ms, seconds) => {
  await set("costly", {});
  replicas.advance(minuteMs);
  checkMs = ms;
  await workers[0]?.run();
  const [row] = await rows();
  const pauseMs = (row?.due_at.getTime() ?? 0) - (row?.checked_at?.getTime() ?? 0);
  // The duration begins before the advanced time, by that of a statement.
  expect(Math.floor(pauseMs / 1_000 / seconds)).toBe(1);
});

test("an alert rule stays as it is when its report fails, and is checked again minutes later", async () => {
  await set("slow", {});
  refusal = new Fault(FaultReason.UNPROCESSABLE, "The report reads too much");
  await check();
  expect(await state("slow")).toMatchObject({
    last_error: "The report reads too much",
    is_firing: false,
    checked_at: null,
  });
  refusal = undefined;
  await check();
  expect(await state("slow")).toMatchObject({ last_error: "The report reads too much" });
  await check(5 * minuteMs);
  expect(await state("slow")).toMatchObject({ last_error: null, checked_at: expect.any(Date) });
});

test("an internal error in the check of an alert rule is noted in this rule, and does not stop other rules", async () => {
  const model = newModel();
  await use(model, 1);
  await set("broken", {});
  refusal = new Error("a bug");
  await check();
  expect(await state("broken")).toMatchObject({ last_error: "internal error", is_firing: false });
  refusal = undefined;
  await set("whole", { filters: { model } });
  expect(await check()).toMatchObject([{ data: { rule: "whole" } }]);
  expect(await state("broken")).toMatchObject({ last_error: "internal error" });
  await check(5 * minuteMs);
  expect(await state("broken")).toMatchObject({ last_error: null });
});

test("a deleted alert rule sends neither its waiting alerts nor its tests", async () => {
  const model = newModel();
  await use(model, 1);
  sink.answer = refusePost;
  for (const name of ["gone", "kept"]) {
    await set(name, { filters: { model } });
    const row = await state(name);
    if (!row) throw new Error("no rule");
    await startRuleTest(replicas.database, author, { rule: row, channels: ["ops"], value: null });
  }
  await check();
  const waiting = () =>
    replicas.database
      .selectFrom("alerts")
      .select(["type", sql<string>`facts ->> 'rule'`.as("rule")])
      .execute();
  expect(await waiting()).toHaveLength(4);
  await deleteAlertRule(replicas.database, author, "gone");
  expect((await waiting()).map(({ rule: of }) => of)).toEqual(["kept", "kept"]);
});

test("a rule that is made again fires once it is a minute old, and is checked before", async () => {
  const model = newModel();
  await use(model, 1);
  await set("again", { filters: { model } });
  await sql`update alert_rules set created_at = ${replicas.now()}`.execute(replicas.database);
  expect(await check(0)).toEqual([]);
  expect(await state("again")).toMatchObject({ is_firing: false, value: 0.01 });
  expect(await check()).toMatchObject([{ type: "rule.fired" }]);
});

const testRule = async (name: string, by: Author) => {
  const row = await state(name, by.workspaceId);
  if (!row) throw new Error("no rule");
  return startRuleTest(replicas.database, by, { rule: row, channels: ["ops"], value: null });
};

test("a workspace has at most 6 tests of rules in a minute, also of rules that are deleted and made again", async () => {
  const by = testAuthor(await addWorkspace(replicas.database));
  for (let n = 0; n < 6; n++) {
    await set("again", {}, by);
    expect(await testRule("again", by)).toBeInstanceOf(Map);
    expect(await testRule("again", by)).toMatchObject({ message: expect.stringContaining("once in 10 seconds") });
    await deleteAlertRule(replicas.database, by, "again");
  }
  await set("again", {}, by);
  expect(await testRule("again", by)).toMatchObject({ message: expect.stringContaining("at most 6 tests") });
});

test("the wait for deliveries ends at its time", async () => {
  await set("one", {});
  const ids = await testRule("one", author);
  if (!(ids instanceof Map)) throw new Error("no test");
  const deliveries = await awaitDeliveries(replicas.database, ids, performance.now() + 50);
  expect(deliveries).toEqual([{ channel: "ops", isDelivered: false, error: "not delivered yet" }]);
});

test.each<[string, () => Promise<unknown>]>([
  ["deletion", () => deleteAlertRule(replicas.database, author, "one")],
  ["change", () => set("one", { threshold: 2 })],
  ["test", () => testRule("one", author)],
  ["erasure of an end user", () => eraseEndUser(replicas.database, author, "u-9", () => {})],
])("the workspace is locked before the rule by a %s, as by every other change", async (_, change) => {
  await set("one", { filters: { user: "u-9" } });
  await replicas.database.connection().execute(async (holder) => {
    await sql`begin`.execute(holder);
    await sql`select from workspaces where id = ${defaultWorkspaceId} for no key update`.execute(holder);
    const changed = change();
    await eventually(async () => (await waitingStatements(replicas.database)) > 0);
    await sql`select from alert_rules for update nowait`.execute(holder);
    await sql`rollback`.execute(holder);
    await changed;
  });
});

test("a workspace that was deleted meanwhile gets no rule", async () => {
  const by = testAuthor(await addWorkspace(replicas.database));
  await deleteWorkspace(replicas.database, by);
  await expect(set("late", {}, by)).rejects.toMatchObject({ reason: FaultReason.NOT_FOUND });
  expect(await rows()).toEqual([]);
});

test("a workspace has at most 50 alert rules, and its deletion stops their checks", async () => {
  const workspaceId = await addWorkspace(replicas.database);
  const by = testAuthor(workspaceId);
  const made = await Promise.all(Array.from({ length: maxAlertRules + 2 }, (_, n) => set(`rule ${n}`, {}, by)));
  expect(made.filter((each) => each === "full")).toHaveLength(2);
  await deleteWorkspace(replicas.database, by);
  const { rows } = { rows: await replicas.database.selectFrom("alert_rules").select("id").execute() };
  expect(rows).toEqual([]);
});

test("the history of an alert rule keeps its last 100 events", async () => {
  await set("busy", {});
  const row = await state("busy");
  if (!row) throw new Error("no rule");
  await replicas.database.transaction().execute(async (transaction) => {
    for (let n = 0; n < maxRuleEvents + 5; n++)
      await addRuleEvent(transaction, row, { at: new Date(), type: "test", value: n });
  });
  const events = await listRuleEvents(replicas.database, row.id);
  expect([events.length, events[0]?.value, events.at(-1)?.value]).toEqual([maxRuleEvents, maxRuleEvents + 4, 5]);
  const all = await replicas.database.selectFrom("alert_rule_events").select("id").execute();
  expect(all).toHaveLength(maxRuleEvents);
});

test("erasing an end user removes views and rules with the name in any filter, their alerts and audit entries", async () => {
  const user = "mallory@example.com";
  const escaped = encodeURIComponent(user);
  await set("of user", { filters: { user: ` ${user} ` } });
  await set("of tag", { filters: { tags: `team=a, customer=${escaped}` } });
  await set(user, {});
  await set("of all", { filters: { user: `not-${user}`, tags: "customer=others" } });
  for (const query of [`user=+${escaped}+`, `q=${escaped}`, `tags=customer%3D${encodeURIComponent(escaped)}`])
    await putView(replicas.database, author, { name: query.slice(0, 4), query });
  await putView(replicas.database, author, { name: "others", query: `user=not-${escaped}` });
  await check();
  for (const name of ["of tag", user]) await testRule(name, author);
  const counts = await eraseEndUser(replicas.database, author, user, () => {});
  expect(counts).toMatchObject({ rules: 3, views: 3 });
  const names = async (table: "alert_rules" | "views") =>
    (await replicas.database.selectFrom(table).select("name").execute()).map(({ name }) => name);
  expect([await names("alert_rules"), await names("views")]).toEqual([["of all"], ["others"]]);
  const kept = [
    await replicas.database.selectFrom("audit_log").select(["target", "before", "after"]).execute(),
    await replicas.database.selectFrom("alerts").select("facts").execute(),
  ];
  const text = decodeURIComponent(JSON.stringify(kept)).replaceAll(`not-${user}`, "");
  expect(text).not.toContain(user);
});
