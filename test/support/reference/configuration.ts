/** The tables of docs/reference/configuration.md, generated from the published schema of the configuration file. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../processes.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

const document = JSON.parse(readFileSync(join(root, "deploy/local/sluice.schema.json"), "utf8")) as Schema & {
  readonly $defs?: Readonly<Record<string, Schema>>;
};

/** A definition that contains itself stands for any JSON value, which has no rows. */
const resolve = (schema: Schema): Schema => {
  const { $ref, ...rest } = schema;
  const definition = $ref && document.$defs?.[$ref.replace("#/$defs/", "")];
  if (!$ref || !definition) return schema;
  return JSON.stringify(definition).includes(JSON.stringify($ref))
    ? { ...rest, type: "JSON" }
    : { ...definition, ...rest };
};

const alternatives = ({ anyOf = [], oneOf = [], allOf = [] }: Schema): readonly Schema[] => [
  ...anyOf,
  ...oneOf,
  ...allOf,
];

const code = (text: string): string => `\`${text.replaceAll("|", "\\|")}\``;

/** @returns the kind of a value in words, such as `integer, 1 to 64` */
function kindOf(unresolved: Schema): string {
  const schema = resolve(unresolved);
  if (schema.enum) return schema.enum.map((value) => code(String(value))).join(", ");
  if (schema.const !== undefined) return code(JSON.stringify(schema.const).replaceAll('"', ""));
  if (schema.type === "array") return schema.items ? `list of ${kindOf(schema.items)}` : "list";
  if (schema.type === "object") return schema.properties ? "section" : mapKind(schema);
  if (schema.type === "integer" || schema.type === "number") return `${schema.type}${boundsOf(schema)}`;
  if (schema.type !== undefined) return schema.format === "uri" ? "URL" : schema.type;
  return [...new Set(alternatives(schema).map(kindOf))].join(" or ") || "any value";
}

const mapKind = ({ additionalProperties }: Schema): string =>
  typeof additionalProperties === "object" ? `map of ${kindOf(additionalProperties)}` : "map";

/** Bounds of a number, without those of safe integers, which Zod writes if a setting has none. */
function boundsOf({ minimum, maximum }: Schema): string {
  const hasMaximum = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  const hasMinimum = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER;
  if (hasMinimum && hasMaximum) return `, ${minimum} to ${maximum}`;
  if (hasMaximum) return `, at most ${maximum}`;
  return hasMinimum ? `, at least ${minimum}` : "";
}

function defaultOf(schema: Schema, isRequired: boolean): string {
  const value = resolve(schema).default;
  if (value === undefined) return isRequired ? "required" : "";
  const text = JSON.stringify(value);
  return text === "{}" || text === "[]" ? "" : code(text);
}

interface Row {
  readonly path: string;
  readonly kind: string;
  readonly preset: string;
  readonly description: string;
}

/** @returns a row for every setting below a schema, the deepest paths included */
function rowsOf(unresolved: Schema, path: string): Row[] {
  const schema = resolve(unresolved);
  const required = new Set(schema.required);
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const row = {
      path: at,
      kind: kindOf(field),
      preset: defaultOf(field, required.has(name)),
      description: resolve(field).description ?? "",
    };
    return [row, ...rowsOf(field, at)];
  });
  const entries =
    typeof schema.additionalProperties === "object" ? rowsOf(schema.additionalProperties, `${path}.*`) : [];
  const items = schema.items ? rowsOf(schema.items, `${path}[]`) : [];
  return [...own, ...entries, ...items, ...alternatives(schema).flatMap((part) => rowsOf(part, path))];
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ").replaceAll("<", "&lt;");

/** The first row of each path; further alternatives of a union may have the same setting. */
function uniqueRows(rows: readonly Row[]): Row[] {
  const paths = new Set<string>();
  return rows.filter(({ path }) => !paths.has(path) && paths.add(path));
}

/** @returns a heading and a table for each section of the configuration file */
export function configurationTables(): string {
  const sections = Object.entries(document.properties ?? {}).map(([name, section]) => {
    const { description = "" } = resolve(section);
    const rows = uniqueRows(rowsOf(section, name));
    const head = [`## ${name}`, ...(description === "" ? [] : [cell(description)]), `Kind: ${kindOf(section)}.`];
    if (rows.length === 0) return head.join("\n\n");
    const table = rows.map(
      ({ path, kind, preset, description: text }) => `| ${code(path)} | ${kind} | ${preset} | ${cell(text)} |`,
    );
    return [...head, ["| setting | value | default | meaning |", "|---|---|---|---|", ...table].join("\n")].join(
      "\n\n",
    );
  });
  return sections.join("\n\n");
}
