/** retention: run. */
import { parseArgs } from "node:util";
import { removeOld } from "../store/retention.ts";
import { commandLine } from "./author.ts";
import { type Commands, UsageError, exactly } from "./command.ts";

const text = { type: "string" } as const;

export const retention: Commands = {
  run: {
    usage: "[--ledger-days N] [--audit-days N]",
    summary: "Removes records of calls, and entries of the audit log, that are older than N days, in every workspace.",
    details: [
      "What keys and workspaces have spent stays. GET /activity looks back 30 days, GET /generation as far as records go.",
      "May be cut short and run again; needs the owner of the schema.",
    ],
    async run(args, { database, print }) {
      const options = { "ledger-days": text, "audit-days": text };
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
      exactly(positionals);
      const ledgerDays = daysOf("--ledger-days", values["ledger-days"]);
      const auditDays = daysOf("--audit-days", values["audit-days"]);
      if (ledgerDays === undefined && auditDays === undefined) {
        throw new UsageError("missing option: --ledger-days or --audit-days");
      }
      const periods = {
        ...(ledgerDays !== undefined && { ledgerDays }),
        ...(auditDays !== undefined && { auditDays }),
      };
      for await (const { from, count } of removeOld(await database(), commandLine, periods)) {
        print(`${from}: ${count} removed`);
      }
    },
  },
};

/** @throws UsageError */
function daysOf(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^[1-9]\d{0,4}$/.test(given)) throw new UsageError(`${option}: a number of days, from 1 to 99999`);
  return Number(given);
}
