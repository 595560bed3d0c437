/** guardrails: create, list, show, update, delete, assign, unassign, assignments. */
import { parseArgs } from "node:util";
import { type Filter, type GuardrailSettings, checkGuardrailSettings, isGuardrailId } from "../rules/guardrail.ts";
import { checkKeyHashes } from "../rules/key-hashes.ts";
import { assignKeys, pageOfAssignments, unassignKeys } from "../store/assignments.ts";
import {
  type GuardrailRow,
  createGuardrail,
  deleteGuardrail,
  findGuardrail,
  keysOfGuardrail,
  listGuardrails,
  updateGuardrail,
} from "../store/guardrails.ts";
import {
  CommandError,
  type Commands,
  type Terminal,
  UsageError,
  checkHash,
  asUsage,
  exactly,
  required,
} from "./command.ts";
import { printable, table, time } from "./table.ts";

const json = { json: { type: "boolean" } } as const;

const patternDetails = [
  "PATTERN is a regular expression in RE2 syntax: no look-around, no back-references.",
  "LABEL belongs to the pattern before it, and is shown instead of it.",
  "A value that begins with a dash is written --block=-5.",
];

export const guardrails: Commands = {
  create: {
    usage:
      "--name NAME --block PATTERN [--label LABEL] [--block PATTERN [--label LABEL]]... [--description TEXT] [--json]",
    summary: "Makes a guardrail that refuses requests in which a pattern is found.",
    details: patternDetails,
    async run(args, { database, author, print }) {
      const { settings, asJson } = await readNewGuardrail(args);
      const row = await createGuardrail(await database(), await author(), settings);
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
        String(row.content_filters.length),
        String(row.keys),
        time(row.created_at),
        row.name,
      ]);
      for (const line of table(["ID", "FILTERS", "KEYS", "CREATED", "NAME"], cells)) print(line);
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
    usage:
      "ID [--name NAME] [--description TEXT | --no-description] [--block PATTERN [--label LABEL]... | --no-filters] [--json]",
    summary: "Changes what is named; patterns take the place of all that were there.",
    details: patternDetails,
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
    usage: "ID HASH...",
    summary: "Gives keys this guardrail, in place of the one that they hold.",
    run: (args, terminal) => runBulk(args, terminal, "assigned", assignKeys),
  },
  unassign: {
    usage: "ID HASH...",
    summary: "Takes this guardrail from those of the keys that hold it.",
    run: (args, terminal) => runBulk(args, terminal, "unassigned", unassignKeys),
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

const text = { type: "string" } as const;
const settingOptions = {
  ...json,
  name: text,
  description: text,
  block: { ...text, multiple: true },
  label: { ...text, multiple: true },
} as const;

async function readNewGuardrail(args: string[]) {
  const { values, positionals, tokens } = parseArgs({
    args,
    allowPositionals: true,
    options: settingOptions,
    tokens: true,
  });
  exactly(positionals);
  const contentFilters = filtersIn(tokens);
  const settings = { name: required("--name", values.name), description: values.description ?? null, contentFilters };
  if (contentFilters.length === 0) throw new UsageError("missing option: --block");
  await asUsage(() => checkGuardrailSettings(settings));
  return { settings, asJson: values.json === true };
}

async function readChange(args: string[]): Promise<{ id: string; change: GuardrailSettings; asJson: boolean }> {
  const flag = { type: "boolean" } as const;
  const options = { ...settingOptions, "no-description": flag, "no-filters": flag };
  const { values, positionals, tokens } = parseArgs({ args, allowPositionals: true, options, tokens: true });
  const { ID: id } = exactly(positionals, "ID");
  const filters = filtersIn(tokens);
  if (values["no-filters"] === true && filters.length > 0)
    throw new UsageError("--block and --no-filters exclude each other");
  if (values["no-description"] === true && values.description !== undefined) {
    throw new UsageError("--description and --no-description exclude each other");
  }
  const change = {
    ...(values.name !== undefined && { name: values.name }),
    ...(values.description !== undefined && { description: values.description }),
    ...(values["no-description"] === true && { description: null }),
    ...((filters.length > 0 || values["no-filters"] === true) && { contentFilters: filters }),
  };
  if (Object.keys(change).length === 0) throw new UsageError("missing option: what shall be changed");
  await asUsage(() => checkGuardrailSettings(change));
  return { id, change, asJson: values.json === true };
}

interface Token {
  readonly kind: string;
  readonly name?: string;
  readonly value?: string | undefined;
}

/** Patterns with their labels, in the order in which they were written. */
function filtersIn(tokens: readonly Token[]): Filter[] {
  const filters: { pattern: string; label: string | null; action: "block" }[] = [];
  for (const { kind, name, value } of tokens) {
    if (kind !== "option" || value === undefined) continue;
    if (name === "block") filters.push({ pattern: value, label: null, action: "block" });
    if (name === "label") addLabel(filters.at(-1), value);
  }
  return filters;
}

function addLabel(filter: { label: string | null } | undefined, label: string): void {
  if (!filter) throw new UsageError("--label: comes after the --block that it belongs to");
  if (filter.label !== null) throw new UsageError("--label: at most one for each --block");
  filter.label = label;
}

async function show(id: string, asJson: boolean, { database, author, print }: Terminal): Promise<void> {
  const row = isGuardrailId(id) ? await findGuardrail(await database(), (await author()).workspaceId, id) : undefined;
  if (!row) throw new CommandError("no such guardrail");
  const keyHashes = await keysOfGuardrail(await database(), id);
  if (asJson) return print(JSON.stringify({ ...described(row), key_hashes: keyHashes }));
  print(`id       ${row.id}`);
  print(`name     ${printable(row.name)}`);
  if (row.description !== null) print(`for      ${printable(row.description)}`);
  print(`created  ${time(row.created_at)}`);
  for (const { action, pattern, label } of row.content_filters) {
    print(`${action}    ${printable(pattern)}${label === null ? "" : `  (${printable(label)})`}`);
  }
  for (const keyHash of keyHashes) print(`key      ${keyHash}`);
}

async function runBulk(args: string[], terminal: Terminal, done: string, work: typeof assignKeys): Promise<void> {
  const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
  const [id, ...hashes] = positionals;
  if (id === undefined) throw new UsageError("missing argument: ID");
  if (hashes.length === 0) throw new UsageError("missing argument: HASH");
  const keyHashes = await asUsage(() => checkKeyHashes(hashes.map(checkHash)));
  if (!isGuardrailId(id)) throw new CommandError("no such guardrail");
  const result = await work(await terminal.database(), await terminal.author(), { guardrailId: id, keyHashes });
  if (!result) throw new CommandError("no such guardrail");
  terminal.print(`${result.count} of ${keyHashes.length} keys ${done} (policy generation ${result.generation})`);
}

const described = (row: GuardrailRow) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  content_filters: row.content_filters,
  created_at: row.created_at,
  updated_at: row.updated_at,
});
