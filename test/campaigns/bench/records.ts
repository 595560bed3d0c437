/**
 * Measures how fast the records of a workspace are stored, with one and with two processes of admin-svc: `node test/dist/campaigns/bench/records.js` (two
 * minutes). Four processes deliver full batches, one after the other each, as inference-svc does when it is behind; the records have twenty
 * keys, twenty models and five thousand end users. Sums of end users that still wait at the end are added before the last figure.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toJsonString } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { sumUsers } from "@sluice/admin-svc/store/ledger/user-sums.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { startPostgres } from "@sluice/local/postgres.js";
import {
  AttemptStatus,
  CallOperation,
  LedgerService,
  type RecordUsageRequest,
  RecordUsageRequestSchema,
  TurnOutcome,
  TurnRecordSchema,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import pg from "pg";
import { freePort } from "../../support/runner/free-ports.ts";
import { type Admin, startAdmin, benchToken } from "./admin.ts";
import { cpuNs, cpuNsOfChildren } from "../../support/machine.ts";

const turnsOfBatch = 250;
const senders = 4;
/** Batches of each sender: enough for compiled code of admin-svc to dominate the measurement. */
const batchesOfSender = 80;
const keys = 20;
const models = 20;
const users = 5_000;

type Server = Awaited<ReturnType<typeof startPostgres>>;

function batch(bootId: string, first: number): RecordUsageRequest {
  const [recordsJson, turnsJson]: [Buffer[], Buffer[]] = [[], []];
  for (let n = first; n < first + turnsOfBatch; n++) {
    const common = {
      bootId,
      sequence: BigInt(n),
      instance: "bench",
      workspaceId: defaultWorkspaceId,
      keyHash: (n % keys).toString(16).padStart(64, "0"),
      generationId: newId("gen-"),
      requestId: newId("req_"),
      openedAtMs: BigInt(Date.now()),
      durationMs: Math.round(1_000 * 20 ** Math.random()),
      firstMs: Math.round(200 * 8 ** Math.random()),
      door: "responses",
      operation: CallOperation.TURN,
      model: `acme/model-${Math.floor(Math.random() * models)}`,
      httpStatus: 200,
      streamed: true,
      user: `user-${Math.floor(Math.random() * users)}`,
      sessionId: newId("s-"),
    };
    const record = create(UsageRecordSchema, {
      ...common,
      turnId: randomUUID(),
      attempt: 1,
      provider: "acme",
      upstreamModel: common.model,
      serviceTier: "default",
      status: AttemptStatus.COMPLETED,
      tokens: { input: 1_200, cached: 400, cacheWrite: 0, output: 300, reasoning: 10 },
      costUsd: "0.000123456789",
      finishReason: "stop",
    });
    recordsJson.push(Buffer.from(toJsonString(UsageRecordSchema, record)));
    const turn = create(TurnRecordSchema, { ...common, outcome: TurnOutcome.COMPLETED });
    turnsJson.push(Buffer.from(toJsonString(TurnRecordSchema, turn)));
  }
  return create(RecordUsageRequestSchema, { recordsJson, turnsJson });
}

async function send(client: Client, batches: readonly RecordUsageRequest[]): Promise<void> {
  for (const each of batches) await sendOne(client, each);
}

/** Sends a batch, and repeats it as long as admin-svc is too busy. */
async function sendOne(client: Client, request: RecordUsageRequest): Promise<void> {
  try {
    await call(client, LedgerService.method.recordUsage, request, serviceMetadata(benchToken), 120_000);
  } catch (error) {
    if (!(error instanceof Fault && error.shouldRetry)) throw error;
    await sendOne(client, request);
  }
}

const deliveries = () =>
  Array.from({ length: senders }, () => {
    const bootId = randomUUID();
    return Array.from({ length: batchesOfSender }, (_, n) => batch(bootId, n * turnsOfBatch + 1));
  });

async function measure(server: Server, processes: number): Promise<void> {
  const admins: Admin[] = [];
  for (let n = 0; n < processes; n++) admins.push(await startAdmin(server.url));
  try {
    await measureWith(server, admins);
  } finally {
    for (const admin of admins) await admin.stop();
  }
}

async function measureWith({ url, pid: postgresPid }: Server, admins: readonly Admin[]): Promise<void> {
  const processes = admins.length;
  const cpu = () => admins.reduce((sum, { pid }) => sum + cpuNs(pid) / 1_000, 0);
  const postgres = () => cpuNsOfChildren(postgresPid) / 1_000;
  const all = deliveries();
  const logged = await logBytes(url);
  const [began, used, spent] = [performance.now(), cpu(), postgres()];
  await Promise.all(all.map((each, n) => send((admins[n % processes] as Admin).client, each)));
  const ms = performance.now() - began;
  const turns = senders * batchesOfSender * turnsOfBatch;
  const own = (cpu() - used) / turns;
  const written = (postgres() - spent) / turns;
  const wait = await folded(url);
  const whole = (postgres() - spent) / turns;
  const log = ((await logBytes(url)) - logged) / turns;
  await addUsers(url);
  const [allOfPostgres, allLog] = [(postgres() - spent) / turns, ((await logBytes(url)) - logged) / turns];
  console.log(
    `${processes} admin-svc: ${((1_000 * turns) / ms).toFixed(0)} turns/s, ${((1_000 * ms) / turns).toFixed(0)} us a turn, processor of admin-svc ${own.toFixed(0)} us, of Postgres ${written.toFixed(0)} us with sums ${whole.toFixed(0)} us and with end users ${allOfPostgres.toFixed(0)} us; write-ahead log ${log.toFixed(0)} bytes and with end users ${allLog.toFixed(0)}; sums complete ${wait.toFixed(0)} ms later`,
  );
}

async function logBytes(databaseUrl: string): Promise<number> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query<{ bytes: number }>(
      "select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes",
    );
    return rows[0]?.bytes ?? Number.NaN;
  } finally {
    await database.end();
  }
}

/** Adds the waiting turns to the sums of end users. */
async function addUsers(databaseUrl: string): Promise<void> {
  const database = openDatabase(databaseUrl, writeConnectionLimits, () => {});
  try {
    while ((await sumUsers(database, { maxWaiting: 0 })) !== "none");
  } finally {
    await database.destroy();
  }
}

/** Waits until the sums contain every record. @returns milliseconds */
async function folded(databaseUrl: string): Promise<number> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  const began = performance.now();
  try {
    const waiting = "select from ledger where written >= (select folded from ledger_progress) limit 1";
    while ((await database.query(waiting)).rowCount !== 0) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return performance.now() - began;
  } finally {
    await database.end();
  }
}

const directory = await mkdtemp(join(tmpdir(), "sluice-records-"));
const server = await startPostgres({
  dataDir: join(directory, "postgres"),
  port: await freePort(),
  log: join(directory, "postgres.log"),
});
try {
  for (const processes of [1, 2, 1, 2]) await measure(server, processes);
} finally {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
