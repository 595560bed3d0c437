/** guardrails: create, list, show, assign, unassign. */
import { parseArgs } from "node:util";
import { type BlockFilter, checkGuardrail, isGuardrailId } from "../rules/guardrail.ts";
import { checkKeyHashes } from "../rules/key-hashes.ts";
import { assignKeys, unassignKeys } from "../store/assignments.ts";
import { defaultWorkspaceId } from "../store/database.ts";
import {
  type GuardrailRow,
  createGuardrail,
  findGuardrail,
  keysOfGuardrail,
  listGuardrails,
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

export const guardrails: Commands = {
  create: {
    usage: "--name NAME --block PATTERN [--label LABEL] [--block PATTERN [--label LABEL]]... [--json]",
    summary: "Makes a guardrail that refuses requests in which a pattern is found.",
    details: [
      "PATTERN is a regular expression in RE2 syntax: no look-around, no back-references.",
      "LABEL belongs to the pattern before it, and is shown instead of it.",
      "A value that begins with a dash is written --block=-5.",
    ],
    async run(args, { database, print }) {
      const { name, filters, asJson } = readNewGuardrail(args);
      const contentFilters = filters.map(({ pattern, label }) => ({
        pattern,
        label: label ?? null,
        action: "block" as const,
      }));
      const row = await createGuardrail(await database(), { workspaceId: defaultWorkspaceId, name, contentFilters });
      print(asJson ? JSON.stringify(described(row)) : row.id);
    },
  },
  list: {
    usage: "[--json]",
    summary: "Lists all guardrails with the number of keys that hold each.",
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      exactly(positionals);
      const rows = await listGuardrails(await database(), defaultWorkspaceId);
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
};

function readNewGuardrail(args: string[]) {
  const text = { type: "string" } as const;
  const options = {
    ...json,
    name: text,
    block: { ...text, multiple: true },
    label: { ...text, multiple: true },
  } as const;
  const { values, positionals, tokens } = parseArgs({ args, allowPositionals: true, options, tokens: true });
  exactly(positionals);
  const filters: { pattern: string; label?: string }[] = [];
  for (const token of tokens) {
    if (token.kind !== "option" || token.value === undefined) continue;
    if (token.name === "block") filters.push({ pattern: token.value });
    if (token.name === "label") addLabel(filters.at(-1), token.value);
  }
  const name = required("--name", values.name);
  if (filters.length === 0) throw new UsageError("missing option: --block");
  asUsage(() => checkGuardrail(name, filters satisfies BlockFilter[]));
  return { name, filters, asJson: values.json === true };
}

function addLabel(filter: { label?: string } | undefined, label: string): void {
  if (!filter) throw new UsageError("--label: comes after the --block that it belongs to");
  if (filter.label !== undefined) throw new UsageError("--label: at most one for each --block");
  filter.label = label;
}

async function show(id: string, asJson: boolean, { database, print }: Terminal): Promise<void> {
  const row = isGuardrailId(id) ? await findGuardrail(await database(), defaultWorkspaceId, id) : undefined;
  if (!row) throw new CommandError("no such guardrail");
  const keyHashes = await keysOfGuardrail(await database(), id);
  if (asJson) return print(JSON.stringify({ ...described(row), key_hashes: keyHashes }));
  print(`id       ${row.id}`);
  print(`name     ${printable(row.name)}`);
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
  const keyHashes = asUsage(() => checkKeyHashes(hashes.map(checkHash)));
  if (!isGuardrailId(id)) throw new CommandError("no such guardrail");
  const result = await work(await terminal.database(), {
    workspaceId: defaultWorkspaceId,
    guardrailId: id,
    keyHashes,
  });
  if (!result) throw new CommandError("no such guardrail");
  terminal.print(`${result.count} of ${keyHashes.length} keys ${done} (policy generation ${result.generation})`);
}

const described = (row: GuardrailRow) => ({
  id: row.id,
  name: row.name,
  content_filters: row.content_filters,
  created_at: row.created_at,
  updated_at: row.updated_at,
});
