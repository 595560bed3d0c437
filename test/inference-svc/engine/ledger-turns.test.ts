/** The record of a turn is on disk before its client gets the end, so a process killed at this moment leaves the record behind. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CurrentConfig } from "@sluice/inference-svc/engine/current-config.js";
import { Engine } from "@sluice/inference-svc/engine/engine.js";
import { SessionHandler } from "@sluice/inference-svc/entry/handlers/session.js";
import { ServerLane } from "@sluice/inference-svc/entry/lane/server-lane.js";
import { readFrame } from "@sluice/proto/lib/ledger/frame.js";
import { Ledger } from "@sluice/inference-svc/models/ledger/ledger.js";
import { LedgerTurns } from "@sluice/inference-svc/engine/ledger-turns.js";
import { TurnRecorder } from "@sluice/inference-svc/engine/turn-recorder.js";
import { OpenTurns } from "@sluice/inference-svc/engine/open-turns.js";
import { buildStack } from "@sluice/inference-svc/stack.js";
import { Identities } from "@sluice/inference-svc/turn/identity.js";
import { RequestParser } from "@sluice/inference-svc/turn/parse/request-parser.js";
import {
  OpenSchema,
  SessionRequestSchema,
  type SessionResponse,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { Hindrances } from "@sluice/proto/lib/process/hindrances.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type AdminInstallation, addKey, openInstallation, serviceToken } from "../../admin-svc/installation.ts";
import { type Upstream, chatAnswer, chatChunk, chatStream, startUpstream } from "../../support/providers/upstream.ts";
import { testConfig as configFile, openParts, stackSecret } from "../asking.ts";
import { openRefusingPort } from "../models/ledger/calls.ts";

const log = openLog("test", "silent");

let admin: AdminInstallation;
let upstream: Upstream;
let keyHash: string;
let access: Access;
/** An unreachable admin-svc, so records stay where they were written. */
let away: { readonly port: number; readonly stop: () => Promise<void> };
let clients: Client[];
const folders: string[] = [];

