/**
 * The command `end-users` with its verbs create, list, show, activate, deactivate and erase. End users must be
 * registered; a request naming an unknown user registers nobody.
 */
import { type Command, CommandError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import type { Kysely } from "kysely";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { checkEndUser } from "@sluice/proto/lib/validation/text.js";
import type { Author } from "../store/audit.ts";
import type { Database } from "../store/database.ts";
import { eraseEndUser } from "../store/erasure.ts";
import { type EndUserRow, createEndUser, findEndUser, listEndUsers, updateEndUser } from "../store/end-users.ts";
import { type AdminTerminal, type Commands, throwAsUsageError, jsonOption, formatTime } from "./terminal.ts";

/** Builds a command for one registered end user. */
const about = (
  summary: string,
  done: string,
  work: (database: Kysely<Database>, author: Author, user: string) => Promise<EndUserRow | undefined>,
): Command<AdminTerminal> => ({
  usage: "USER [--json]",
  summary,
  async run(args, { database, author, print }) {
    const {
      values,
      named: { USER: user },
    } = readArguments(args, jsonOption, "USER");
    await throwAsUsageError(() => throwProblems((problems) => checkEndUser("user", user, problems)));
    const row = await work(await database(), await author(), user);
    if (!row) throw new CommandError("no such end user");
    print(values.json === true ? JSON.stringify(described(row)) : `${escapeUnprintable(user)} ${done}${stateOf(row)}`);
  },
});

export const endUsers: Commands = {
  create: {
    usage: "USER [--json]",
    summary: "Registers an end user as active.",
    details: ["A name that begins with a dash comes after two dashes: end-users create -- -name"],
    async run(args, { database, author, print }) {
      const {
        values,
        named: { USER: user },
      } = readArguments(args, jsonOption, "USER");
      await throwAsUsageError(() => throwProblems((problems) => checkEndUser("user", user, problems)));
      const row = await createEndUser(await database(), await author(), user);
      if (!row) throw new CommandError("this end user is registered already");
      print(values.json === true ? JSON.stringify(described(row)) : `${escapeUnprintable(user)} registered`);
    },
  },
  show: about("Shows whether an end user is active.", "is ", (database, { workspaceId }, user) =>
    findEndUser(database, workspaceId, user),
  ),
  activate: about(
    "Marks an end user as active.",
    "is now ",
    async (database, author, user) => (await updateEndUser(database, author, user, true))?.row,
  ),
  deactivate: about(
    "Marks an end user as inactive; it stays registered.",
    "is now ",
    async (database, author, user) => (await updateEndUser(database, author, user, false))?.row,
  ),
  erase: {
    usage: "USER [--json]",
    summary: "Erases the name of an end user from records, keys, audit log and registration.",
    details: [
      "Records keep their usage, without user, session and tags; audit entries keep author, action and time.",
      "Tags of other records, and budgets for tags, get a substitute where the name is a value. Tags of keys and entries of budgets stay.",
      "Views and alerts on views with the name in a filter, or as their own, are deleted.",
      "May be interrupted and run again; needs the owner of the schema.",
    ],
    async run(args, { database, author, print }) {
      const {
        values,
        named: { USER: user },
      } = readArguments(args, jsonOption, "USER");
      await throwAsUsageError(() => throwProblems((problems) => checkEndUser("user", user, problems)));
      const asJson = values.json === true;
      const erased = await eraseEndUser(await database(), await author(), user, (day, records) => {
        if (!asJson) print(`${records} records, until ${day}`);
      });
      const { records, tags, keys, entries, views, rules, registered } = erased;
      const erasedText = `erased from ${records} records, tags of ${tags} more, ${keys} keys and ${entries} entries of the audit log; ${views} views and ${rules} alerts deleted`;
      print(asJson ? JSON.stringify(erased) : `${erasedText}${registered ? "; no longer registered" : ""}`);
    },
  },
  list: {
    usage: "[--json]",
    summary: "Lists all registered end users.",
    async run(args, { database, author, print }) {
      const { values } = readArguments(args, jsonOption);
      const rows = await listEndUsers(await database(), (await author()).workspaceId);
      if (values.json === true) return print(JSON.stringify(rows.map(described)));
      const cells = rows.map((row) => [
        stateOf(row),
        formatTime(dateOf(row.created_at_us)),
        formatTime(dateOf(row.updated_at_us)),
        row.user,
      ]);
      for (const line of table(["STATE", "CREATED", "UPDATED", "USER"], cells)) print(line);
    },
  },
};

const stateOf = (row: EndUserRow): string => (row.is_active ? "active" : "inactive");

const dateOf = (epochMicroseconds: string): Date => new Date(Number(BigInt(epochMicroseconds) / 1000n));

const described = (row: EndUserRow) => ({
  user: row.user,
  is_active: row.is_active,
  created_at: dateOf(row.created_at_us),
  updated_at: dateOf(row.updated_at_us),
});
