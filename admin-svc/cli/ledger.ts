/** ledger: check, repair. */
import { CommandError, readArguments, table } from "@sluice/proto/runtime/cli.js";
import { type LedgerState, ledgerState } from "../store/ledger/ledger-check.ts";
import { addCallsApart } from "../store/ledger/usage.ts";
import { type Commands, json, time } from "./terminal.ts";

export const ledger: Commands = {
  check: {
    usage: "[--json]",
    summary: "Checks for missing records, and for sums that differ from the records.",
    details: [
      "Records that a process has not delivered yet may be missing for a moment.",
      "Exit code 1 when something is wrong.",
    ],
    async run(args, { database, print }) {
      const { values } = readArguments(args, json);
      const state = await ledgerState(await database());
      for (const line of values.json === true ? [JSON.stringify(jsonOf(state))] : shown(state)) print(line);
      const wrong = state.gaps.length + state.wrongSums.length;
      if (wrong > 0) throw new CommandError(`the ledger is inconsistent: ${wrong} ${wrong === 1 ? "place" : "places"}`);
    },
  },
  repair: {
    usage: "",
    summary: "Adds calls to requests and sums that an admin-svc of an earlier build has stored during an upgrade.",
    details: ["Run it once the last process of the earlier build is gone. Again it changes nothing."],
    async run(args, { database, print }) {
      readArguments(args, {});
      print(`${await addCallsApart(await database())} calls added`);
    },
  },
};

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

function shown({ records, turns, lost, estimated, reservations, gaps, wrongSums }: LedgerState): readonly string[] {
  const counts = `${records} records, ${lost} of them lost calls, ${estimated} estimated; ${turns} turns; ${reservations} reservations`;
  const missing = gaps.map((gap) => [gap.bootId, gap.instance, String(gap.missing), time(gap.lastAt)]);
  const sums = wrongSums.map((sum) => [sum.owner, sum.day, sum.summedUsd, sum.recordedUsd]);
  return [
    counts,
    ...(missing.length > 0 ? table(["BOOT", "PROCESS", "MISSING", "LAST RECORD"], missing) : []),
    ...(sums.length > 0 ? table(["OF", "DAY OR HOUR", "SUMMED", "RECORDED"], sums) : []),
  ];
}
