/** guardrails: create, list, show, update, delete, assign, unassign, assignments. */
import { parseArgs } from "node:util";
import type { RoutingPolicyJson } from "@sluice/proto/contract/routing-policy.js";
import { isGuardrailId } from "../rules/guardrail.ts";
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
import { CommandError, type Commands, type Terminal, UsageError, asUsage, exactly } from "./command.ts";
import { readChange, readNewGuardrail, ruleDetails } from "./guardrail-options.ts";
import { findKeyHash, keyHelp } from "./key-reference.ts";
import { printable, table, time } from "./table.ts";

const json = { json: { type: "boolean" } } as const;

export const guardrails: Commands = {
  create: {
    usage: "--name NAME [--description TEXT] RULES [--json]",
    summary: "Makes a guardrail.",
    details: ruleDetails,
    async run(args, { database, author, print }) {
      const { settings, asJson } = await readNewGuardrail(args);
      const { row } = await createGuardrail(await database(), await author(), settings);
      print(asJson ? JSON.stringify(described(row)) : row.id);
    },
  },
  list: {
    usage: "[--json]",
    summary: "Lists all guardrails with the number of keys that hold each.",
    async run(args, { database, author, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      exactly(positionals);
      const rows = await listGuardrails(await database(), (await author()).workspaceId);
      if (values.json === true)
        return print(JSON.stringify(rows.map((row) => ({ ...described(row), keys: row.keys }))));
      const cells = rows.map((row) => [
        row.id,
        String(
          row.content_filters.length +
            row.content_filter_builtins.length +
            row.judge_rules.length +
            row.detectors.length,
        ),
        String(row.keys),
        scopeOf(row),
        time(row.created_at),
        row.name,
      ]);
      for (const line of table(["ID", "FILTERS", "KEYS", "SCOPE", "CREATED", "NAME"], cells)) print(line);
    },
  },
  show: {
    usage: "ID [--json]",
    summary: "Shows a guardrail's filters and the hashes of the keys that hold it.",
    async run(args, terminal) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      await show(exactly(positionals, "ID").ID, values.json === true, terminal);
    },
  },
  update: {
    usage: "ID [--name NAME] [--description TEXT | --no-description] RULES [--json]",
    summary: "Changes what is named; patterns take the place of all that were there, and so do built-in filters.",
    details: ruleDetails,
    async run(args, { database, author, print }) {
      const { id, change, asJson } = await readChange(args);
      const changed = isGuardrailId(id)
        ? await updateGuardrail(await database(), await author(), id, change)
        : undefined;
      if (!changed) throw new CommandError("no such guardrail");
      const { row, generation } = changed;
      print(asJson ? JSON.stringify(described(row)) : `${id} changed (policy generation ${generation})`);
    },
  },
  delete: {
    usage: "ID",
    summary: "Deletes a guardrail and takes it from every key that holds it.",
    async run(args, { database, author, print }) {
      const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
      const { ID: id } = exactly(positionals, "ID");
      const change = isGuardrailId(id) ? await deleteGuardrail(await database(), await author(), id) : undefined;
      if (!change) throw new CommandError("no such guardrail");
      print(`${id} deleted (policy generation ${change.generation})`);
    },
  },
  assign: {
    usage: "ID KEY...",
    summary: "Gives keys this guardrail, in place of the one that they hold.",
    details: [keyHelp],
    run: (args, terminal) => runBulk(args, terminal, "assigned", "assign"),
  },
  unassign: {
    usage: "ID KEY...",
    details: [keyHelp],
    summary: "Takes this guardrail from those of the keys that hold it.",
    run: (args, terminal) => runBulk(args, terminal, "unassigned", "unassign"),
  },
  assignments: {
    usage: "[ID] [--json]",
    summary: "Lists which key holds which guardrail, or the keys that hold this one.",
    async run(args, { database, author, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      const [id] = positionals;
      if (positionals.length > 1) throw new UsageError(`unexpected argument: ${positionals[1]}`);
      if (id !== undefined && !isGuardrailId(id)) throw new CommandError("no such guardrail");
      const filter = { workspaceId: (await author()).workspaceId, guardrailId: id };
      const found = await pageOfAssignments(await database(), filter, { offset: 0, limit: 2 ** 31 });
      if (!found) throw new CommandError("no such guardrail");
      if (values.json === true) return print(JSON.stringify(found.rows));
      const cells = found.rows.map((row) => [
        row.guardrail_id,
        row.key_hash,
        row.key_label,
        time(row.created_at),
        row.key_name,
      ]);
      for (const line of table(["GUARDRAIL", "HASH", "LABEL", "SINCE", "NAME"], cells)) print(line);
    },
  },
};

async function show(id: string, asJson: boolean, { database, author, print }: Terminal): Promise<void> {
  const row = isGuardrailId(id) ? await findGuardrail(await database(), (await author()).workspaceId, id) : undefined;
  if (!row) throw new CommandError("no such guardrail");
  const keyHashes = await keysOfGuardrail(await database(), id);
  if (asJson) return print(JSON.stringify({ ...described(row), key_hashes: keyHashes }));
  print(`id       ${row.id}`);
  print(`name     ${printable(row.name)}`);
  if (row.description !== null) print(`for      ${printable(row.description)}`);
  print(`created  ${time(row.created_at)}`);
  for (const line of rulesOf(row)) print(line);
  for (const keyHash of keyHashes) print(`key      ${keyHash}`);
}

async function runBulk(args: string[], terminal: Terminal, done: string, verb: Bulk["verb"]): Promise<void> {
  const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
  const [id, ...named] = positionals;
  if (id === undefined) throw new UsageError("missing argument: ID");
  if (named.length === 0) throw new UsageError("missing argument: KEY");
  if (!isGuardrailId(id)) throw new CommandError("no such guardrail");
  const author = await terminal.author();
  const database = await terminal.database();
  const hashes = await Promise.all(named.map((text) => findKeyHash(database, author.workspaceId, text)));
  const keyHashes = await asUsage(() => checkKeyHashes(hashes));
  const bulk = { author, verb, guardrailId: id, keyHashes };
  const { counts, change } = await changeAssignments(database, author.workspaceId, [bulk]);
  if (!change) throw new CommandError("no such guardrail");
  terminal.print(`${counts[0]} of ${keyHashes.length} keys ${done} (policy generation ${change.generation})`);
}

function described(row: GuardrailRow) {
  const { routing_policy: policy, ...settings } = storedGuardrail(row);
  return { ...settings, ...(policy as RoutingPolicyJson) };
}

/** For whom it holds. */
function scopeOf(row: GuardrailRow): string {
  if (row.account_default) return "account";
  return row.workspace_default ? "workspace" : "keys";
}

const column = (name: string): string => name.padEnd(9);

/** What it does, a rule a line. */
function* rulesOf(row: GuardrailRow): Iterable<string> {
  for (const { action, pattern, label } of row.content_filters) {
    yield `${column(action)}${printable(pattern)}${label === null ? "" : `  (${printable(label)})`}`;
  }
  for (const { action, slug, scan_scope: scope } of row.content_filter_builtins) {
    yield `${column(action)}built in: ${slug}${scope === null ? "" : ` of ${scope}`}`;
  }
  for (const { action, rule, threshold } of row.judge_rules) {
    yield `${column(action)}judged from ${threshold}: ${printable(rule)}`;
  }
  for (const { action, detector, category, threshold } of row.detectors) {
    const from = threshold === null ? "" : ` from ${threshold}`;
    yield `${column(action)}detected by ${printable(detector)}${from}: ${printable(category)}`;
  }
  yield `${column("applies")}to ${row.applies_to}, ${row.mode}, ${row.on_error} on errors`;
  if (row.limit_usd !== null) yield `${column("limit")}${Number(row.limit_usd)} USD ${row.limit_reset} for each key`;
  if (row.workspace_default) yield `${column("keys")}all of the workspace`;
  if (row.account_default) yield `${column("keys")}all of every workspace`;
  for (const [field, value] of Object.entries(row.routing_policy)) {
    yield `${column("models")}${field} ${printable(JSON.stringify(value))}`;
  }
}
