/** The verbs of `end-users` on another Sluice installation over HTTP. */
import { endUserOperations } from "@sluice/proto/contract/operations/end-users.js";
import type { Operation } from "@sluice/proto/contract/operations/operation.js";
import { escapeUnprintable, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { jsonOption } from "../terminal.ts";
import type { RemoteCommand, RemoteCommands } from "./command.ts";
import { type Column, recordTable } from "./print.ts";

const columns: readonly Column[] = [
  ["ACTIVE", "is_active"],
  ["CREATED", "created_at"],
  ["UPDATED", "updated_at"],
  ["USER", "user"],
];

/** Builds a command for one registered end user. */
const about =
  (operation: Operation, message: string, body?: JsonObject): RemoteCommand =>
  async (args, sluice) => {
    const { values, named } = readArguments(args, jsonOption, "USER");
    const { data } = await sluice.call(operation, { parameters: { user: named.USER }, ...(body && { body }) });
    const state = (data as JsonObject)["is_active"] === true ? "active" : "inactive";
    return [values.json === true ? JSON.stringify(data) : `${escapeUnprintable(named.USER)} ${message}${state}`];
  };

const { getEndUser, updateEndUser } = endUserOperations;

export const remoteEndUsers: RemoteCommands = {
  list: async (args, sluice) => {
    const { values } = readArguments(args, jsonOption);
    const records = await sluice.list(endUserOperations.listEndUsers, { include_inactive: true });
    return values.json === true ? [JSON.stringify(records)] : recordTable(records, columns);
  },
  create: async (args, sluice) => {
    const { values, named } = readArguments(args, jsonOption, "USER");
    const { data } = await sluice.call(endUserOperations.createEndUser, { body: { user: named.USER } });
    return [values.json === true ? JSON.stringify(data) : `${escapeUnprintable(named.USER)} registered`];
  },
  show: about(getEndUser, "is "),
  activate: about(updateEndUser, "is now ", { is_active: true }),
  deactivate: about(updateEndUser, "is now ", { is_active: false }),
};
