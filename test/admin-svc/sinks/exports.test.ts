/** Exports of turns: every turn is delivered in the end, once, despite failed processes, transactions and sinks. */
import { randomUUID } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import { toTurnRow } from "@sluice/admin-svc/store/ledger/turn-messages.js";
import { TurnOutcome, type TurnRecord, TurnRecordSchema } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type ExportSettings, exportSections } from "@sluice/proto/config/sinks/exports.js";
import { noSinks } from "@sluice/proto/config/sinks/sinks.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { version } from "@sluice/proto/lib/process/version.js";
import { validate } from "../../support/answers/published.ts";
import { addWorkspace } from "../installation.ts";
import { usageRecord } from "../usage.ts";
import { Replicas } from "./replicas.ts";
import { isSignedForS3 } from "./s3-signature.ts";
import { ScriptedSink, type ReceivedPost, acceptPost, refusePost } from "./scripted-sink.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

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
/** Begins a separate export for a test. */
async function configure(settings: Partial<ExportSettings> = {}): Promise<string> {
  const name = `lake-${++tests}`;
  const webhook = { url: `${sink.url}/`, secret };
  replicas.settings = { ...noSinks, exports: exportSections.parse([{ name, webhook, ...settings }]) };
  await replicas.export();
  return name;
}

const bootId = randomUUID();
let sequence = 0n;
const turnRecord = (fields: Partial<Omit<TurnRecord, "$typeName">> = {}): TurnRecord =>
  create(TurnRecordSchema, {
    bootId,
    instance: "test-1",
    workspaceId: defaultWorkspaceId,
    keyHash: "a".repeat(64),
    requestId: "req_1",
    generationId: `gen-${randomUUID()}`,
    sequence: ++sequence,
    openedAtMs: BigInt(Date.now()),
    durationMs: 10,
    outcome: TurnOutcome.COMPLETED,
    httpStatus: 200,
    model: "acme/large-2",
    count: 1,
    ...fields,
  });

const turnsIn = ({ body }: ReceivedPost): readonly JsonObject[] =>
  (JSON.parse(body.toString()) as { data: { turns: readonly JsonObject[] } }).data.turns;
const idsTaken = (): string[] => sink.taken.flatMap(turnsIn).map(({ id }) => String(id));
const batchIds = (messages: readonly ReceivedPost[]): unknown[] => messages.map(({ headers }) => headers["webhook-id"]);

test("exported turns arrive in batches, in the order of their recording, as GET /generations shows them", async () => {
  await replicas.both[0].record([], [turnRecord({ generationId: "gen-before" })]);
  await configure();
  const turns = Array.from({ length: 450 }, () => turnRecord());
  const [first, second] = replicas.both;
  await first.record([], turns.slice(0, 250));
  await second.record([], turns.slice(250));
  await replicas.export();
  expect(sink.taken.map((batch) => turnsIn(batch).length)).toEqual([200, 200, 50]);
  const expected = turns.map(({ generationId }) => generationId);
  expect(idsTaken().toSorted()).toEqual(expected.toSorted());
  expect(validate("GenerationList", { data: turnsIn(sink.taken[0] as ReceivedPost), next_cursor: null })).toEqual([]);
  replicas.advance(60_000);
  await replicas.export();
  expect(sink.taken).toHaveLength(3);
});

test("an export sink gets every turn exactly once after an hour of outage", async () => {
  await configure();
  sink.answer = refusePost;
  const expected: string[] = [];
  for (let minute = 0; minute < 60; minute += 4) {
    const turns = Array.from({ length: 25 }, () => turnRecord());
    expected.push(...turns.map(({ generationId }) => generationId));
    await replicas.both[minute % 8 === 0 ? 0 : 1].record([], turns);
    await replicas.export();
    replicas.advance(4 * 60_000);
  }
  expect(sink.refused.length).toBeGreaterThan(4);
  // Every attempt at the batch had the same id and the same turns.
  expect(new Set(batchIds(sink.refused)).size).toBe(1);
  expect(new Set(sink.refused.map(({ body }) => body.toString())).size).toBe(1);
  sink.answer = acceptPost;
  replicas.advance(15 * 60_000);
  for (let round = 0; round < 5; round++) {
    await replicas.export();
    replicas.advance(10_000);
  }
  expect(idsTaken().toSorted()).toEqual(expected.toSorted());
  expect(batchIds(sink.taken)[0]).toBe(batchIds(sink.refused)[0]);
});

