/** Budget alerts: each share of a budget is alerted once, despite crashed processes and unreachable sinks. */
import { createHmac, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { runCli } from "@sluice/admin-svc/cli.js";
import { addTestAlert } from "@sluice/admin-svc/store/alerts/outbox.js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { FilterAction } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { TurnOutcome, type TurnRecord, TurnRecordSchema } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type AlertSettings, alerts as alertsSchema } from "@sluice/proto/config/sinks/alerts.js";
import { noSinks } from "@sluice/proto/config/sinks/sinks.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { addGuardrail } from "../installation.ts";
import { usageRecord } from "../usage.ts";
import { Replicas } from "./replicas.ts";
import { ScriptedSink, type ReceivedPost, acceptPost, refusePost } from "./scripted-sink.ts";

const secretBytes = Buffer.alloc(32, 7);
const secret = `whsec_${secretBytes.toString("base64")}`;

let replicas: Replicas;
let sink: ScriptedSink;
beforeAll(async () => {
  replicas = await Replicas.open();
  sink = await new ScriptedSink().open();
});
afterAll(async () => {
  await sink.close();
  await replicas.close();
});
beforeEach(() => {
  sink.taken.length = 0;
  sink.refused.length = 0;
  sink.answer = acceptPost;
});

let tests = 0;
/** Configures separate sinks for a test. */
function configure(settings: Partial<AlertSettings> = {}): string {
  const name = `ops-${++tests}`;
  const webhook = { url: `${sink.url}/${name}`, secret };
  replicas.settings = { ...noSinks, alerts: alertsSchema.parse([{ name, webhook, ...settings }]) };
  return name;
}

interface Body {
  readonly type: string;
  readonly timestamp: string;
  readonly data: JsonObject;
}
const bodyOf = ({ body }: ReceivedPost): Body => JSON.parse(body.toString()) as Body;
const idOf = ({ headers }: ReceivedPost): unknown => headers["webhook-id"];
const percents = (messages: readonly ReceivedPost[]): unknown[] =>
  messages.map((message) => bodyOf(message).data["percent"]).toSorted((a, b) => Number(a) - Number(b));
const month = () => `${new Date().toISOString().slice(0, 7)}-01`;
const today = () => BigInt(Date.now());
const spend = (keyHash: string, costUsd: string) => usageRecord({ keyHash, costUsd, openedAtMs: today() });

test("each budget share is alerted once, signed, when the spend reaches it", async () => {
  configure();
  const keyHash = await replicas.addKey({ name: "billing <team>", limit_usd: "10", limit_reset: "monthly" });
  const [first] = replicas.both;
  await first.record([spend(keyHash, "4.999999999999")]);
  await replicas.deliver();
  expect(sink.taken).toEqual([]);
  await first.record([spend(keyHash, "0.000000000001")]);
  await first.record([spend(keyHash, "2")]);
  await replicas.deliver();
  const [message] = sink.taken as [ReceivedPost];
  expect(sink.taken).toHaveLength(1);
  const { body, headers } = message;
  const [id, at] = [String(headers["webhook-id"]), String(headers["webhook-timestamp"])];
  const signature = createHmac("sha256", secretBytes).update(`${id}.${at}.${body.toString()}`).digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${signature}`);
  expect(Math.abs(Number(at) - Date.now() / 1_000)).toBeLessThan(60);
  expect(bodyOf(message)).toEqual({
    type: "budget.reached",
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    data: {
      budget: "key",
      percent: 50,
      limit_usd: "10",
      spent_usd: "5",
      limit_reset: "monthly",
      period_start: month(),
      key_hash: keyHash,
      key_name: "billing <team>",
      guardrail_id: null,
      workspace_id: "00000000-0000-4000-8000-000000000001",
      workspace: "default",
    },
  });
  await first.record([spend(keyHash, "3")]);
  await replicas.deliver();
  expect(percents(sink.taken)).toEqual([50, 80, 95, 100]);
});

test("two processes that record calls of one key at the same time send one alert for each budget share", async () => {
  configure();
  const keyHash = await replicas.addKey({ name: "shared", limit_usd: "1", limit_reset: "monthly" });
  const calls = Array.from({ length: 40 }, (_, n) => ({
    replica: replicas.both[n % 2 === 0 ? 0 : 1],
    call: spend(keyHash, "0.03"),
  }));
  await Promise.all(calls.map(({ replica, call }) => replica.record([call])));
  // A repeated delivery of the record sends no further alert.
  await replicas.both[1].record(calls.map(({ call }) => call));
  await Promise.all([replicas.deliver(), replicas.deliver()]);
  expect(percents(sink.taken)).toEqual([50, 80, 95, 100]);
  expect(new Set(sink.taken.map(idOf)).size).toBe(4);
});

test("an alert sink gets every alert exactly once after an hour of outage", async () => {
  configure({ budget_percents: [50] });
  sink.answer = refusePost;
  const keys: string[] = [];
  for (let minute = 0; minute < 60; minute += 3) {
    if (minute % 6 === 0) {
      const keyHash = await replicas.addKey({ name: `key-${minute}`, limit_usd: "1", limit_reset: "monthly" });
      keys.push(keyHash);
      await replicas.both[0].record([spend(keyHash, "0.6")]);
    }
    await replicas.deliver();
    replicas.advance(3 * 60_000);
  }
  expect(sink.taken).toEqual([]);
  // The delays between attempts grow: with one attempt a second, an hour would have thousands.
  expect(sink.refused.length).toBeGreaterThan(20);
  expect(sink.refused.length).toBeLessThan(200);
  sink.answer = acceptPost;
  replicas.advance(15 * 60_000);
  await replicas.deliver();
  expect(sink.taken.map((message) => String(bodyOf(message).data["key_hash"])).toSorted()).toEqual(keys.toSorted());
  const repeated = new Set(sink.refused.map(idOf));
  expect(new Set(sink.taken.map(idOf))).toEqual(repeated);
  replicas.advance(3_600_000);
  await replicas.deliver();
  expect(sink.taken).toHaveLength(keys.length);
});

test("alerts for a sink are given up after three days of outage, which metrics and the table show", async () => {
  const name = configure({ budget_percents: [50] });
  sink.answer = refusePost;
  const keyHash = await replicas.addKey({ name: "lost", limit_usd: "1" });
  await replicas.both[0].record([spend(keyHash, "0.6")]);
  const [first] = replicas.both;
  await first.alerts.deliver();
  replicas.advance(3 * 24 * 3_600_000 - 60_000);
  await first.alerts.deliver();
  expect(await states(name)).toEqual([{ state: "waiting", last_error: "status 503" }]);
  replicas.advance(3_600_000);
  await first.alerts.deliver();
  expect(await states(name)).toEqual([{ state: "dead", last_error: "status 503" }]);
  const metrics = await first.registry.metrics();
  expect(metrics).toContain(`sluice_alert_attempts_total{sink="${name}",result="dead"} 1`);
  expect(metrics).toContain(`sluice_alerts{sink="${name}",state="dead"} 1`);
  sink.answer = acceptPost;
  replicas.advance(3_600_000);
  await first.alerts.deliver();
  expect(sink.taken).toEqual([]);

  let printed = "";
  const output = { write: (line: string) => (printed += line) };
  const runAlerts = (...args: readonly string[]) =>
    runCli(["alerts", ...args], { databaseUrl: replicas.databaseUrl, stdout: output, stderr: output });
  await runAlerts("list", "--state", "dead", "--json");
  expect(JSON.parse(printed)).toMatchObject([{ sink: name, type: "budget.reached", data: { key_hash: keyHash } }]);
  expect(await runAlerts("retry", "msg_unknown")).toBe(1);
  expect(await runAlerts("retry", "--all")).toBe(0);
  await first.alerts.deliver();
  expect(sink.taken.map(idOf)).toEqual([sink.refused[0] && idOf(sink.refused[0])]);
});

const states = (sinkName: string) =>
  replicas.database.selectFrom("alerts").select(["state", "last_error"]).where("sink", "=", sinkName).execute();

test("Slack gets a readable text in which names cannot add markup", async () => {
  configure({ webhook: undefined, slack: { url: `${sink.url}/slack` }, budget_percents: [80] });
  const keyHash = await replicas.addKey({ name: "<!channel> & co", limit_usd: "2.50", limit_reset: "monthly" });
  await replicas.both[0].record([spend(keyHash, "2.1")]);
  await replicas.deliver();
  const [message] = sink.taken as [ReceivedPost];
  const { text, blocks } = JSON.parse(message.body.toString()) as { text: string; blocks: unknown };
  const key = "key &lt;!channel&gt; &amp; co";
  expect(text).toBe(`80 % of the budget of ${key} are spent: 2.1 of 2.5 USD (monthly, since ${month()})`);
  expect(blocks).toEqual([
    { type: "section", text: { type: "mrkdwn", text } },
    { type: "context", elements: [{ type: "mrkdwn", text: expect.stringContaining("workspace default · key ") }] },
  ]);
});

test("a redirect of an alert sink is not followed", async () => {
  const name = configure({ budget_percents: [50] });
  sink.answer = (response) => void response.writeHead(307, { location: `${sink.url}/elsewhere` }).end();
  const keyHash = await replicas.addKey({ name: "moved", limit_usd: "1" });
  await replicas.both[0].record([spend(keyHash, "0.6")]);
  await replicas.deliver();
  expect(sink.refused.map(({ path }) => path)).toEqual([`/${name}`]);
  expect(await states(name)).toEqual([{ state: "waiting", last_error: "status 307" }]);
});

test("a workspace's alert sink gets no alert of another workspace", async () => {
  configure({ workspace: "elsewhere" });
  const keyHash = await replicas.addKey({ name: "here", limit_usd: "1" });
  await replicas.both[0].record([spend(keyHash, "1")]);
  await replicas.deliver();
  expect(sink.taken).toEqual([]);
});

describe("alerts about findings of guardrails", () => {
  const boot = { bootId: randomUUID(), instance: "test-1", workspaceId: defaultWorkspaceId };
  let sequence = 0n;
  const refusal = (fields: Partial<Omit<TurnRecord, "$typeName">>) =>
    create(TurnRecordSchema, {
      ...boot,
      generationId: `gen-${randomUUID()}`,
      sequence: ++sequence,
      openedAtMs: today(),
      outcome: TurnOutcome.REFUSED,
      httpStatus: 403,
      guardrailAction: FilterAction.BLOCK,
      rule: "IBAN",
      count: 1,
      ...fields,
    });

  test("are sent once a minute with their number, each counted once despite repeated deliveries of its record", async () => {
    const [first, second] = replicas.both;
    configure();
    const guardrailId = await addGuardrail(replicas.database);
    const keyHash = await replicas.addKey({ name: "billing" });
    const [one, ...others] = Array.from({ length: 5 }, () => refusal({ keyHash, guardrailId }));
    const flagged = refusal({ keyHash, guardrailId, httpStatus: 200, guardrailAction: FilterAction.FLAG, count: 3 });
    await first.record([], [one as TurnRecord]);
    await second.record([], [one as TurnRecord, ...others]);
    await second.record([], [...others, flagged]);
    await replicas.deliver();
    expect(sink.taken).toEqual([]);
    replicas.advance(60_000);
    await replicas.deliver();
    const told = sink.taken.map((message) => bodyOf(message).data);
    const shared = {
      guardrail_id: guardrailId,
      guardrail: "test",
      rule: "IBAN",
      key_hash: keyHash,
      key_name: "billing",
    };
    const hits = new Map<unknown, number>();
    for (const data of told) hits.set(data["action"], (hits.get(data["action"]) ?? 0) + Number(data["hits"]));
    // The minute may end between two of the deliveries.
    expect([...hits]).toEqual(
      expect.arrayContaining([
        ["block", 5],
        ["flag", 3],
      ]),
    );
    for (const data of told) expect(data).toMatchObject({ ...shared, workspace: "default" });
  });

  test("that arrive after the alert of their minute are sent with the next one", async () => {
    const [first] = replicas.both;
    const name = configure();
    const guardrailId = await addGuardrail(replicas.database);
    const keyHash = await replicas.addKey({ name: "late" });
    await first.record([], [refusal({ keyHash, guardrailId })]);
    // Simulates a transaction of the next record begun in that minute and committed later.
    await replicas.database.updateTable("alerts").set({ attempts: 1 }).where("sink", "=", name).execute();
    await first.record([], [refusal({ keyHash, guardrailId, count: 2 })]);
    replicas.advance(120_000);
    await replicas.deliver();
    expect(sink.taken.map((message) => bodyOf(message).data["hits"])).toEqual(expect.arrayContaining([1, 2]));
  });

  test("are sent only in the kinds chosen for a sink, and as text to Slack", async () => {
    const [first] = replicas.both;
    configure({ webhook: undefined, slack: { url: `${sink.url}/slack` }, events: ["guardrail_block"] });
    const guardrailId = await addGuardrail(replicas.database);
    const keyHash = await replicas.addKey({ name: "billing", limit_usd: "1" });
    const flagged = refusal({ keyHash, guardrailId, guardrailAction: FilterAction.FLAG });
    await first.record([spend(keyHash, "1")], [refusal({ keyHash, guardrailId, count: 12 }), flagged]);
    replicas.advance(60_000);
    await replicas.deliver();
    const texts = sink.taken.map(({ body }) => (JSON.parse(body.toString()) as { text: string }).text);
    expect(texts).toEqual(["Guardrail test blocked 12 requests of key billing: IBAN"]);
  });
});

test("a sink that is given to another workspace gets nothing that waited for the one before, except its own test", async () => {
  const name = configure({ budget_percents: [50] });
  sink.answer = refusePost;
  const keyHash = await replicas.addKey({ name: "moved", limit_usd: "1" });
  await replicas.both[0].record([spend(keyHash, "0.6")]);
  await replicas.deliver();
  const { alerts: sinks } = replicas.settings;
  replicas.settings = { ...noSinks, alerts: sinks.map((each) => ({ ...each, workspace: "research" })) };
  await addTestAlert(replicas.database, name, defaultWorkspaceId);
  sink.answer = acceptPost;
  replicas.advance(3_600_000);
  await replicas.deliver();
  expect(sink.taken.map((message) => bodyOf(message).type)).toEqual(["test"]);
  expect(await states(name)).toContainEqual({ state: "dead", last_error: "the sink serves another workspace" });
});
