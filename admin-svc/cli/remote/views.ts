/** The verbs of `views` on another Sluice installation over HTTP. */
import { viewOperations } from "@sluice/proto/contract/operations/views.js";
import { escapeUnprintable, readArguments } from "@sluice/proto/lib/process/cli.js";
import { jsonOption } from "../terminal.ts";
import { outcomeOf, readView } from "../views.ts";
import type { RemoteCommands } from "./command.ts";
import { type Column, recordTable } from "./print.ts";

const columns: readonly Column[] = [
  ["NAME", "name"],
  ["CREATED BY", "created_by"],
  ["CREATED", "created_at"],
  ["QUERY", "query"],
];

export const remoteViews: RemoteCommands = {
  list: async (args, sluice) => {
    const { values } = readArguments(args, jsonOption);
    const records = await sluice.list(viewOperations.listViews);
    return values.json === true ? [JSON.stringify(records)] : recordTable(records, columns);
  },
  put: async (args, sluice) => {
    const { view, asJson } = await readView(args);
    const { name, query } = view;
    const answer = await sluice.call(viewOperations.putView, { parameters: { name }, body: { query } });
    const { data, ...outcome } = answer as {
      readonly data: unknown;
      readonly created: boolean;
      readonly changed: boolean;
    };
    return [asJson ? JSON.stringify(data) : `${escapeUnprintable(name)} ${outcomeOf(outcome)}`];
  },
  delete: async (args, sluice) => {
    const { named } = readArguments(args, {}, "NAME");
    await sluice.call(viewOperations.deleteView, { parameters: { name: named.NAME } });
    return [`${escapeUnprintable(named.NAME)} deleted`];
  },
};
