/** The files of the ledger: every whole record is read, in spite of any damage. */
import { type JsonValue, fromJson } from "@bufbuild/protobuf";
import { UsageRecordSchema } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type CallPurpose, purposeOfRecord } from "@sluice/proto/lib/ledger/call-operation.js";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callName } from "@sluice/inference-svc/models/ledger/line.js";
import { type SpoolPortion, SpoolReader } from "@sluice/inference-svc/models/ledger/reader.js";
import { findUnfinishedCalls } from "@sluice/inference-svc/models/ledger/recovery.js";
import { Spool } from "@sluice/inference-svc/models/ledger/spool.js";
import { eventually, runProgram } from "../../../support/processes.ts";
import { append, endOf, leftoverSegment, lineOf, openedCall } from "./calls.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const files = () => readdirSync(directory).sort();

const spoolIn = (folder: string, startedAtMs = Date.now()) =>
  new Spool({ directory: folder, bootId: crypto.randomUUID(), startedAtMs, onSyncFailure: () => {} });

test("an unusable spool folder is reported with its variable", () => {
  const file = join(directory, "file");
  writeFileSync(file, "");
  expect(() => spoolIn(file)).toThrow(/^environment:\n {2}SLUICE_SPOOL_DIR: cannot be written to: EEXIST/);
});

test("a spool folder that cannot be created is reported, without hanging", () => {
  expect(() => spoolIn("/proc/sluice/spool")).toThrow(
    /^environment:\n {2}SLUICE_SPOOL_DIR: cannot be written to: ENOENT/,
  );
});

test("a start after the clock was set back comes after earlier starts", () => {
  const paths: string[] = [];
  for (const minutes of [3, 2, 1]) {
    const spool = spoolIn(directory, minutes * 60_000);
    paths.push(spool.segments.at(-1)?.path ?? "");
    expect(spool.segments.map(({ path }) => path)).toEqual(paths);
    spool.close(false);
  }
});

test("a spool torn at any byte returns every whole record", () => {
  const spool = spoolIn(directory);
  const calls = [openedCall(), openedCall({ user: "ü" }), openedCall()];
  const sizes = calls.map((record) => {
    append(spool, lineOf(record));
    return spool.size;
  });
  const [name = ""] = files();
  const whole = readFileSync(join(directory, name)).length;
  const path = join(directory, "copy.log");
  for (let length = whole; length >= 0; length--) {
    if (length === whole) cpSync(join(directory, name), path);
    else truncateSync(path, length);
    const left = findUnfinishedCalls([leftoverSegment(path, length)]);
    const expected = calls.filter((_, index) => (sizes[index] as number) <= length);
    expect([...left.keys()]).toEqual(expected.map(callName));
  }
  spool.close(false);
});

test("an overwritten part ends the reading, and affects no other part", () => {
  const spool = spoolIn(directory);
  const calls = [openedCall(), openedCall()];
  for (const record of calls) append(spool, lineOf(record));
  const [name = ""] = files();
  const path = join(directory, name);
  appendFileSync(path, "no record, but long enough to be one");
  const left = findUnfinishedCalls([leftoverSegment(path, statSync(path).size)]);
  expect([...left.keys()]).toEqual(calls.map(callName));
  spool.close(false);
});

test("an ended call is not unfinished, with its end in any file", () => {
  const spool = spoolIn(directory);
  const call = openedCall({ model: "m".repeat(100_000) });
  append(spool, lineOf(call));
  const other = openedCall();
  for (let n = 0; n < 200; n++) append(spool, lineOf({ ...other, model: "m".repeat(100_000) }));
  append(spool, endOf(call));
  expect(files().length).toBe(2);
  expect([...findUnfinishedCalls(spool.segments).keys()]).toEqual([callName(other)]);
  spool.close(false);
});

test("a record half written to a full disk does not spoil later records", async () => {
  const program = `
    import { FrameBuilder } from ${JSON.stringify(import.meta.resolve("@sluice/inference-svc/models/ledger/frame.js"))};
    import { Spool } from ${JSON.stringify(import.meta.resolve("@sluice/inference-svc/models/ledger/spool.js"))};
    const [directory] = process.argv.slice(1);
    const bootId = "00000000-0000-4000-8000-000000000000";
    const spool = new Spool({ directory, bootId, startedAtMs: Date.now(), onSyncFailure: () => {} });
    const frame = new FrameBuilder();
    const append = (turnId, filling) => {
      frame.add("o" + JSON.stringify({ turnId, attempt: 1, filling }));
      spool.append(frame.finish());
    };
    let taken = 0;
    try {
      for (; ; taken++) append(String(taken), "x".repeat(10_000));
    } catch (error) {
      append("small", "");
      console.log(taken, error.code);
    }`;
  // 64 KiB: the last record is written to the limit, and then refused.
  const limited = 'ulimit -f 64; exec "$@"';
  const args = ["-c", limited, "bash", process.execPath, "--input-type=module", "-e", program, directory];
  const { code, stdout, stderr } = await runProgram("bash", args);
  expect([code, stdout, stderr]).toEqual([0, "6 EFBIG\n", ""]);
  const segments = files().map((name) => leftoverSegment(join(directory, name)));
  const turnIds = ["0", "1", "2", "3", "4", "5", "small"];
  expect([...findUnfinishedCalls(segments).keys()]).toEqual(turnIds.map((turnId) => callName({ turnId, attempt: 1 })));
});

