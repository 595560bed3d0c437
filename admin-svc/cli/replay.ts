/** The command `ledger replay` delivers again the records that inference processes have kept on their disks. */
import { existsSync } from "node:fs";
import { fromBinary } from "@bufbuild/protobuf";
import {
  type RecordUsageRequest,
  RecordUsageRequestSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { RecordBatch } from "@sluice/proto/lib/ledger/record-batch.js";
import { type Command, CommandError, UsageError, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { Kysely } from "kysely";
import { parseUsageRecords } from "../rules/usage-records.ts";
import type { Database } from "../store/database.ts";
import { endHolds, renewsHolds } from "../store/ledger/holds.ts";
import { type ReplayedCounts, lastStoredAt, replayBatch } from "../store/ledger/replay.ts";
import type { UsageBatch } from "../store/ledger/usage-batch.ts";
import { toTurnRow } from "../store/ledger/turn-messages.ts";
import { toRow } from "../store/ledger/usage-messages.ts";
import { SpoolFiles, findSpoolFiles } from "./spool-files.ts";
import { findVoidChanges, voidLines } from "./void-changes.ts";
import { type AdminTerminal, flagOption, formatTime, jsonOption, textOption } from "./terminal.ts";

export const replay: Command<AdminTerminal> = {
  usage: "[--directory DIR] [--dry-run] [--json]",
  summary: "Stores the records again that processes keep for a day, after a restore of the database.",
  details: [
    "Records that the database has stay as they are, so it may run at any time, and again: before the services are started, or beside them.",
    "--directory: the folder SLUICE_SPOOL_DIR of a process, or one with several such folders; by default that of this installation.",
    "Names the keys that were changed after the backup: these changes are void, such as a revocation.",
    "--dry-run counts, and stores nothing. Needs the owner of the schema.",
  ],
  async run(args, { database, spoolDirectory, print }) {
    const options = { ...jsonOption, directory: textOption, "dry-run": flagOption };
    const { values } = readArguments(args, options);
    const directory = values.directory ?? spoolDirectory;
    if (directory === undefined) throw new UsageError("missing option: --directory");
    if (!existsSync(directory)) throw new CommandError(`there is no folder ${directory}`);
    const found = findSpoolFiles(directory);
    const files = new SpoolFiles(found);
    const connected = await database();
    const isTrial = values["dry-run"] === true;
    const before = await lastStoredAt(connected);
    const total = new Total();
    for (const batch of files.batches()) await replayRecords(connected, batch, total, isTrial);
    // A process that still renews its holds is running, with calls in progress and another current file.
    if (!isTrial)
      for (const bootId of files.wholeStarts)
        if (!(await renewsHolds(connected, bootId))) await endHolds(connected, bootId);
    const summary = {
      ...total.counts,
      refused: total.refused,
      without_start: files.withoutStart,
      damaged: files.unreadable,
    };
    const lost = await findVoidChanges(connected, directory);
    if (values.json === true) {
      const output = { files: found.length, last_stored_at: before ?? null, ...summary, void_changes: lost ?? null };
      return print(JSON.stringify(output));
    }
    if (before) print(`last record before: ${formatTime(before)}`);
    for (const line of linesOf(found.length, summary, isTrial)) print(line);
    if (total.refusal !== undefined) print(`first refusal: ${total.refusal}`);
    for (const line of lost ? voidLines(lost) : []) print(line);
  },
};

class Total {
  counts: ReplayedCounts = { calls: 0, turns: 0, known: 0, expired: 0, foreign: 0 };
  refused = 0;
  /** Error text of the first refused record. */
  refusal: string | undefined;

  /** Counts a record that cannot be stored. @throws any error other than a refusal */
  refuse(refusal: unknown): void {
    if (!(refusal instanceof Fault)) throw refusal;
    this.refused++;
    this.refusal ??= refusal.message;
  }

  add({ calls, turns, known, expired, foreign }: ReplayedCounts): void {
    const { counts } = this;
    this.counts = {
      calls: counts.calls + calls,
      turns: counts.turns + turns,
      known: counts.known + known,
      expired: counts.expired + expired,
      foreign: counts.foreign + foreign,
    };
  }
}

/** Stores a batch; if it is refused, stores its records one by one, as the process did when it first delivered them. */
async function replayRecords(
  database: Kysely<Database>,
  batch: RecordBatch,
  total: Total,
  isTrial: boolean,
): Promise<void> {
  const store = (records: UsageBatch, { turns }: UsageBatch): Promise<ReplayedCounts> =>
    replayBatch(database, records, { isTrial, turns });
  try {
    const whole = toRows(fromBinary(RecordUsageRequestSchema, batch.message));
    return total.add(await store(whole, whole));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  const single: UsageBatch[] = [];
  for (const message of batch.messages) {
    try {
      single.push(toRows(message));
    } catch (refusal) {
      total.refuse(refusal);
    }
  }
  const turns = single.flatMap((records) => records.turns);
  for (const records of single) {
    try {
      total.add(await store(records, { records: [], turns }));
    } catch (refusal) {
      total.refuse(refusal);
    }
  }
}

/** @throws Fault INVALID_REQUEST for records that cannot be stored */
function toRows(request: RecordUsageRequest): UsageBatch {
  const { records, turns } = parseUsageRecords(request);
  return { records: records.map(toRow), turns: turns.map(toTurnRow) };
}

interface Summary extends ReplayedCounts {
  readonly refused: number;
  readonly without_start: number;
  readonly damaged: number;
}

function linesOf(files: number, { calls, turns, known, ...others }: Summary, isTrial: boolean): readonly string[] {
  const verb = isTrial ? "would be stored" : "stored";
  const rest: readonly (readonly [number, string])[] = [
    [others.expired, "records of days that retention has removed are left out"],
    [others.foreign, "records of workspaces that the database does not have are left out"],
    [others.without_start, "calls are left out: the file in which they began is gone"],
    [others.refused, "records cannot be stored"],
    [others.damaged, "processes have a damaged file: what follows in it is left out"],
  ];
  return [
    `${files} files: ${calls} calls and ${turns} turns ${verb}, ${known} records were there already`,
    ...rest.filter(([count]) => count > 0).map(([count, text]) => `${count} ${text}`),
  ];
}
