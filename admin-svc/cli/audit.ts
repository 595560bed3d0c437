/** audit: list, verify. */
import { parseArgs } from "node:util";
import { type AuditState, auditStates } from "../store/audit-check.ts";
import { type AuditRow, listAudit } from "../store/audit.ts";
import { CommandError, type Commands, UsageError, exactly } from "./command.ts";
import { table, time } from "./table.ts";

const json = { json: { type: "boolean" } } as const;
const text = { type: "string" } as const;

const usualLimit = 100;

export const audit: Commands = {
  list: {
    usage: "[--target TARGET] [--limit N] [--json]",
    summary: `Lists what administrators have changed in a workspace, latest first, ${usualLimit} entries unless N says otherwise.`,
    details: [
      "TARGET is what was changed: the hash of a key, the id of a guardrail, the name of an end user.",
      "What was before and after is in the JSON form; of a bulk, the keys by the guardrail that they held.",
    ],
    async run(args, { database, author, print }) {
      const options = { ...json, target: text, limit: text };
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
      exactly(positionals);
      const limit = limitOf(values.limit);
      const { workspaceId } = await author();
      const rows = await listAudit(await database(), { workspaceId, target: values.target, limit });
      for (const line of values.json === true ? [JSON.stringify(rows.map(described))] : shown(rows)) print(line);
    },
  },
  verify: {
    usage: "[--json]",
    summary: "Looks in every workspace for entries that were changed, taken out or put in after they were written.",
    details: [
      "HEAD is the hash of the last entry: one that you keep elsewhere shows when all that follows was written anew.",
      "Exit code 1 when something is wrong.",
    ],
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      exactly(positionals);
      const states = await auditStates(await database());
      for (const line of values.json === true ? [JSON.stringify(states.map(stateJson))] : statesShown(states))
        print(line);
      const wrong = states.filter((state) => state.wrong.length > 0);
      if (wrong.length > 0)
        throw new CommandError(`the audit log is not what was written: ${wrong.map(placesOf).join("; ")}`);
    },
  },
};

function limitOf(given: string | undefined): number {
  if (given === undefined) return usualLimit;
  if (!/^[1-9]\d{0,8}$/.test(given)) throw new UsageError("--limit: a number from 1");
  return Number(given);
}

const described = (row: AuditRow) => ({
  sequence: Number(row.sequence),
  at: row.at,
  actor: row.actor,
  action: row.action,
  target: row.target,
  before: row.before,
  after: row.after,
  request_id: row.request_id,
  generation: row.generation === null ? null : Number(row.generation),
  hash: row.hash.toString("hex"),
  erased_at: row.erased_at,
});

const shown = (rows: readonly AuditRow[]): readonly string[] =>
  table(
    ["NUMBER", "AT", "ACTOR", "ACTION", "GENERATION", "REQUEST", "TARGET"],
    rows.map((row) => [
      row.sequence,
      time(row.at),
      row.actor,
      row.action,
      row.generation ?? "-",
      row.request_id ?? "-",
      // The last one: an end user may have 512 characters.
      row.target ?? "(erased)",
    ]),
  );

const stateJson = ({ workspaceId, name, entries, erased, sequence, head, wrong }: AuditState) => ({
  workspace_id: workspaceId,
  name,
  entries,
  erased,
  sequence: Number(sequence),
  head,
  wrong: wrong.map(Number),
});

const statesShown = (states: readonly AuditState[]): readonly string[] =>
  table(
    ["WORKSPACE", "ENTRIES", "ERASED", "NUMBER", "HEAD", "STATE"],
    states.map((state) => [
      state.name,
      String(state.entries),
      String(state.erased),
      state.sequence,
      state.head === "" ? "-" : state.head,
      state.wrong.length === 0 ? "whole" : `wrong at ${state.wrong.join(", ")}`,
    ]),
  );

const placesOf = ({ name, wrong }: AuditState): string => `${name} at ${wrong.join(", ")}`;
