/** The command `retention` with its verb run. */
import { UsageError, readArguments } from "@sluice/proto/lib/process/cli.js";
import { removeExpiredRecords } from "../store/ledger/retention.ts";
import { type Commands, commandLine, textOption } from "./terminal.ts";

export const retention: Commands = {
  run: {
    usage: "[--ledger-days N] [--audit-days N]",
    summary: "Removes call records and audit entries older than N days, in every workspace.",
    details: [
      "The spending of keys and workspaces stays. GET /activity shows 30 days, GET /generation all remaining records.",
      "May be interrupted and run again; needs the owner of the schema.",
    ],
    async run(args, { database, print }) {
      const options = { "ledger-days": textOption, "audit-days": textOption };
      const { values } = readArguments(args, options);
      const ledgerDays = daysOf("--ledger-days", values["ledger-days"]);
      const auditDays = daysOf("--audit-days", values["audit-days"]);
      if (ledgerDays === undefined && auditDays === undefined) {
        throw new UsageError("missing option: --ledger-days or --audit-days");
      }
      const periods = {
        ...(ledgerDays !== undefined && { ledgerDays }),
        ...(auditDays !== undefined && { auditDays }),
      };
      for await (const { from, count } of removeExpiredRecords(await database(), commandLine, periods)) {
        print(`${from}: ${count} removed`);
      }
    },
  },
};

/** @throws UsageError unless the text is a number of days */
function daysOf(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^[1-9]\d{0,4}$/.test(given)) throw new UsageError(`${option}: a number of days, from 1 to 99999`);
  return Number(given);
}