const wide = { model: "m".repeat(100_000) };

/** Reads and delivers everything. */
async function deliverAll(reader: SpoolReader): Promise<string[]> {
  const records: string[] = [];
  for (let portion = await reader.read(500); portion; portion = await reader.read(500)) {
    records.push(
      ...portion.records.messages
        .flatMap(({ recordsJson }) => recordsJson)
        .map((record) => Buffer.from(record).toString()),
    );
    reader.advance(portion);
  }
  return records;
}

test("an end is joined with its start, in any files", async () => {
  const spool = spoolIn(directory);
  const reader = new SpoolReader(spool, () => {});
  const call = openedCall({ user: "ü", sessionId: '\u2028 "quoted"\n', tags: 'team=a"b' });
  append(spool, lineOf(call));
  for (let n = 0; n < 200; n++) append(spool, lineOf(openedCall(wide)));
  append(spool, endOf(call));
  expect(files().length).toBe(2);
  const [record = "", ...others] = await deliverAll(reader);
  expect(others).toEqual([]);
  const { isHeld: _, operation: __, payer: ___, ...start } = call;
  expect(JSON.parse(record)).toEqual({ ...start, ...JSON.parse(endOf(call).slice(1)) });
  await reader.close();
  spool.close(false);
});

test.each<[CallPurpose, object]>([
  [{ operation: "turn", payer: "key" }, {}],
  [{ operation: "judge", payer: "key" }, { kind: "CALL_KIND_CHARGED_JUDGE" }],
  [{ operation: "ocr", payer: "operator" }, { kind: "CALL_KIND_OCR" }],
  [{ operation: "subagent", payer: "key" }, { kind: "CALL_KIND_ADVISOR" }],
  [{ operation: "search", payer: "operator" }, { kind: "CALL_KIND_JUDGE" }],
  [{ operation: "embed", payer: "key" }, { kind: "CALL_KIND_PRIMARY" }],
])("a line has the purpose %j, and in its kind the payer for an admin-svc without newer words", (purpose, said) => {
  const record = JSON.parse(lineOf(openedCall(purpose)).slice(1)) as Record<string, unknown>;
  expect("kind" in record).toBe("kind" in said);
  expect(record).toMatchObject(said);
  const read = fromJson(UsageRecordSchema, record as JsonValue, { ignoreUnknownFields: true });
  expect(purposeOfRecord(read)).toEqual(purpose);
});

test("a file is kept until the ends of all calls begun in it are delivered", async () => {
  const spool = spoolIn(directory);
  const reader = new SpoolReader(spool, () => {});
  const call = openedCall(wide);
  append(spool, lineOf(call));
  for (let n = 0; n < 200; n++) {
    const other = openedCall(wide);
    append(spool, lineOf(other));
    append(spool, endOf(other));
  }
  const before = files();
  expect(before.length).toBe(2);
  await deliverAll(reader);
  expect(files()).toEqual(before);
  append(spool, endOf(call));
  expect(spool.segments.length).toBe(2);
  const portion = (await reader.read(500)) as SpoolPortion;
  expect(spool.segments.length).toBe(2);
  reader.advance(portion);
  await eventually(() => files().length === 1);
  expect(files()).toEqual(before.slice(-1));
  await reader.close();
  spool.close(true);
  expect(files()).toEqual([]);
});

test("an undelivered portion is read again, with at most the requested number of records", async () => {
  const spool = spoolIn(directory);
  const reader = new SpoolReader(spool, () => {});
  for (let n = 0; n < 40; n++) {
    const calls = Array.from({ length: 10 }, () => openedCall());
    append(spool, ...calls.map(lineOf), ...calls.map((call) => endOf(call)));
  }
  const first = (await reader.read(105)) as SpoolPortion;
  expect(first.records.count).toBe(100);
  const message = Buffer.from(first.records.message);
  const again = (await reader.read(105)) as SpoolPortion;
  expect(again).toEqual(first);
  expect(again.records.message).toEqual(message);
  reader.advance(again);
  expect((await deliverAll(reader)).length).toBe(300);
  expect(reader.unreadBytes).toBe(0);
  expect(spool.segments.map(({ open }) => open)).toEqual([0]);
  await reader.close();
  spool.close(true);
});
