/** The verbs of `guardrails` on another Sluice installation over HTTP. */
import { parseArgs } from "node:util";
import { guardrailOperations } from "@sluice/proto/contract/operations/guardrails.js";
import type { Operation } from "@sluice/proto/contract/operations/operation.js";
import { UsageError, escapeUnprintable, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { guardrailSettingsJson } from "../../rules/guardrail.ts";
import { readGuardrailChange, readNewGuardrail } from "../guardrail-options.ts";
import { readTrialOptions } from "../guardrails.ts";
import { jsonOption } from "../terminal.ts";
import type { RemoteSluice } from "./client.ts";
import { type RemoteCommands, withoutUnset, putLines, takeExternalId } from "./command.ts";
import { type Column, recordLines, recordTable } from "./print.ts";
import { findRemoteGuardrail, findRemoteKey } from "./references.ts";

const columns: readonly Column[] = [
  ["NAME", "name"],
  ["APPLIES TO", "applies_to"],
  ["MODE", "mode"],
  ["CREATED", "created_at"],
  ["ID", "id"],
];

const assignmentColumns: readonly Column[] = [
  ["NAME", "key_name"],
  ["LABEL", "key_label"],
  ["SINCE", "created_at"],
  ["HASH", "key_hash"],
  ["GUARDRAIL", "guardrail_id"],
];

const matchColumns: readonly Column[] = [
  ["RULE", "rule"],
  ["ACTION", "action"],
  ["ENGINE", "engine"],
  ["FROM", "start"],
  ["TO", "end"],
];

const { listKeyAssignments, assignKeys, unassignKeys } = guardrailOperations;

export const remoteGuardrails: RemoteCommands = {
  list: async (args, sluice) => {
    const { values } = readArguments(args, jsonOption);
    const records = await sluice.list(guardrailOperations.listGuardrails);
    return values.json === true ? [JSON.stringify(records)] : recordTable(records, columns);
  },
  create: async (args, sluice) => {
    const { settings, asJson } = await readNewGuardrail(args);
    const body = withoutUnset(guardrailSettingsJson(settings));
    const { data } = await sluice.call(guardrailOperations.createGuardrail, { body });
    return [asJson ? JSON.stringify(data) : String((data as JsonObject)["id"])];
  },
  put: async (args, sluice) => {
    const { parameters, rest } = takeExternalId(args);
    const { settings, asJson } = await readNewGuardrail(rest);
    const body = withoutUnset(guardrailSettingsJson(settings));
    return putLines(await sluice.call(guardrailOperations.putGuardrail, { parameters, body }), "id", asJson);
  },
  show: async (args, sluice) => {
    const { values, named } = readArguments(args, jsonOption, "GUARDRAIL");
    const id = await findRemoteGuardrail(sluice, named.GUARDRAIL);
    const { data } = await sluice.call(guardrailOperations.getGuardrail, { parameters: { id } });
    return values.json === true ? [JSON.stringify(data)] : recordLines(data as JsonObject);
  },
  update: async (args, sluice) => {
    const { guardrail, change, asJson } = await readGuardrailChange(args);
    const id = await findRemoteGuardrail(sluice, guardrail);
    const body = withoutUnset(guardrailSettingsJson(change));
    const { data } = await sluice.call(guardrailOperations.updateGuardrail, { parameters: { id }, body });
    return [asJson ? JSON.stringify(data) : `${id} changed`];
  },
  try: async (args, sluice) => {
    const { guardrail, text, side, asJson } = readTrialOptions(args);
    const id = await findRemoteGuardrail(sluice, guardrail);
    const body = withoutUnset({ guardrail_id: id, text, side });
    const { data } = await sluice.call(guardrailOperations.tryGuardrail, { body });
    return asJson ? [JSON.stringify(data)] : trialLines(data as JsonObject);
  },
  delete: async (args, sluice) => {
    const { named } = readArguments(args, {}, "GUARDRAIL");
    const id = await findRemoteGuardrail(sluice, named.GUARDRAIL);
    await sluice.call(guardrailOperations.deleteGuardrail, { parameters: { id } });
    return [`${id} deleted`];
  },
  assign: (args, sluice) => runBulk(args, sluice, assignKeys, "assigned"),
  unassign: (args, sluice) => runBulk(args, sluice, unassignKeys, "unassigned"),
  assignments: async (args, sluice) => {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: jsonOption });
    const [text, extra] = positionals;
    if (extra !== undefined) throw new UsageError(`unexpected argument: ${extra}`);
    const id = text === undefined ? undefined : await findRemoteGuardrail(sluice, text);
    const all = await sluice.list(listKeyAssignments);
    const records = id === undefined ? all : all.filter(({ guardrail_id: held }) => held === id);
    return values.json === true ? [JSON.stringify(records)] : recordTable(records, assignmentColumns);
  },
};

/** Formats the outcome of a trial: the decision, the resulting text, and a table of matches. */
function trialLines({ decision, text, error, matches }: JsonObject): readonly string[] {
  const refusal = error === null ? [] : [String((error as JsonObject)["message"])];
  const left = typeof text === "string" ? [escapeUnprintable(text)] : [];
  const found = matches as readonly JsonObject[];
  return [String(decision), ...refusal, ...left, ...(found.length === 0 ? [] : recordTable(found, matchColumns))];
}

async function runBulk(args: string[], sluice: RemoteSluice, operation: Operation, done: string): Promise<string[]> {
  const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
  const [text, ...named] = positionals;
  if (text === undefined) throw new UsageError("missing argument: GUARDRAIL");
  if (named.length === 0) throw new UsageError("missing argument: KEY");
  const id = await findRemoteGuardrail(sluice, text);
  const hashes = await Promise.all(named.map((key) => findRemoteKey(sluice, key)));
  const answer = await sluice.call(operation, { parameters: { id }, body: { key_hashes: hashes } });
  return [`${String(answer[`${done}_count`])} of ${hashes.length} keys ${done}`];
}
