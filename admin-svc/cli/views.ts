/** The command `views` with its verbs list, put and delete. Views are saved reports of the console's explorer. */
import { CommandError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { maxViews } from "@sluice/proto/contract/records/views.js";
import { checkView } from "../rules/views.ts";
import { type ViewRow, deleteView, listViews, putView } from "../store/views.ts";
import { type Commands, formatTime, jsonOption, throwAsUsageError } from "./terminal.ts";

export const views: Commands = {
  list: {
    usage: "[--json]",
    summary: "Lists the saved views of the explorer.",
    async run(args, { database, author, print }) {
      const { values } = readArguments(args, jsonOption);
      const rows = await listViews(await database(), (await author()).workspaceId);
      if (values.json === true) return print(JSON.stringify(rows.map(described)));
      const cells = rows.map((row) => [
        escapeUnprintable(row.name),
        row.created_by,
        formatTime(row.created_at),
        row.query || "-",
      ]);
      for (const line of table(["NAME", "CREATED BY", "CREATED", "QUERY"], cells)) print(line);
    },
  },
  put: {
    usage: "NAME QUERY [--json]",
    summary: "Saves a view of the explorer, or changes the one with this name.",
    details: ["QUERY is what follows the question mark in the address of the explorer: tab=errors&last=24h"],
    async run(args, { database, author, print }) {
      const { view, asJson } = await readView(args);
      const put = await putView(await database(), await author(), view);
      if (put === "full") throw new CommandError(`a workspace has at most ${maxViews} views`);
      print(asJson ? JSON.stringify(described(put.row)) : `${escapeUnprintable(view.name)} ${outcomeOf(put)}`);
    },
  },
  delete: {
    usage: "NAME",
    summary: "Deletes a saved view.",
    async run(args, { database, author, print }) {
      const { named } = readArguments(args, {}, "NAME");
      const isDeleted = await deleteView(await database(), await author(), named.NAME);
      if (!isDeleted) throw new CommandError("no such view");
      print(`${escapeUnprintable(named.NAME)} deleted`);
    },
  },
};

/** @throws UsageError for a wrong option */
export async function readView(args: string[]) {
  const { values, named } = readArguments(args, jsonOption, "NAME", "QUERY");
  const view = { name: named.NAME, query: named.QUERY };
  await throwAsUsageError(() => checkView(view));
  return { view, asJson: values.json === true };
}

/** The outcome of a PUT as a word. */
export const outcomeOf = ({ created, changed }: { readonly created: boolean; readonly changed: boolean }): string =>
  created ? "made" : changed ? "changed" : "was so already";

const described = ({ name, query, created_by, created_at, updated_at }: ViewRow) => ({
  name,
  query,
  created_by,
  created_at,
  updated_at,
});
