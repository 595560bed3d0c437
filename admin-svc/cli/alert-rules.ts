/**
 * The command `alert-rules` with its verbs list, show, put, delete, history and test. Alert rules watch saved views of
 * usage.
 */
import { CommandError, UsageError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import {
  type AlertRuleWords,
  alertConditions,
  alertConditionWords,
  maxAlertRules,
} from "@sluice/proto/contract/records/alert-rules.js";
import { usageFilters } from "@sluice/proto/contract/records/usage-series.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { Kysely } from "kysely";
import { readAlertRule } from "../rules/alert-rules.ts";
import { readFigure } from "../store/alerts/figures.ts";
import { awaitDeliveries, findTestPause, startRuleTest } from "../store/alerts/rule-tests.ts";
import {
  type AlertRuleRow,
  deleteAlertRule,
  findAlertRule,
  listAlertRules,
  listRuleEvents,
  putAlertRule,
} from "../store/alerts/rules.ts";
import type { Database } from "../store/database.ts";
import { type Commands, formatTime, jsonOption, textOption, throwAsUsageError } from "./terminal.ts";
import { outcomeOf } from "./views.ts";

const testWaitMs = 15_000;

const filterOptions = Object.fromEntries(
  Object.keys(usageFilters).map((name) => [name, textOption] as const),
) as Readonly<Record<keyof typeof usageFilters, typeof textOption>>;

export const alertRules: Commands = {
  list: {
    usage: "[--json]",
    summary: "Lists the alerts on views with the outcome of their last check.",
    async run(args, { database, author, print }) {
      const { values } = readArguments(args, jsonOption);
      const rows = await listAlertRules(await database(), (await author()).workspaceId);
      if (values.json === true) return print(JSON.stringify(rows.map(toRecord)));
      for (const line of ruleTable(rows.map(toRecord))) print(line);
    },
  },
  show: {
    usage: "NAME",
    summary: "Shows an alert as JSON.",
    async run(args, { database, author, print }) {
      const { named } = readArguments(args, {}, "NAME");
      print(JSON.stringify(toRecord(await find(await database(), (await author()).workspaceId, named.NAME)), null, 2));
    },
  },
  put: {
    usage: `NAME --condition CONDITION --channel CHANNEL,… [--threshold NUMBER] [--window-minutes N] [--min-requests N] [${Object.keys(
      usageFilters,
    )
      .map((name) => `--${name} VALUE`)
      .join("] [")}] [--json]`,
    summary: "Sets an alert on the usage that the filters choose, or changes the one with this name.",
    details: [
      `CONDITION is one of ${alertConditionWords.join(", ")}; CHANNEL is the name of an entry of \`alerts\` in the configuration file.`,
    ],
    async run(args, { database, author, print }) {
      const { name, settings, asJson } = await readRule(args);
      const put = await putAlertRule(await database(), await author(), { name, settings });
      if (put === "full") throw new CommandError(`a workspace has at most ${maxAlertRules} alert rules`);
      print(asJson ? JSON.stringify(toRecord(put.row)) : `${escapeUnprintable(name)} ${outcomeOf(put)}`);
    },
  },
  delete: {
    usage: "NAME",
    summary: "Deletes an alert with its history.",
    async run(args, { database, author, print }) {
      const { named } = readArguments(args, {}, "NAME");
      if (!(await deleteAlertRule(await database(), await author(), named.NAME))) throw noRule(named.NAME);
      print(`${escapeUnprintable(named.NAME)} deleted`);
    },
  },
  history: {
    usage: "NAME [--json]",
    summary: "Lists when an alert fired and cleared, and its tests, latest first.",
    async run(args, { database, author, print }) {
      const { values, named } = readArguments(args, jsonOption, "NAME");
      const rule = await find(await database(), (await author()).workspaceId, named.NAME);
      const events = (await listRuleEvents(await database(), rule.id)).map(({ at, type, value, threshold }) => ({
        at,
        type,
        value,
        threshold,
      }));
      if (values.json === true) return print(JSON.stringify(events));
      for (const line of historyTable(events.map((event) => ({ ...event, at: event.at.toISOString() })))) print(line);
    },
  },
  test: {
    usage: "NAME [--json]",
    summary: "Checks the condition, and sends a test alert to each channel by way of a running admin-svc.",
    async run(args, { database, author, print }) {
      const { values, named } = readArguments(args, jsonOption, "NAME");
      const by = await author();
      const rule = await find(await database(), by.workspaceId, named.NAME);
      const pause = await findTestPause(await database(), rule);
      if (pause) throw new CommandError(pause.message);
      const checked = { workspaceId: by.workspaceId, rule: rule.settings, now: new Date() };
      const { value, isMet } = await readFigure(await database(), checked);
      const { channels } = rule.settings;
      const started = await startRuleTest(await database(), by, { rule, channels, value: value ?? null });
      if (started === "gone") throw noRule(named.NAME);
      if ("message" in started) throw new CommandError(started.message);
      const deliveries = (await awaitDeliveries(await database(), started, performance.now() + testWaitMs)).map(
        ({ channel, isDelivered, error }) => ({ channel, is_delivered: isDelivered, error: error || null }),
      );
      const outcome = { is_met: isMet, value: value ?? null, deliveries };
      if (values.json === true) return print(JSON.stringify(outcome));
      for (const line of testLines(outcome, rule.settings)) print(line);
    },
  },
};

/** @throws UsageError for a wrong option */
export async function readRule(args: string[]) {
  const options = {
    ...jsonOption,
    ...filterOptions,
    condition: textOption,
    channel: textOption,
    threshold: textOption,
    "window-minutes": textOption,
    "min-requests": textOption,
  } as const;
  const { values, named } = readArguments(args, options, "NAME");
  const { json, condition, channel, threshold, "window-minutes": windowMinutes, "min-requests": minRequests } = values;
  if (condition === undefined) throw new UsageError("missing option: --condition");
  if (channel === undefined) throw new UsageError("missing option: --channel");
  const filters = Object.fromEntries(
    Object.keys(usageFilters).flatMap((name) => {
      const value = values[name as keyof typeof usageFilters];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const given = {
    filters,
    condition,
    channels: channel.split(","),
    ...numberOf("threshold", threshold),
    ...numberOf("window_minutes", windowMinutes),
    ...numberOf("min_requests", minRequests),
  };
  const settings = await throwAsUsageError(() => readAlertRule({ name: named.NAME, settings: given }));
  return { name: named.NAME, settings, asJson: json === true };
}

function numberOf(field: string, text: string | undefined): JsonObject {
  if (text === undefined) return {};
  const option = `--${field.replaceAll("_", "-")}`;
  if (!/^\d+(\.\d+)?$/.test(text)) throw new UsageError(`${option}: a number`);
  return { [field]: Number(text) };
}

async function find(database: Kysely<Database>, workspaceId: string, name: string): Promise<AlertRuleRow> {
  const row = await findAlertRule(database, workspaceId, name);
  if (!row) throw noRule(name);
  return row;
}

const noRule = (name: string): CommandError => new CommandError(`no such alert rule: ${escapeUnprintable(name)}`);

/** A rule in the form of the HTTP interface. */
const toRecord = (row: AlertRuleRow): JsonObject => ({
  name: row.name,
  ...row.settings,
  is_firing: row.is_firing,
  firing_since: row.firing_since,
  value: row.value,
  checked_at: row.checked_at,
  last_error: row.last_error,
  created_by: row.created_by,
  created_at: row.created_at,
  updated_at: row.updated_at,
});

const shown = (value: unknown): string => (typeof value === "number" ? String(Number(value.toPrecision(6))) : "-");
const timeOf = (value: unknown): string =>
  value === null || value === undefined ? "-" : formatTime(new Date(value as string | Date));

/** A table of rules in the form of the HTTP interface. */
export const ruleTable = (rules: readonly JsonObject[]): string[] =>
  table(
    ["STATE", "CONDITION", "THRESHOLD", "VALUE", "MINUTES", "CHECKED", "CHANNELS", "NAME"],
    rules.map((rule) => [
      rule["last_error"] !== null ? "problem" : rule["is_firing"] === true ? "firing" : "ok",
      String(rule["condition"]),
      shown(rule["threshold"]),
      shown(rule["value"]),
      String(rule["window_minutes"]),
      timeOf(rule["checked_at"]),
      (rule["channels"] as readonly string[]).map(escapeUnprintable).join(","),
      escapeUnprintable(String(rule["name"])),
    ]),
  );

/** A table of events in the form of the HTTP interface. */
export const historyTable = (events: readonly JsonObject[]): string[] =>
  table(
    ["AT", "EVENT", "VALUE", "THRESHOLD"],
    events.map(({ at, type, value, threshold }) => [timeOf(at), String(type), shown(value), shown(threshold)]),
  );

/** The outcome of a test as lines of text. @param outcome in the form of the HTTP interface */
export function testLines(
  outcome: JsonObject,
  { condition, threshold }: Pick<AlertRuleWords, "condition" | "threshold">,
): string[] {
  const deliveries = outcome["deliveries"] as readonly JsonObject[];
  return [
    `${condition} ${shown(outcome["value"])} ${alertConditions[condition]}, threshold ${threshold}: ${outcome["is_met"] === true ? "met" : "not met"}`,
    ...deliveries.map(
      ({ channel, is_delivered, error }) =>
        `${escapeUnprintable(String(channel))}: ${is_delivered === true ? "delivered" : `not delivered: ${escapeUnprintable(String(error))}`}`,
    ),
  ];
}
