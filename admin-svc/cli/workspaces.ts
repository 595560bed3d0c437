/** workspaces: create, list, update. */
import { parseArgs } from "node:util";
import { checkWorkspaceSettings } from "../rules/workspace.ts";
import type { LimitReset } from "../store/database.ts";
import { type WorkspaceAccount, workspaceAccounts } from "../store/spending.ts";
import {
  type WorkspaceChange,
  type WorkspaceRow,
  createWorkspace,
  findWorkspace,
  listWorkspaces,
  updateWorkspace,
} from "../store/workspaces.ts";
import { commandLine } from "./author.ts";
import { CommandError, type Commands, UsageError, asUsage, exactly, required } from "./command.ts";
import { table, time } from "./table.ts";

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const options = { json: flag, name: text, limit: text, "limit-reset": text } as const;

export const workspaces: Commands = {
  create: {
    usage: "--name NAME [--limit USD [--limit-reset daily|weekly|monthly]] [--json]",
    summary: "Makes a workspace with nothing in it, and prints its id.",
    details: [
      "Its keys may spend the limit together; without --limit-reset once and for all.",
      "Its first key: keys create --workspace NAME --management --name first",
    ],
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
      exactly(positionals);
      const settings = { ...changeOf(values), name: required("--name", values.name) };
      await asUsage(() => checkWorkspaceSettings(settings));
      const row = await createWorkspace(await database(), commandLine, settings);
      if (!row) throw new CommandError("there is a workspace of this name");
      print(values.json === true ? JSON.stringify(row) : row.id);
    },
  },
  list: {
    usage: "[--json]",
    summary: "Lists all workspaces with their budgets, and what was spent of them since they began anew.",
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { json: flag } });
      exactly(positionals);
      const rows = await listWorkspaces(await database());
      const accounts = await workspaceAccounts(
        await database(),
        rows.map(({ id }) => id),
      );
      const listed = rows.map((row) => ({ ...row, spent_usd: spentOf(row, accounts) }));
      if (values.json === true) return print(JSON.stringify(listed));
      const cells = listed.map((row) => [
        row.id,
        row.limit_usd === null ? "-" : String(Number(row.limit_usd)),
        row.limit_reset ?? "-",
        String(Number(row.spent_usd)),
        time(row.created_at),
        row.name,
      ]);
      for (const line of table(["ID", "LIMIT", "RESET", "SPENT", "CREATED", "NAME"], cells)) print(line);
    },
  },
  update: {
    usage:
      "WORKSPACE [--name NAME] [--limit USD | --no-limit] [--limit-reset daily|weekly|monthly | --no-limit-reset] [--json]",
    summary: "Changes what is named of a workspace, which is known by its id or name.",
    async run(args, { database, print }) {
      const all = { ...options, "no-limit": flag, "no-limit-reset": flag } as const;
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: all });
      const { WORKSPACE: idOrName } = exactly(positionals, "WORKSPACE");
      const change = {
        ...changeOf(values),
        ...(values["no-limit"] === true && { limitUsd: null }),
        ...(values["no-limit-reset"] === true && { limitReset: null }),
      };
      if (Object.keys(change).length === 0) throw new UsageError("missing option: what shall be changed");
      await asUsage(() => checkWorkspaceSettings(change));
      const found = await findWorkspace(await database(), idOrName);
      if (!found) throw new CommandError("no such workspace");
      const changed = await updateWorkspace(await database(), { ...commandLine, workspaceId: found.id }, change);
      if (!changed) throw new CommandError("there is a workspace of this name");
      const { row, generation } = changed;
      print(values.json === true ? JSON.stringify(row) : `${row.id} changed (policy generation ${generation})`);
    },
  },
};

interface Given {
  readonly name?: string | undefined;
  readonly limit?: string | undefined;
  readonly "limit-reset"?: string | undefined;
}

const changeOf = ({ name, limit, "limit-reset": limitReset }: Given): WorkspaceChange => ({
  ...(name !== undefined && { name }),
  ...(limit !== undefined && { limitUsd: limit }),
  // A word that means nothing is refused with the other problems.
  ...(limitReset !== undefined && { limitReset: limitReset as LimitReset }),
});

const spentOf = ({ id }: WorkspaceRow, accounts: readonly WorkspaceAccount[]): string =>
  accounts.find((account) => account.id === id)?.spent_usd ?? "0";
