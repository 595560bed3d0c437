/** Names of the chart's values in values.yaml, in the schema, and on the page. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { readPage } from "../../support/pages.ts";
import { chart } from "./helm.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
}

const schema = JSON.parse(readFileSync(join(chart, "values.schema.json"), "utf8")) as Schema & {
  readonly definitions: Readonly<Record<string, Schema>>;
};

const resolve = (part: Schema): Schema =>
  part.$ref === undefined ? part : (schema.definitions[part.$ref.replace("#/definitions/", "")] as Schema);

/** Paths of objects with named fields whose schema would accept a misspelt name. */
export function openObjects(part: Schema = schema, path = "values"): string[] {
  const { properties, items, additionalProperties } = resolve(part);
  const own = properties && additionalProperties !== false ? [path] : [];
  return [
    ...own,
    ...Object.entries(properties ?? {}).flatMap(([name, field]) => openObjects(field, `${path}.${name}`)),
    ...(items ? openObjects(items, `${path}[]`) : []),
  ];
}

/** Values that Helm sets if another chart contains this one. */
const ofHelm = ["global"];

/** Sorted paths of all fields without named subfields. */
export const schemaPaths = (part: Schema = schema, path = ""): string[] =>
  Object.entries(resolve(part).properties ?? {})
    .filter(([name]) => path !== "" || !ofHelm.includes(name))
    .flatMap(([name, field]) =>
      resolve(field).properties ? schemaPaths(field, `${path}${name}.`) : [`${path}${name}`],
    )
    .toSorted();

/** Paths of values.yaml to the depth of the schema, sorted. */
export const valuePaths = (): string[] =>
  pathsWithin(parse(readFileSync(join(chart, "values.yaml"), "utf8")), schema, "");

function pathsWithin(values: object, part: Schema, path: string): string[] {
  const { properties = {} } = resolve(part);
  return Object.entries(values)
    .flatMap(([name, value]) => {
      const field = properties[name];
      const goesOn = field !== undefined && resolve(field).properties !== undefined;
      return goesOn ? pathsWithin(value as object, field, `${path}${name}.`) : [`${path}${name}`];
    })
    .toSorted();
}

/** Paths in the first column of the page's tables, sorted; a path with several services in braces gives one for each. */
export function describedValues(): string[] {
  const page = readPage("docs/deploy/helm-values.md");
  const cells = [...page.matchAll(/^\| (`[^|]+`) \|/gm)].map(([, cell = ""]) => cell);
  const names = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
  return names.flatMap(expandBraces).toSorted();
}

function expandBraces(name: string): string[] {
  const [whole, alternatives = ""] = /\{(.*?)\}/.exec(name) ?? [];
  return whole === undefined
    ? [name]
    : alternatives.split(",").flatMap((one) => expandBraces(name.replace(whole, one)));
}
