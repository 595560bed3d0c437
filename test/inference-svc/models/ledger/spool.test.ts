/** The spool files of the ledger: every whole record is read, in spite of any damage. */
import { type JsonValue, fromJson } from "@bufbuild/protobuf";
import { UsageRecordSchema } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type CallPurpose, purposeOfRecord } from "@sluice/proto/lib/ledger/call-operation.js";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { callName } from "@sluice/inference-svc/models/ledger/line.js";
import type { KeepDelivered } from "@sluice/inference-svc/models/ledger/delivered-files.js";
import { type SpoolPortion, SpoolReader } from "@sluice/inference-svc/models/ledger/reader.js";
import { findUnfinishedCalls } from "@sluice/inference-svc/models/ledger/recovery.js";
import { Spool } from "@sluice/inference-svc/models/ledger/spool.js";
import { eventually, runProgram } from "../../../support/processes.ts";
import { DeliveryMark } from "@sluice/inference-svc/models/ledger/delivery-mark.js";
import type { CallStart } from "@sluice/inference-svc/models/ledger/record.js";
import { append, endOf, leftoverSegment, lineOf, openedCall } from "./calls.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const files = () => readdirSync(directory).sort();

const spoolIn = (folder: string, startedAtMs = Date.now(), keep?: KeepDelivered) =>
  new Spool({ directory: folder, bootId: crypto.randomUUID(), startedAtMs, onSyncFailure: () => {}, keep });

test("a spool folder that cannot be used is reported with its variable", () => {
  const file = join(directory, "file");
  writeFileSync(file, "");
  expect(() => spoolIn(file)).toThrow(/^environment:\n {2}SLUICE_SPOOL_DIR: cannot be written to: EEXIST/);
});

test("a spool folder that cannot be created is reported, without hanging", () => {
  expect(() => spoolIn("/proc/sluice/spool")).toThrow(
    /^environment:\n {2}SLUICE_SPOOL_DIR: cannot be written to: ENOENT/,
  );
});

test("a spool begun after the clock was set back is sorted behind earlier ones", async () => {
  const paths: string[] = [];
  for (const minutes of [3, 2, 1]) {
    const spool = spoolIn(directory, minutes * 60_000);
    paths.push(spool.segments.at(-1)?.path ?? "");
    expect(spool.segments.map(({ path }) => path)).toEqual(paths);
    await spool.close(false);
  }
});

test("a spool torn at any byte returns every whole record", async () => {
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
  await spool.close(false);
});

test("an overwritten part of a spool ends the reading of this part, and affects no other", async () => {
  const spool = spoolIn(directory);
  const calls = [openedCall(), openedCall()];
  for (const record of calls) append(spool, lineOf(record));
  const [name = ""] = files();
  const path = join(directory, name);
  appendFileSync(path, "no record, but long enough to be one");
  const left = findUnfinishedCalls([leftoverSegment(path, statSync(path).size)]);
  expect([...left.keys()]).toEqual(calls.map(callName));
  await spool.close(false);
});

test("a call whose end is in any file of the spool is not reported as unfinished", async () => {
  const spool = spoolIn(directory);
  const call = openedCall({ model: "m".repeat(100_000) });
  append(spool, lineOf(call));
  const other = openedCall();
  for (let n = 0; n < 200; n++) append(spool, lineOf({ ...other, model: "m".repeat(100_000) }));
  append(spool, endOf(call));
  expect(files().length).toBe(2);
  expect([...findUnfinishedCalls(spool.segments).keys()]).toEqual([callName(other)]);
  await spool.close(false);
});