test("an export does not skip a transaction with a late commit", async () => {
  await configure();
  const otherWorkspace = await addWorkspace(replicas.database);
  // Three processes deliver, because records of one process arrive one batch after the other.
  const [late, after] = [turnRecord({ bootId: randomUUID() }), turnRecord({ bootId: randomUUID() })];
  const soon = turnRecord({ bootId: randomUUID(), workspaceId: otherWorkspace });
  let commit = () => {};
  const held = new Promise<void>((resolve) => (commit = resolve));
  let stored = () => {};
  const isStored = new Promise<void>((resolve) => (stored = resolve));
  const transaction = insertUsage(replicas.database, [], [toTurnRow(late)], async (_, __, store) => {
    const count = await store();
    stored();
    await held;
    return count;
  });
  await isStored;
  const waiting = replicas.both[1].record([], [after]);
  await replicas.both[1].record([], [soon]);
  await replicas.export();
  const early = idsTaken();
  commit();
  await Promise.all([transaction, waiting]);
  expect(early).toEqual([soon.generationId]);
  replicas.advance(10_000);
  await replicas.export();
  const [first, ...others] = idsTaken();
  expect(first).toBe(soon.generationId);
  expect(others.toSorted()).toEqual([late.generationId, after.generationId].toSorted());
});

