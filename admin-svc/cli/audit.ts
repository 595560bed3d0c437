/** The command `audit` with its verbs list and verify. */
import { CommandError, UsageError, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { type AuditState, auditStates } from "../store/audit-check.ts";
import { readAuditFilter } from "../rules/audit.ts";
import { type AuditRow, listAudit } from "../store/audit-list.ts";
import { type Commands, throwAsUsageError, jsonOption, textOption, formatTime } from "./terminal.ts";

const defaultLimit = 100;

export const audit: Commands = {
  list: {
    usage:
      "[--q TEXT] [--actor ACTOR] [--target TARGET] [--action ACTION] [--address ADDRESS] [--from TIME] [--to TIME] [--limit N] [--json]",
    summary: `Lists the changes of administrators in a workspace, latest first; ${defaultLimit} entries by default.`,
    details: [
      "ACTOR is the e-mail address of a person, the hash of a management key, or api, cli or bootstrap. ACTION is noun and verb: keys.revoke.",
      "TARGET is the changed record: the hash of a key, the id of a guardrail, the name of an end user.",
      "TEXT is part of the action, or of the actor, the address of its client, the record or its name.",
      "TIME is ISO 8601, for example 2027-01-31T00:00:00Z; --to itself is not included.",
      "--json includes the state before and after; for a bulk, the keys by their previous guardrail.",
    ],
    async run(args, { database, author, print }) {
      const options = {
        ...jsonOption,
        actor: textOption,
        target: textOption,
        action: textOption,
        address: textOption,
        q: textOption,
        from: textOption,
        to: textOption,
        limit: textOption,
      };
      const { values } = readArguments(args, options);
      const filter = await throwAsUsageError(() => readAuditFilter(values));
      const limit = limitOf(values.limit);
      const { workspaceId } = await author();
      const { rows } = await listAudit(await database(), { ...filter, workspaceId, limit });
      for (const line of values.json === true ? [JSON.stringify(rows.map(described))] : shown(rows)) print(line);
    },
  },
  verify: {
    usage: "[--json]",
    summary: "Checks the log of every workspace for entries that were changed, removed or inserted later.",
    details: [
      "HEAD is the hash of the last entry: keep a copy elsewhere to notice a log that was rewritten.",
      "Exit code 1 when something is wrong.",
    ],
    async run(args, { database, print }) {
      const { values } = readArguments(args, jsonOption);
      const states = await auditStates(await database());
      for (const line of values.json === true ? [JSON.stringify(states.map(stateJson))] : statesShown(states))
        print(line);
      const wrong = states.filter((state) => state.wrong.length > 0);
      if (wrong.length > 0)
        throw new CommandError(`the audit log was changed after it was written: ${wrong.map(placesOf).join("; ")}`);
    },
  },
};

function limitOf(given: string | undefined): number {
  if (given === undefined) return defaultLimit;
  if (!/^[1-9]\d{0,8}$/.test(given)) throw new UsageError("--limit: a number from 1");
  return Number(given);
}

const described = (row: AuditRow) => ({
  sequence: Number(row.sequence),
  at: row.at,
  actor: row.actor,
  action: row.action,
  target: row.target,
  actor_name: row.actor_name,
  target_name: row.target_name,
  before: row.before,
  after: row.after,
  request_id: row.request_id,
  address: row.address,
  generation: row.generation === null ? null : Number(row.generation),
  hash: row.hash.toString("hex"),
  erased_at: row.erased_at,
});

const shown = (rows: readonly AuditRow[]): readonly string[] =>
  table(
    ["NUMBER", "AT", "ACTOR", "ACTION", "GENERATION", "REQUEST", "ADDRESS", "TARGET"],
    rows.map((row) => [
      row.sequence,
      formatTime(row.at),
      row.actor,
      row.action,
      row.generation ?? "-",
      row.request_id ?? "-",
      row.address ?? "-",
      // The target is the last column because the name of an end user may have 512 characters.
      row.target ?? "(erased)",
    ]),
  );

const stateJson = ({ workspaceId, name, entries, erased, sequence, head, wrong, unverifiable }: AuditState) => ({
  workspace_id: workspaceId,
  name,
  entries,
  erased,
  sequence: Number(sequence),
  head,
  wrong: wrong.map(Number),
  unverifiable: unverifiable.map(Number),
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
      judgement(state),
    ]),
  );

function judgement({ wrong, unverifiable }: AuditState): string {
  if (wrong.length > 0) return `wrong at ${wrong.join(", ")}`;
  return unverifiable.length > 0 ? `whole, but erased by an earlier build: ${unverifiable.join(", ")}` : "whole";
}

const placesOf = ({ name, wrong }: AuditState): string => `${name} at ${wrong.join(", ")}`;
