/** ledger: check. */
import { parseArgs } from "node:util";
import { type LedgerState, ledgerState } from "../store/ledger-check.ts";
import { CommandError, type Commands, exactly } from "./command.ts";
import { table, time } from "./table.ts";

export const ledger: Commands = {
  check: {
    usage: "[--json]",
    summary: "Looks for records that are missing, and for sums that are not those of the records.",
    details: [
      "Records of a process that is under way, or could not deliver yet, may be missing for a moment.",
      "Exit code 1 when something is wrong.",
    ],
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({
        args,
        allowPositionals: true,
        options: { json: { type: "boolean" } },
      });
      exactly(positionals);
      const state = await ledgerState(await database());
      for (const line of values.json === true ? [JSON.stringify(jsonOf(state))] : shown(state)) print(line);
      const wrong = state.gaps.length + state.wrongSums.length;
      if (wrong > 0) throw new CommandError(`the ledger is not whole: ${wrong} ${wrong === 1 ? "place" : "places"}`);
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

function shown({ records, lost, estimated, reservations, gaps, wrongSums }: LedgerState): readonly string[] {
  const counts = `${records} records, ${lost} of them lost calls, ${estimated} estimated; ${reservations} reservations`;
  const missing = gaps.map((gap) => [gap.bootId, gap.instance, String(gap.missing), time(gap.lastAt)]);
  const sums = wrongSums.map((sum) => [sum.owner, sum.day, sum.summedUsd, sum.recordedUsd]);
  return [
    counts,
    ...(missing.length > 0 ? table(["BOOT", "PROCESS", "MISSING", "LAST RECORD"], missing) : []),
    ...(sums.length > 0 ? table(["KEY OR WORKSPACE", "DAY", "SUMMED", "RECORDED"], sums) : []),
  ];
}