beforeAll(async () => {
  admin = await openInstallation();
  upstream = await startUpstream();
  keyHash = hashKey(await addKey(admin.database));
  away = await openRefusingPort();
  clients = [dial(`127.0.0.1:${admin.port}`), dial(`127.0.0.1:${away.port}`)];
  access = new Access({
    client: clients[0] as Client,
    token: serviceToken,
    process: "test",
    log,
    registry: new Registry(),
  });
});
afterAll(async () => {
  access.stop();
  for (const client of clients) client.close();
  await away.stop();
  await upstream.stop();
  await admin.close();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
  folders.push(folder);
  return folder;
};

const openLedger = (directory: string, client: Client | undefined) =>
  new Ledger({
    directory,
    instance: "test-1",
    client: client as Client,
    token: serviceToken,
    log,
    registry: new Registry(),
  });

/** An engine with its spool, and a session client that notes the contents of the disk at the end of a turn. */
class Process {
  readonly directory = newFolder();
  /** Copies of the spool as it was at each end. */
  readonly heard: string[] = [];
  readonly #ledger = openLedger(this.directory, clients[1]);
  readonly #lane: ServerLane;
  #opened = 0;
  #over = () => {};

  constructor() {
    const endpoints = ["large-2", "large-2b"].map((name) => ({ provider: "acme", upstream_model: name }));
    const config = new CurrentConfig(configFile({ url: upstream.url, models: [{ id: "acme/large-2", endpoints }] }));
    const registry = new Registry();
    const ledger = this.#ledger;
    const hindrances = new Hindrances(log);
    const engine = new Engine({
      hindrances,
      access,
      budget: new ByteBudget({ origin: FaultOrigin.INFERENCE, registry }),
      openTurns: new OpenTurns(),
      observer: new LedgerTurns({ inner: new TurnRecorder(log, registry), ledger, access }),
      registry,
      region: "",
      enforcesEndUsers: () => false,
      permissionDefault: () => "allow",
      modelLimiter: new Limiter({ config: () => config.file.limits, origin: FaultOrigin.INFERENCE, registry }),
    });
    const pipeline = {
      parse: new RequestParser(config, new Identities(stackSecret)).parse,
      turn: buildStack({ ...openParts(config.file).parts, ledger }).turn,
    };
    const runner = new SessionHandler({
      engine,
      pipeline,
      config,
      log,
      instance: "test-1",
      hindrances,
      beforeSending: () => {},
    });
    const write = (message: SessionResponse) => this.#hear(message);
    this.#lane = new ServerLane({ instance: "test-1", draining: false, messages: { write }, runner });
  }

  #hear({ frames }: SessionResponse): boolean {
    this.#ledger.flush();
    if (!frames.some(({ last }) => last)) return true;
    const copy = newFolder();
    cpSync(this.directory, copy, { recursive: true });
    this.heard.push(copy);
    this.#over();
    return true;
  }

  /** Settles when the client has the end. @returns the id of the turn */
  async run(stream: boolean): Promise<string> {
    const generationId = newId("gen-");
    const request = { model: "acme/large-2", inputJson: Buffer.from('"Hi"'), stream };
    const value = create(OpenSchema, { keyHash, requestId: "req_1", generationId, request });
    const over = new Promise<void>((resolve) => {
      this.#over = resolve;
    });
    const frames = [{ turn: ++this.#opened, frame: { case: "open" as const, value } }];
    this.#lane.receive(create(SessionRequestSchema, { frames }));
    await over;
    return generationId;
  }

  async end(): Promise<void> {
    this.#lane.close();
    await this.#ledger.close(0);
  }
}

/** Delivers a spool as the next start of a killed process does. */
async function deliver(directory: string): Promise<void> {
  await openLedger(directory, clients[0]).close(60_000);
  expect(readdirSync(directory)).toEqual([]);
}

const row = async (id: string) =>
  admin.database.selectFrom("all_turns").selectAll().where("generation_id", "=", id).executeTakeFirst();

const refusal = { status: 500, chunks: [{ json: { error: { message: "no" } } }] };
const torn = { chunks: [{ sse: [chatChunk({ content: "a" })] }], cut: true };

test.each([
  ["a whole answer", false, [chatAnswer({ role: "assistant", content: "Hi" })], ["completed", 200]],
  ["a stream", true, [chatStream("Hi", " you")], ["completed", 200]],
  ["an answer at the second attempt", false, [refusal, chatAnswer({ content: "Hi" })], ["completed", 200]],
  ["a stream that breaks", true, [torn], ["failed", 502]],
] as const)("the client of %s gets its end event after the turn is recorded", async (_, stream, replies, expected) => {
  upstream.script([...replies]);
  const askedBefore = upstream.requests.length;
  const running = new Process();
  const id = await running.run(stream);
  await deliver(running.heard[0] as string);
  expect(await row(id)).toMatchObject({ is_recorded: true });
  // The process was only paused, and delivers the same records again.
  await running.end();
  await deliver(running.directory);
  const { outcome, http_status: status, attempts } = (await row(id)) ?? {};
  expect([outcome, status]).toEqual(expected);
  expect(attempts).toBe(upstream.requests.length - askedBefore);
});

/** The kinds of the lines, one letter each, of each write to the spool. */
function writesIn(directory: string): string[] {
  const [name] = readdirSync(directory);
  const bytes = readFileSync(join(directory, name as string));
  const writes: string[] = [];
  for (let frame = readFrame(bytes, 0); typeof frame === "object"; frame = readFrame(bytes, frame.end)) {
    const lines = bytes.toString("utf8", frame.start, frame.end).split("\n");
    writes.push(lines.map(([letter]) => letter).join(""));
  }
  return writes;
}

test("the record of a turn and the end of its call are the last write together", async () => {
  upstream.script([chatAnswer({ role: "assistant", content: "Hi" })]);
  const running = new Process();
  await running.run(false);
  await running.end();
  const writes = writesIn(running.directory);
  expect(writes[0]).toMatch(/^o/);
  expect(writes.at(-1)).toMatch(/et$/);
  expect(writesIn(running.heard[0] as string)).toEqual(writes);
});
