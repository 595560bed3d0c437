/** The verbs of `alert-rules` on another Sluice installation over HTTP. */
import type { AlertRuleWords } from "@sluice/proto/contract/records/alert-rules.js";
import { alertRuleOperations } from "@sluice/proto/contract/operations/alert-rules.js";
import { escapeUnprintable, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { historyTable, readRule, ruleTable, testLines } from "../alert-rules.ts";
import { jsonOption } from "../terminal.ts";
import { outcomeOf } from "../views.ts";
import type { RemoteCommands } from "./command.ts";

const { listAlertRules, getAlertRule, putAlertRule, deleteAlertRule, listAlertRuleEvents, testAlertRule } =
  alertRuleOperations;

export const remoteAlertRules: RemoteCommands = {
  list: async (args, sluice) => {
    const { values } = readArguments(args, jsonOption);
    const records = await sluice.list(listAlertRules);
    return values.json === true ? [JSON.stringify(records)] : ruleTable(records);
  },
  show: async (args, sluice) => {
    const { named } = readArguments(args, {}, "NAME");
    const { data } = await sluice.call(getAlertRule, { parameters: { name: named.NAME } });
    return [JSON.stringify(data, null, 2)];
  },
  put: async (args, sluice) => {
    const { name, settings, asJson } = await readRule(args);
    const answer = await sluice.call(putAlertRule, { parameters: { name }, body: { ...settings } });
    const { data, created, changed } = answer;
    const outcome = outcomeOf({ created: created === true, changed: changed === true });
    return [asJson ? JSON.stringify(data) : `${escapeUnprintable(name)} ${outcome}`];
  },
  delete: async (args, sluice) => {
    const { named } = readArguments(args, {}, "NAME");
    await sluice.call(deleteAlertRule, { parameters: { name: named.NAME } });
    return [`${escapeUnprintable(named.NAME)} deleted`];
  },
  history: async (args, sluice) => {
    const { values, named } = readArguments(args, jsonOption, "NAME");
    const { data } = await sluice.call(listAlertRuleEvents, { parameters: { name: named.NAME } });
    return values.json === true ? [JSON.stringify(data)] : historyTable(data as readonly JsonObject[]);
  },
  test: async (args, sluice) => {
    const { values, named } = readArguments(args, jsonOption, "NAME");
    const parameters = { name: named.NAME };
    const { data } = await sluice.call(testAlertRule, { parameters });
    if (values.json === true) return [JSON.stringify(data)];
    const { data: rule } = await sluice.call(getAlertRule, { parameters });
    return testLines(data as JsonObject, rule as AlertRuleWords);
  },
};