test("a spool record half written to a full disk does not damage later records", async () => {
  const program = `
    import { FrameBuilder } from ${JSON.stringify(import.meta.resolve("@sluice/proto/lib/ledger/frame.js"))};
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
  // The limit is 64 KiB: the last record is written up to the limit, and then refused.
  const limited = 'ulimit -f 64; exec "$@"';
  const args = ["-c", limited, "bash", process.execPath, "--input-type=module", "-e", program, directory];
  const { code, stdout, stderr } = await runProgram("bash", args);
  expect([code, stdout, stderr]).toEqual([0, "6 EFBIG\n", ""]);
  const segments = files().map((name) => leftoverSegment(join(directory, name)));
  const turnIds = ["0", "1", "2", "3", "4", "5", "small"];
  expect([...findUnfinishedCalls(segments).keys()]).toEqual(turnIds.map((turnId) => callName({ turnId, attempt: 1 })));
});

const wide = { model: "m".repeat(100_000) };

/** Reads and delivers all records of the spool. */
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

test("the end of a call is joined with its start from any file of the spool", async () => {
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
  await spool.close(false);
});

test.each<[CallPurpose, object]>([
  [{ operation: "turn", payer: "key" }, {}],
  [{ operation: "judge", payer: "key" }, { kind: "CALL_KIND_CHARGED_JUDGE" }],
  [{ operation: "ocr", payer: "operator" }, { kind: "CALL_KIND_OCR" }],
  [{ operation: "subagent", payer: "key" }, { kind: "CALL_KIND_ADVISOR" }],
  [{ operation: "search", payer: "operator" }, { kind: "CALL_KIND_JUDGE" }],
  [{ operation: "embed", payer: "key" }, { kind: "CALL_KIND_PRIMARY" }],
])("a spool record has the purpose %j, and a kind that an earlier admin-svc understands", (purpose, said) => {
  const record = JSON.parse(lineOf(openedCall(purpose)).slice(1)) as Record<string, unknown>;
  expect("kind" in record).toBe("kind" in said);
  expect(record).toMatchObject(said);
  const read = fromJson(UsageRecordSchema, record as JsonValue, { ignoreUnknownFields: true });
  expect(purposeOfRecord(read)).toEqual(purpose);
});

test("a spool file is kept until the ends of all calls begun in it are delivered", async () => {
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
  expect(files().filter((name) => name.endsWith(".log"))).toEqual(before);
  append(spool, endOf(call));
  expect(spool.segments.length).toBe(2);
  const portion = (await reader.read(500)) as SpoolPortion;
  expect(spool.segments.length).toBe(2);
  reader.advance(portion);
  const [, last = ""] = before;
  await eventually(() => files().length === 2);
  expect(files()).toEqual([last, `${last}.delivered`]);
  await reader.close();
  await spool.close(true);
  expect(files()).toEqual([]);
});

test("a spool file with a mark is read from the mark on, with the calls that began before it", async () => {
  const spool = spoolIn(directory);
  const reader = new SpoolReader(spool, () => {});
  const [done, under, next] = [openedCall(), openedCall(), openedCall()];
  append(spool, lineOf(done), lineOf(under), endOf(done));
  expect((await deliverAll(reader)).length).toBe(1);
  append(spool, endOf(under));
  append(spool, lineOf(next), endOf(next));
  await reader.close();
  await spool.close(false);
  const [file = "", mark = ""] = files();
  expect(mark).toBe(`${file}.delivered`);
  const idsOf = (records: readonly string[]) => records.map((text) => (JSON.parse(text) as CallStart).turnId);
  const readFrom = async (bytes: number): Promise<readonly string[]> => {
    const copy = mkdtempSync(join(tmpdir(), "sluice-test-spool-"));
    cpSync(join(directory, file), join(copy, file));
    const marked = new DeliveryMark();
    marked.note(join(copy, file), bytes);
    marked.close();
    const again = spoolIn(copy);
    const other = new SpoolReader(again, () => {});
    const records = await deliverAll(other);
    await other.close();
    await again.close(true);
    expect(readdirSync(copy)).toEqual([]);
    rmSync(copy, { recursive: true });
    return idsOf(records);
  };
  const delivered = readFileSync(join(directory, mark)).readUInt32BE(0);
  expect(await readFrom(delivered)).toEqual([under.turnId, next.turnId]);
  expect(await readFrom(delivered + 1)).toEqual([under.turnId, next.turnId]);
  expect(await readFrom(1e9)).toEqual([]);
  writeFileSync(join(directory, mark), "no mark");
  const again = spoolIn(directory);
  expect(again.segments[0]?.delivered).toBe(0);
  await again.close(true);
  expect(files()).toEqual([]);
});

test("a mark is removed with its spool file, and one without a file by the next start", async () => {
  const spool = spoolIn(directory);
  const reader = new SpoolReader(spool, () => {});
  append(spool, lineOf(openedCall()));
  await deliverAll(reader);
  expect(files().length).toBe(2);
  await reader.close();
  await spool.close(false);
  rmSync(join(directory, files()[0] as string));
  const next = spoolIn(directory);
  await next.close(true);
  expect(files()).toEqual([]);
});

test("an undelivered part of the spool is read again, with at most the requested number of records", async () => {
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
  await spool.close(true);
});

describe("delivered spool files", () => {
  const delivered = (folder = directory) => readdirSync(join(folder, "delivered")).sort();
  const dayMs = 86_400_000;

  /** Writes and delivers calls of so many bytes, and closes the spool. @returns the names of its files */
  async function fill(keep: KeepDelivered, startedAtMs: number, calls = 200): Promise<readonly string[]> {
    const spool = spoolIn(directory, startedAtMs, keep);
    const reader = new SpoolReader(spool, () => {});
    const names: string[] = [];
    for (let n = 0; n < calls; n++) {
      const call = openedCall(wide);
      append(spool, lineOf(call), endOf(call));
    }
    names.push(...spool.segments.map(({ path }) => basename(path)));
    await deliverAll(reader);
    await reader.close();
    await spool.close(true);
    return names;
  }

  test("are kept in a separate folder, and are not read at a start", async () => {
    const names = await fill({ ms: dayMs, bytes: 100e6 }, 1);
    expect(names.length).toBe(2);
    expect([files(), delivered()]).toEqual([["delivered"], names]);
    const next = spoolIn(directory, 2, { ms: dayMs, bytes: 100e6 });
    expect([next.segments.length, next.size]).toEqual([1, 0]);
    expect(next.deliveredSize).toBe(sizeOf(delivered().map((name) => join(directory, "delivered", name))));
    expect(next.deliveredSize).toBeGreaterThan(16e6);
    await next.close(true);
    expect(delivered()).toEqual(names);
  });

  test("are removed when their retention is over, counted from their delivery", async () => {
    const names = await fill({ ms: dayMs, bytes: 100e6 }, 1);
    const old = new Date(Date.now() - dayMs - 60_000);
    utimesSync(join(directory, "delivered", names[0] as string), old, old);
    const next = spoolIn(directory, 2, { ms: dayMs, bytes: 100e6 });
    await next.close(true);
    await eventually(() => delivered().length === 1);
    expect(delivered()).toEqual(names.slice(1));
  });

  test("are removed by a start without retention of these files", async () => {
    await fill({ ms: dayMs, bytes: 100e6 }, 1);
    const next = spoolIn(directory, 2);
    await next.close(true);
    expect(files()).toEqual([]);
  });

  test("are removed from the oldest on when they exceed the limit of bytes", async () => {
    const first = await fill({ ms: dayMs, bytes: 100e6 }, 1);
    const second = await fill({ ms: dayMs, bytes: 25e6 }, 2);
    expect(delivered()).toEqual([...first.slice(1), ...second]);
  });

  test("are removed at once when their folder cannot store them", async () => {
    const failures: Error[] = [];
    const keep = { ms: dayMs, bytes: 100e6 };
    const bootId = crypto.randomUUID();
    const onKeepFailure = (error: Error) => void failures.push(error);
    const spool = new Spool({ directory, bootId, startedAtMs: 1, onSyncFailure: () => {}, keep, onKeepFailure });
    rmSync(join(directory, "delivered"), { recursive: true });
    writeFileSync(join(directory, "delivered"), "");
    append(spool, lineOf(openedCall()));
    await spool.close(true);
    expect(files()).toEqual(["delivered"]);
    expect(failures.length).toBe(1);
  });
});

const sizeOf = (paths: readonly string[]): number => paths.reduce((sum, path) => sum + statSync(path).size, 0);
