/** end-users: create, list. An end user exists only when registered, never by being seen in a request. */
import { parseArgs } from "node:util";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { checkEndUser } from "@sluice/proto/runtime/validation/text.js";
import { defaultWorkspaceId } from "../store/database.ts";
import { type EndUserRow, createEndUser, listEndUsers } from "../store/end-users.ts";
import { CommandError, type Commands, asUsage, exactly } from "./command.ts";
import { printable, table, time } from "./table.ts";

const json = { json: { type: "boolean" } } as const;

export const endUsers: Commands = {
  create: {
    usage: "USER [--json]",
    summary: "Registers an end user as active.",
    details: ["A name that begins with a dash comes after two dashes: end-users create -- -name"],
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      const user = exactly(positionals, "USER").USER;
      await asUsage(() => checked((problems) => checkEndUser("user", user, problems)));
      const row = await createEndUser(await database(), defaultWorkspaceId, user);
      if (!row) throw new CommandError("this end user is registered already");
      print(values.json === true ? JSON.stringify(described(row)) : `${printable(user)} registered`);
    },
  },
  list: {
    usage: "[--json]",
    summary: "Lists all registered end users.",
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      exactly(positionals);
      const rows = await listEndUsers(await database(), defaultWorkspaceId);
      if (values.json === true) return print(JSON.stringify(rows.map(described)));
      const cells = rows.map((row) => [
        row.is_active ? "active" : "inactive",
        time(dateOf(row.created_at_us)),
        time(dateOf(row.updated_at_us)),
        row.user,
      ]);
      for (const line of table(["STATE", "CREATED", "UPDATED", "USER"], cells)) print(line);
    },
  },
};

const dateOf = (epochMicroseconds: string): Date => new Date(Number(BigInt(epochMicroseconds) / 1000n));

const described = (row: EndUserRow) => ({
  user: row.user,
  is_active: row.is_active,
  created_at: dateOf(row.created_at_us),
  updated_at: dateOf(row.updated_at_us),
});
