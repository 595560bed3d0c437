/** The command `ledger` with its verbs check, holds, release, replay and repair. */
import { uuidForm } from "@sluice/proto/lib/ids/uuid.js";
import { CommandError, UsageError, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { type HoldRow, listHolds, releaseCharge } from "../store/ledger/holds.ts";
import { type LedgerState, ledgerState } from "../store/ledger/ledger-check.ts";
import { backfills, pendingBackfills } from "../store/ledger/backfills.ts";
import { addCallsWithoutTurns } from "../store/ledger/usage.ts";
import { replay } from "./replay.ts";
import { type Commands, commandLine, jsonOption, formatTime } from "./terminal.ts";

/** Maximum number of listed reservations. */
const maxHolds = 1_000;
export const ledger: Commands = {
  check: {
    usage: "[--json]",
    summary: "Checks for missing records, and for sums that differ from the records.",
    details: [
      "Records that a process has not delivered yet may be missing for a moment.",
      "Exit code 1 when something is wrong.",
    ],
    async run(args, { database, print }) {
      const { values } = readArguments(args, jsonOption);
      const connected = await database();
      if ((await pendingBackfills(connected)).includes("turns")) {
        throw new CommandError(
          "records of before the upgrade are still being added to turns and sums: check again when admin-svc has filled the past",
        );
      }
      const state = await ledgerState(connected);
      for (const line of values.json === true ? [JSON.stringify(jsonOf(state))] : shown(state)) print(line);
      const wrong = state.gaps.length + state.wrongSums.length;
      if (wrong > 0) throw new CommandError(`the ledger is inconsistent: ${wrong} ${wrong === 1 ? "place" : "places"}`);
    },
  },
  holds: {
    usage: "[--json]",
    summary: `Lists what budgets hold for calls without a record, oldest first; at most ${maxHolds}.`,
    details: [
      "held: the call is under way. settled: it has ended and costs so much. provisional: its process is gone, and nobody knows its cost.",
      "What is settled or provisional counts as spent, until the record of the call replaces it.",
    ],
    async run(args, { database, print }) {
      const { values } = readArguments(args, jsonOption);
      const holds = await listHolds(await database(), maxHolds);
      for (const line of values.json === true ? [JSON.stringify(holds.map(holdJson))] : holdsShown(holds)) print(line);
    },
  },
  release: {
    usage: "TURN CALL",
    summary: "Releases a settled or provisional charge whose record will never come.",
    details: [
      "TURN and CALL as `ledger holds` shows them. A record that comes all the same is charged.",
      "The audit log names the key and the amount.",
    ],
    async run(args, { database, print }) {
      const { TURN: turnId, CALL: call } = readArguments(args, {}, "TURN", "CALL").named;
      if (!uuidForm.test(turnId) || !/^[1-9]\d{0,3}$/.test(call))
        throw new UsageError("TURN and CALL as `ledger holds` shows them");
      const released = await releaseCharge(await database(), commandLine, { turnId, attempt: Number(call) });
      if (!released) throw new CommandError("no charge of this call: it has a record, or its process is at work");
      print(`${released.amountUsd} USD released for key ${released.keyHash}`);
    },
  },
  replay,
  repair: {
    usage: "",
    summary: "Adds calls to requests and sums that an admin-svc of an earlier build has stored during an upgrade.",
    details: [
      "Run it once the last process of the earlier build is gone. Again it changes nothing.",
      "Where admin-svc serves as a user that does not own the schema, it also fills the sums of before an upgrade.",
    ],
    async run(args, { database, print }) {
      readArguments(args, {});
      const connected = await database();
      let added = 0;
      for (let portion = -1; portion !== 0; ) {
        portion = await addCallsWithoutTurns(connected);
        added += portion;
      }
      for (
        let [name] = await pendingBackfills(connected);
        name !== undefined;
        [name] = await pendingBackfills(connected)
      ) {
        await backfills[name](connected);
      }
      print(`${added} calls added`);
    },
  },
};

const holdJson = ({ turnId, attempt, keyHash, amountUsd, reservedAt, state }: HoldRow) => ({
  turn_id: turnId,
  attempt,
  key_hash: keyHash,
  amount_usd: amountUsd,
  reserved_at: reservedAt.toISOString(),
  state,
});

const holdsShown = (holds: readonly HoldRow[]): readonly string[] =>
  table(
    ["TURN", "CALL", "STATE", "USD", "SINCE", "KEY"],
    holds.map(({ turnId, attempt, state, amountUsd, reservedAt, keyHash }) => [
      turnId,
      String(attempt),
      state,
      amountUsd,
      formatTime(reservedAt),
      keyHash,
    ]),
  );

const jsonOf = ({ gaps, wrongSums, ...counts }: LedgerState) => ({
  ...counts,
  gaps: gaps.map(({ bootId, instance, missing, lastAt }) => ({
    boot_id: bootId,
    instance,
    missing,
    last_at: lastAt.toISOString(),
  })),
  wrong_sums: wrongSums.map(({ column, owner, day, summedUsd, recordedUsd }) => ({
    [column]: owner,
    day,
    summed_usd: summedUsd,
    recorded_usd: recordedUsd,
  })),
});

function shown({
  records,
  turns,
  lost,
  estimated,
  reservations,
  provisional,
  gaps,
  wrongSums,
}: LedgerState): readonly string[] {
  const counts = `${records} records, ${lost} of them lost calls, ${estimated} estimated; ${turns} turns; ${reservations} reservations, ${provisional} charges without a record`;
  const missing = gaps.map((gap) => [gap.bootId, gap.instance, String(gap.missing), formatTime(gap.lastAt)]);
  const sums = wrongSums.map((sum) => [sum.owner, sum.day, sum.summedUsd, sum.recordedUsd]);
  return [
    counts,
    ...(missing.length > 0 ? table(["BOOT", "PROCESS", "MISSING", "LAST RECORD"], missing) : []),
    ...(sums.length > 0 ? table(["OF", "DAY OR HOUR", "SUMMED", "RECORDED"], sums) : []),
  ];
}
