/** workspaces: create, list, rename. */
import { parseArgs } from "node:util";
import { checkWorkspaceSettings } from "../rules/workspace.ts";
import { createWorkspace, findWorkspace, listWorkspaces, updateWorkspace } from "../store/workspaces.ts";
import { commandLine } from "./author.ts";
import { CommandError, type Commands, asUsage, exactly, required } from "./command.ts";
import { table, time } from "./table.ts";

const json = { json: { type: "boolean" } } as const;
const text = { type: "string" } as const;

export const workspaces: Commands = {
  create: {
    usage: "--name NAME [--json]",
    summary: "Makes a workspace with nothing in it, and prints its id.",
    details: ["Its first key: keys create --workspace NAME --management --name first"],
    async run(args, { database, print }) {
      const options = { ...json, name: text };
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
      exactly(positionals);
      const name = required("--name", values.name);
      await asUsage(() => checkWorkspaceSettings({ name }));
      const row = await createWorkspace(await database(), commandLine, name);
      if (!row) throw new CommandError("there is a workspace of this name");
      print(values.json === true ? JSON.stringify(row) : row.id);
    },
  },
  list: {
    usage: "[--json]",
    summary: "Lists all workspaces.",
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      exactly(positionals);
      const rows = await listWorkspaces(await database());
      if (values.json === true) return print(JSON.stringify(rows));
      const cells = rows.map((row) => [row.id, time(row.created_at), row.name]);
      for (const line of table(["ID", "CREATED", "NAME"], cells)) print(line);
    },
  },
  rename: {
    usage: "WORKSPACE NAME",
    summary: "Gives a workspace, known by its id or name, another name.",
    async run(args, { database, print }) {
      const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
      const { WORKSPACE: old, NAME: name } = exactly(positionals, "WORKSPACE", "NAME");
      await asUsage(() => checkWorkspaceSettings({ name }));
      const row = await findWorkspace(await database(), old);
      if (!row) throw new CommandError("no such workspace");
      const renamed = await updateWorkspace(await database(), { ...commandLine, workspaceId: row.id }, { name });
      if (!renamed) throw new CommandError("there is a workspace of this name");
      print(`${row.id} is now ${renamed.name}`);
    },
  },
};
