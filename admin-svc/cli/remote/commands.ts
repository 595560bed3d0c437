/**
 * Commands for another Sluice installation: they take the same arguments as on the database, and call operations of the
 * contract.
 */
import { auditOperations } from "@sluice/proto/contract/operations/audit.js";
import { workspaceOperations } from "@sluice/proto/contract/operations/workspaces.js";
import { CommandError, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { workspaceSettingsJson } from "../../rules/workspace.ts";
import { jsonOption, textOption } from "../terminal.ts";
import { listOptions, readNewWorkspace, readWorkspaceChange } from "../workspaces.ts";
import { remoteAlertRules } from "./alert-rules.ts";
import { remoteCalls, remoteSessions, remoteUsage } from "./calls.ts";
import { type RemoteCommands, withoutUnset, putLines, takeExternalId } from "./command.ts";
import { remoteEndUsers } from "./end-users.ts";
import { remoteGuardrails } from "./guardrails.ts";
import { remoteKeys } from "./keys.ts";
import { remoteProviders } from "./providers.ts";
import { type Column, recordTable } from "./print.ts";
import { findRemoteWorkspace } from "./references.ts";
import { remoteViews } from "./views.ts";

const workspaceColumns: readonly Column[] = [
  ["NAME", "name"],
  ["LIMIT", "limit"],
  ["RESET", "limit_reset"],
  ["SPENT", "usage"],
  ["CREATED", "created_at"],
  ["ID", "id"],
];

const workspaces: RemoteCommands = {
  list: async (args, sluice) => {
    const { values } = readArguments(args, listOptions);
    const records = await sluice.list(workspaceOperations.listWorkspaces, { deleted: values.deleted });
    return values.json === true ? [JSON.stringify(records)] : recordTable(records, workspaceColumns);
  },
  create: async (args, sluice) => {
    const { settings, asJson } = await readNewWorkspace(args);
    const body = withoutUnset(workspaceSettingsJson(settings));
    const { data } = await sluice.call(workspaceOperations.createWorkspace, { body });
    return [asJson ? JSON.stringify(data) : String((data as JsonObject)["id"])];
  },
  put: async (args, sluice) => {
    const { parameters, rest } = takeExternalId(args);
    const { settings, asJson } = await readNewWorkspace(rest);
    const body = withoutUnset(workspaceSettingsJson(settings));
    return putLines(await sluice.call(workspaceOperations.putWorkspace, { parameters, body }), "id", asJson);
  },
  update: async (args, sluice) => {
    const { workspace, change, asJson } = await readWorkspaceChange(args);
    const id = await findRemoteWorkspace(sluice, workspace);
    const body = withoutUnset(workspaceSettingsJson(change));
    const { data } = await sluice.call(workspaceOperations.updateWorkspace, { parameters: { id }, body });
    return [asJson ? JSON.stringify(data) : `${id} changed`];
  },
  delete: async (args, sluice) => {
    const { named } = readArguments(args, {}, "WORKSPACE");
    const id = await findRemoteWorkspace(sluice, named.WORKSPACE);
    await sluice.call(workspaceOperations.deleteWorkspace, { parameters: { id } });
    return [`${id} deleted`];
  },
};

const entryColumns: readonly Column[] = [
  ["NUMBER", "sequence"],
  ["AT", "at"],
  ["ACTOR", "actor"],
  ["ACTION", "action"],
  ["GENERATION", "generation"],
  ["REQUEST", "request_id"],
  ["TARGET", "target"],
];

const stateColumns: readonly Column[] = [
  ["WORKSPACE", "name"],
  ["ENTRIES", "entries"],
  ["ERASED", "erased"],
  ["NUMBER", "sequence"],
  ["HEAD", "head"],
  ["WRONG", "wrong"],
];

const filters = {
  actor: textOption,
  target: textOption,
  action: textOption,
  q: textOption,
  from: textOption,
  to: textOption,
} as const;
const maxEntries = 100;

const audit: RemoteCommands = {
  list: async (args, sluice) => {
    const { values } = readArguments(args, { ...jsonOption, ...filters, limit: textOption });
    const { json: asJson, limit = String(maxEntries), ...filter } = values;
    const { data } = await sluice.call(auditOperations.listAudit, { query: { ...filter, limit: Number(limit) } });
    const entries = data as readonly JsonObject[];
    return asJson === true ? [JSON.stringify(entries)] : recordTable(entries, entryColumns);
  },
  verify: async (args, sluice) => {
    const { values } = readArguments(args, jsonOption);
    const { data } = await sluice.call(auditOperations.verifyAudit);
    const states = data as readonly JsonObject[];
    const wrong = states.filter(({ wrong: places }) => (places as readonly number[]).length > 0);
    if (wrong.length === 0) return values.json === true ? [JSON.stringify(states)] : recordTable(states, stateColumns);
    const places = wrong.map((state) => `${String(state["name"])} at ${String(state["wrong"])}`);
    throw new CommandError(`the audit log was changed after it was written: ${places.join("; ")}`);
  },
};

/** Commands by noun and verb. A command missing here works only on the database. */
export const remoteCommands: Readonly<Record<string, RemoteCommands>> = {
  keys: remoteKeys,
  guardrails: remoteGuardrails,
  "end-users": remoteEndUsers,
  workspaces,
  views: remoteViews,
  "alert-rules": remoteAlertRules,
  providers: remoteProviders,
  audit,
  calls: remoteCalls,
  usage: remoteUsage,
  sessions: remoteSessions,
};
