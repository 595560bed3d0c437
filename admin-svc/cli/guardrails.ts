/**
 * The command `guardrails` with its verbs create, put, list, show, update, delete, try, assign, unassign and
 * assignments.
 */
import { CommandError, UsageError, escapeUnprintable, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { parseArgs } from "node:util";
import type { StoredGuardrailSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import { type GuardrailSettingName, unsetGuardrail } from "@sluice/proto/contract/records/guardrails.js";
import type { RoutingPolicyJson } from "@sluice/proto/contract/records/routing-policy.js";
import { checkKeyHashes } from "../rules/key-hashes.ts";
import { type Bulk, changeAssignments, pageOfAssignments } from "../store/assignments.ts";
import {
  createGuardrail,
  deleteGuardrail,
  findGuardrail,
  keysOfGuardrail,
  listGuardrails,
  updateGuardrail,
} from "../store/guardrails.ts";
import { type GuardrailRow, storedGuardrail } from "../store/guardrail-columns.ts";
import { readGuardrailChange, readNewGuardrail, ruleDetails } from "./guardrail-options.ts";
import { findGuardrailId } from "./guardrail-reference.ts";
import { findKeyHash, keyHelp } from "./key-reference.ts";
import { putCommand } from "./put.ts";
import { guardrailHelp } from "./reference.ts";
import {
  type AdminTerminal,
  type Commands,
  throwAsUsageError,
  jsonOption,
  textOption,
  formatTime,
} from "./terminal.ts";

/** @throws UsageError for a wrong option */
export function readTrialOptions(args: string[]) {
  const { values, named } = readArguments(args, { ...jsonOption, side: textOption }, "GUARDRAIL", "TEXT");
  return { guardrail: named.GUARDRAIL, text: named.TEXT, side: values.side, asJson: values.json === true };
}

export const guardrails: Commands = {
  create: {
    usage: "--name NAME RULES [--json]",
    summary: "Creates a guardrail.",
    details: ruleDetails,
    async run(args, { database, author, print }) {
      const { settings, asJson } = await readNewGuardrail(args);
      const { row } = await createGuardrail(await database(), await author(), settings);
      print(asJson ? JSON.stringify(described(row)) : row.id);
    },
  },
  put: putCommand("guardrail", "--name NAME RULES [--json]", ruleDetails),
  list: {
    usage: "[--json]",
    summary: "Lists all guardrails with the numbers of keys that hold each, assigned and as a further one.",
    async run(args, { database, author, print }) {
      const { values } = readArguments(args, jsonOption);
      const rows = await listGuardrails(await database(), (await author()).workspaceId);
      if (values.json === true)
        return print(
          JSON.stringify(rows.map((row) => ({ ...described(row), keys: row.keys, further_keys: row.further_keys }))),
        );
      const cells = rows.map((row) => [
        row.name,
        String(rulesOf(row).length),
        String(row.keys),
        String(row.further_keys),
        scopeOf(row),
        formatTime(row.created_at),
        row.id,
      ]);
      for (const line of table(["NAME", "FILTERS", "KEYS", "FURTHER", "SCOPE", "CREATED", "ID"], cells)) print(line);
    },
  },
  show: {
    usage: "GUARDRAIL [--json]",
    details: [guardrailHelp],
    summary: "Shows a guardrail's filters and the hashes of the keys that hold it, assigned and as a further one.",
    async run(args, terminal) {
      const { values, named } = readArguments(args, jsonOption, "GUARDRAIL");
      await show(named.GUARDRAIL, values.json === true, terminal);
    },
  },
  update: {
    usage: "GUARDRAIL [--name NAME] RULES [--json]",
    summary: "Changes the named settings; given patterns replace all earlier ones, and so do built-in filters.",
    details: [guardrailHelp, ...ruleDetails],
    async run(args, { database, author, print }) {
      const { guardrail, change, asJson } = await readGuardrailChange(args);
      const id = await guardrailId({ database, author }, guardrail);
      const changed = await updateGuardrail(await database(), await author(), id, change);
      if (!changed) throw new CommandError("no such guardrail");
      const { row, generation } = changed;
      print(asJson ? JSON.stringify(described(row)) : `${id} changed (policy generation ${generation})`);
    },
  },
  try: {
    usage: "GUARDRAIL TEXT [--side input|output] [--json]",
    summary: "Shows what a guardrail does to a text of a request, or of an answer, without a model.",
    details: [guardrailHelp, "Asks a running Sluice: set SLUICE_URL and SLUICE_MANAGEMENT_KEY."],
    async run(args) {
      readTrialOptions(args);
      throw new CommandError("guardrails try asks a running Sluice: set SLUICE_URL and SLUICE_MANAGEMENT_KEY");
    },
  },
  delete: {
    usage: "GUARDRAIL",
    details: [guardrailHelp],
    summary: "Deletes a guardrail and removes it from every key that holds it.",
    async run(args, { database, author, print }) {
      const { named } = readArguments(args, {}, "GUARDRAIL");
      const id = await guardrailId({ database, author }, named.GUARDRAIL);
      const change = await deleteGuardrail(await database(), await author(), id);
      if (!change) throw new CommandError("no such guardrail");
      print(`${id} deleted (policy generation ${change.generation})`);
    },
  },
  assign: {
    usage: "GUARDRAIL KEY...",
    summary: "Assigns this guardrail to keys, in place of their current one.",
    details: [guardrailHelp, keyHelp],
    run: (args, terminal) => runBulk(args, terminal, "assigned", "assign"),
  },
  unassign: {
    usage: "GUARDRAIL KEY...",
    details: [guardrailHelp, keyHelp],
    summary: "Removes this guardrail from the keys that hold it.",
    run: (args, terminal) => runBulk(args, terminal, "unassigned", "unassign"),
  },
  assignments: {
    usage: "[GUARDRAIL] [--json]",
    details: [guardrailHelp],
    summary: "Lists the guardrails of all keys, or the keys of one guardrail.",
    async run(args, { database, author, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: jsonOption });
      const [text] = positionals;
      if (positionals.length > 1) throw new UsageError(`unexpected argument: ${positionals[1]}`);
      const id = text === undefined ? undefined : await guardrailId({ database, author }, text);
      const filter = { workspaceId: (await author()).workspaceId, guardrailId: id };
      const found = await pageOfAssignments(await database(), filter, { offset: 0, limit: 2 ** 31 });
      if (!found) throw new CommandError("no such guardrail");
      if (values.json === true) return print(JSON.stringify(found.rows));
      const cells = found.rows.map((row) => [
        row.key_name,
        row.key_label,
        formatTime(row.created_at),
        row.key_hash,
        row.guardrail_id,
      ]);
      for (const line of table(["NAME", "LABEL", "SINCE", "HASH", "GUARDRAIL"], cells)) print(line);
    },
  },
};

const guardrailId = async (
  { database, author }: Pick<AdminTerminal, "database" | "author">,
  text: string,
): Promise<string> => findGuardrailId(await database(), (await author()).workspaceId, text);

async function show(text: string, asJson: boolean, { database, author, print }: AdminTerminal): Promise<void> {
  const id = await guardrailId({ database, author }, text);
  const row = await findGuardrail(await database(), (await author()).workspaceId, id);
  if (!row) throw new CommandError("no such guardrail");
  const { assigned, further } = await keysOfGuardrail(await database(), id);
  if (asJson) return print(JSON.stringify({ ...described(row), key_hashes: assigned, further_key_hashes: further }));
  print(`id       ${row.id}`);
  print(`name     ${escapeUnprintable(row.name)}`);
  if (row.description !== null) print(`for      ${escapeUnprintable(row.description)}`);
  print(`created  ${formatTime(row.created_at)}`);
  for (const line of linesOf(row)) print(line);
  for (const keyHash of assigned) print(`${column("key")}${keyHash}`);
  for (const keyHash of further) print(`${column("further")}${keyHash}`);
}

async function runBulk(args: string[], terminal: AdminTerminal, done: string, verb: Bulk["verb"]): Promise<void> {
  const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
  const [text, ...named] = positionals;
  if (text === undefined) throw new UsageError("missing argument: GUARDRAIL");
  if (named.length === 0) throw new UsageError("missing argument: KEY");
  const author = await terminal.author();
  const database = await terminal.database();
  const id = await findGuardrailId(database, author.workspaceId, text);
  const hashes = await Promise.all(named.map((key) => findKeyHash(database, author.workspaceId, key)));
  const keyHashes = await throwAsUsageError(() => checkKeyHashes(hashes));
  const bulk = { author, verb, guardrailId: id, keyHashes };
  const { counts, change } = await changeAssignments(database, author.workspaceId, [bulk]);
  if (!change) throw new CommandError("no such guardrail");
  terminal.print(`${counts[0]} of ${keyHashes.length} keys ${done} (policy generation ${change.generation})`);
}

function described(row: GuardrailRow) {
  const { routing_policy: policy, ...settings } = storedGuardrail(row);
  return { ...settings, ...(policy as RoutingPolicyJson) };
}

const settingNames = Object.keys(unsetGuardrail) as GuardrailSettingName[];

/** The rules of a guardrail, from all settings that are lists. */
const rulesOf = (row: GuardrailRow): readonly Rule[] =>
  settingNames.flatMap((name) => (Array.isArray(unsetGuardrail[name]) ? (storedGuardrail(row)[name] as Rule[]) : []));

/** An entry of any list setting. */
type Rule = Extract<StoredGuardrailSettings[GuardrailSettingName], readonly unknown[]>[number];

/** The scope in which the guardrail is a default: its workspace, or the account. */
const scopesOf = (row: GuardrailRow): string[] =>
  settingNames.filter((name) => storedGuardrail(row)[name] === true).map((name) => name.replace(/_default$/, ""));

const scopeOf = (row: GuardrailRow): string => scopesOf(row).at(-1) ?? "keys";

const scopeTexts: Readonly<Record<string, string>> = {
  workspace: "all of the workspace",
  account: "all of every workspace",
};

const column = (name: string): string => name.padEnd(9);

/** Yields a line of text for each rule, and for each other setting with an effect. */
function* linesOf(row: GuardrailRow): Iterable<string> {
  for (const rule of rulesOf(row)) yield `${column(rule.action)}${ruleText(rule)}`;
  yield `${column("applies")}to ${row.applies_to}, ${row.mode}, ${row.on_error} on errors`;
  if (row.limit_usd !== null) yield `${column("limit")}${Number(row.limit_usd)} USD ${row.limit_reset} for each key`;
  for (const scope of scopesOf(row)) yield `${column("keys")}${scopeTexts[scope] ?? scope}`;
  for (const [field, value] of Object.entries(row.routing_policy)) {
    yield `${column("models")}${field} ${escapeUnprintable(JSON.stringify(value))}`;
  }
}

function ruleText(rule: Rule): string {
  if ("pattern" in rule)
    return escapeUnprintable(rule.pattern) + (rule.label === null ? "" : `  (${escapeUnprintable(rule.label)})`);
  if ("slug" in rule) return `built in: ${rule.slug}${rule.scan_scope === null ? "" : ` of ${rule.scan_scope}`}`;
  if ("rule" in rule) return `judged from ${rule.threshold}: ${escapeUnprintable(rule.rule)}`;
  const from = rule.threshold === null ? "" : ` from ${rule.threshold}`;
  return `detected by ${escapeUnprintable(rule.detector)}${from}: ${escapeUnprintable(rule.category)}`;
}
