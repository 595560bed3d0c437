/** Configuration keys that a text names, and whether the configuration file accepts them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./processes.ts";

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly anyOf?: readonly SchemaNode[];
}

const schema = JSON.parse(readFileSync(join(root, "deploy/local/sluice.schema.json"), "utf8")) as SchemaNode;

/** Whether the configuration file accepts a key. The index of a list may be left out, and `*` stands for any name. */
export const isKey = (path: string): boolean => takes(schema, path.split("."));

function takes(node: SchemaNode, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true;
  const { properties = {}, anyOf = [], items, additionalProperties: any } = node;
  const named = name === "*" ? Object.values(properties) : [properties[name] ?? []].flat();
  if (named.some((inner) => takes(inner, rest))) return true;
  if (anyOf.some((each) => takes(each, [name, ...rest]))) return true;
  if (items && (takes(items, [name, ...rest]) || (name === "*" && takes(items, rest)))) return true;
  return typeof any === "object" && takes(any, rest);
}

/** Sections whose name is neither a request field nor a field in the code, so a word that begins with it is a configuration key. */
const sections = [
  "alignment",
  "search",
  "internal_models",
  "fusion",
  "sandbox",
  "mcp",
  "fetch",
  "compat",
  "console",
  "alerts",
  "exports",
]
  .concat([
    "capture",
    "limits",
    "end_users",
    "cors",
    "data_policy",
    "file_search",
    "auto_router",
    "model_aliases",
    "detectors",
  ])
  .join("|");
const key = new RegExp(String.raw`(?<![\w./-])(?:${sections})(?:\.(?:[a-z_0-9]+(?:-[a-z_0-9]+)*|\*))+(?![\w(/])`, "g");

/** Configuration keys named in a message; each begins with a section of the file. */
export const namedKeys = (text: string): readonly string[] => text.match(key) ?? [];