test("an export batch of a killed process is delivered by another process, under the same id", async () => {
  const name = await configure();
  await replicas.both[0].record([], [turnRecord()]);
  // The first process gets no answer and keeps waiting with its batch.
  sink.answer = () => {};
  const lost = replicas.both[0].exports.deliver();
  while (sink.refused.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await replicas.both[0].record([], [turnRecord()]);
  sink.answer = acceptPost;
  await replicas.both[1].exports.deliver();
  expect(sink.taken).toEqual([]);
  replicas.advance(31_000);
  await replicas.both[1].exports.deliver();
  expect(batchIds(sink.taken)).toEqual(batchIds(sink.refused));
  expect(idsTaken()).toHaveLength(1);
  // The late answer to the first process must not move the cursor back.
  sink.drop();
  await lost;
  replicas.advance(10_000);
  await replicas.export();
  expect(idsTaken()).toHaveLength(2);
  expect(new Set(idsTaken()).size).toBe(2);
  const [cursor] = await replicas.database
    .selectFrom("export_positions")
    .selectAll()
    .where("export", "=", name)
    .where("workspace_id", "=", defaultWorkspaceId)
    .execute();
  expect(cursor).toMatchObject({ batch_last: null, last_error: null, attempts: 0 });
});

test("the export of a turn waits for its record, or until its process is certainly dead", async () => {
  await configure();
  const keyHash = "b".repeat(64);
  const openedAtMs = BigInt(replicas.now().getTime());
  const [call, orphan] = [usageRecord({ keyHash, openedAtMs }), usageRecord({ keyHash, openedAtMs })];
  await replicas.both[0].record([call, orphan]);
  await replicas.export();
  expect(idsTaken()).toEqual([]);
  await replicas.both[0].record([], [turnRecord({ keyHash, generationId: call.generationId })]);
  await replicas.export();
  expect(idsTaken()).toEqual([call.generationId]);
  expect(turnsIn(sink.taken[0] as ReceivedPost)[0]).toMatchObject({ attempts: 1, cost_usd: "0.000123456789" });
  replicas.advance(16 * 60_000);
  await replicas.export();
  expect(idsTaken()).toEqual([call.generationId, orphan.generationId]);
});

test("a workspace's export has no turns of another, and an export of all workspaces includes new ones", async () => {
  await configure({ workspace: await addWorkspace(replicas.database) });
  await replicas.both[0].record([], [turnRecord()]);
  await replicas.export();
  expect(sink.taken).toEqual([]);
  await configure();
  const workspaceId = await addWorkspace(replicas.database);
  const turn = turnRecord({ workspaceId });
  await replicas.both[0].record([], [turn]);
  await replicas.export();
  expect(idsTaken()).toEqual([turn.generationId]);
});

test("an export to a bucket writes signed objects of JSON lines; a repetition has the same name and content", async () => {
  const s3 = {
    bucket: "lake",
    endpoint: sink.url,
    prefix: "sluice/",
    access_key_id: "AKID",
    secret_access_key: "s3cret",
  };
  await configure({ webhook: undefined, s3: s3 as ExportSettings["s3"] });
  const turns = [turnRecord(), turnRecord({ outcome: TurnOutcome.REFUSED, httpStatus: 403 })];
  await replicas.both[0].record([], turns);
  sink.answer = refusePost;
  await replicas.export();
  await replicas.both[0].record([], [turnRecord()]);
  sink.answer = acceptPost;
  replicas.advance(60_000);
  await replicas.export();
  const [object] = sink.taken as [ReceivedPost];
  const day = new Date(replicas.now().getTime() - 60_000).toISOString().slice(0, 8);
  expect(object.method).toBe("PUT");
  expect(object.path).toMatch(
    new RegExp(`^/lake/sluice/${defaultWorkspaceId}/${day}\\d\\d/(\\d{19})-(\\d{19})\\.jsonl\\.gz$`),
  );
  const lines = gunzipSync(object.body).toString().trim().split("\n");
  const shown = lines.map((line) => JSON.parse(line) as JsonObject);
  // Turns stored in one transaction have no order in the export.
  expect(new Map(shown.map(({ id, outcome }) => [id, outcome]))).toEqual(
    new Map([
      [turns[0]?.generationId, "completed"],
      [turns[1]?.generationId, "refused"],
    ]),
  );
  expect(isSignedForS3(object, "s3cret")).toBe(true);
  expect(isSignedForS3(object, "another")).toBe(false);
  const [first] = sink.refused as [ReceivedPost];
  expect([first.path, first.body]).toEqual([object.path, object.body]);
});

test("an export to an OpenTelemetry collector sends log records with the attributes of traces", async () => {
  const otlp = { url: `${sink.url}/otel/`, headers: { "x-api-key": "k" } };
  await configure({ webhook: undefined, otlp });
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const openedAtMs = BigInt(Date.parse("2026-11-26T12:00:00.500Z"));
  const answered = turnRecord({ openedAtMs, durationMs: 1_500, firstMs: 250, traceId, user: "u-1" });
  const refused = turnRecord({ outcome: TurnOutcome.REFUSED, httpStatus: 403, rule: "IBAN", guardrailId: "g-1" });
  const call = usageRecord({ generationId: answered.generationId });
  await replicas.both[0].record([call], [answered, refused]);
  await replicas.export();
  const [message] = sink.taken as [ReceivedPost];
  expect([message.method, message.path, message.headers["x-api-key"]]).toEqual(["POST", "/otel/v1/logs", "k"]);
  const { resourceLogs } = JSON.parse(message.body.toString()) as LogsPayload;
  const service = new Map(resourceLogs[0]?.resource.attributes.map(({ key, value }) => [key, value]));
  expect(service.get("service.version")).toEqual({ stringValue: version });
  // Turns of one transaction have no order.
  const records = (resourceLogs[0]?.scopeLogs[0]?.logRecords ?? []).toSorted((a) => (a.traceId === traceId ? -1 : 1));
  expect(records).toHaveLength(2);
  expect(records[0]).toMatchObject({
    timeUnixNano: "1795694402000000000",
    severityText: "INFO",
    eventName: "sluice.turn",
    body: { stringValue: "turn completed" },
    traceId,
  });
  expect(records[1]).toMatchObject({ severityText: "WARN", body: { stringValue: "turn refused" } });
  const [first, second] = records.map(({ attributes }) => new Map(attributes.map(({ key, value }) => [key, value])));
  expect(Object.fromEntries(first ?? [])).toMatchObject({
    "sluice.generation_id": { stringValue: answered.generationId },
    "sluice.outcome": { stringValue: "completed" },
    "sluice.cost_usd": { stringValue: "0.000123456789" },
    "sluice.time_to_first_token": { doubleValue: 0.25 },
    "http.response.status_code": { intValue: "200" },
    "gen_ai.provider.name": { stringValue: "acme" },
    "gen_ai.usage.input_tokens": { intValue: "12" },
    "user.id": { stringValue: "u-1" },
  });
  expect(second?.get("sluice.guardrail.id")).toEqual({ stringValue: "g-1" });
  expect(second?.has("gen_ai.provider.name")).toBe(false);
});

interface LogsPayload {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeLogs: readonly { readonly logRecords: readonly LogRecord[] }[];
  }[];
}
interface LogRecord {
  readonly traceId?: string;
  readonly attributes: readonly Attribute[];
}
interface Attribute {
  readonly key: string;
  readonly value: object;
}
