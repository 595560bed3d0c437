/** Adapts a schema to the rules of a vendor. A schema that follows the rules stays unchanged. */
import { type JsonObject, isObject } from "../../json.ts";
import { foldCombinators, appendSentence, inlineRootReference } from "./fold.ts";
import { writeExactly } from "./exact.ts";
import { FreeNames } from "./free-names.ts";
import type { SchemaRules } from "./rules.ts";
import { cutCycles, findCycles } from "./cycles.ts";
import { gatherDefinitions, moveTypeIntoBranches } from "./definitions.ts";
import { toDraft2020 } from "./draft.ts";
import { findUnenforceable, isTyped } from "./unenforceable.ts";
import { mapSchemas } from "./walk.ts";

export interface FittedSchema {
  readonly schema: JsonObject;
  /** Whether the schema is sent unchanged. */
  readonly isSame: boolean;
  /** Changes made, as words after "repaired: " in the receipt. */
  readonly changes: readonly string[];
  /** Why the vendor cannot enforce the schema; undefined if it can. */
  readonly unenforceable: string | undefined;
  /** The client's names of the root's properties, by the names sent. */
  readonly renamed: ReadonlyMap<string, string>;
}

const notRenamed: ReadonlyMap<string, string> = new Map();
const noCycles: ReadonlySet<JsonObject> = new Set();

export function fitSchema(given: JsonObject, rules: SchemaRules): FittedSchema {
  const changes = new Set<string>();
  let schema = rules.valid ? mapSchemas(given, (node) => toDraft2020(node, changes)) : given;
  if (rules.leftOut) schema = mapSchemas(schema, (node) => withoutKeywords(node, rules.leftOut!, changes));
  if (rules.ownDefinitions) schema = gatherDefinitions(schema, changes);
  const circular = rules.acyclic ? findCycles(schema) : noCycles;
  if (circular.size > 0) {
    schema = cutCycles(schema, circular);
    changes.add("references of the schema to itself are left out");
  }
  if (rules.atRoot) schema = fitRoot(schema, rules, rules.atRoot, changes);
  const renamed = rules.propertyName ? findRenamed(schema, rules.propertyName) : notRenamed;
  if (renamed.size > 0) {
    schema = rename(schema, new Map([...renamed].map(([sent, own]) => [own, sent])));
    changes.add("properties are sent under names of letters, digits, _, . and -");
  }
  const described = new Set<string>();
  const fitted = mapSchemas(schema, (node) => fitNode(node, rules, changes, described));
  if (described.size > 0) changes.add(`${[...described].join(", ")} are told in descriptions`);
  const unenforceable = circular.size > 0 ? "it contains itself" : findUnenforceable(schema, rules);
  return { schema: fitted, isSame: fitted === given, changes: [...changes], unenforceable, renamed };
}

function fitRoot(given: JsonObject, rules: SchemaRules, refused: readonly string[], changes: Set<string>): JsonObject {
  let root = typeof given.$ref === "string" ? inlineRootReference(given) : given;
  if (root !== given) changes.add("the schema that the root refers to stands at the root");
  if (typeof root.$ref === "string") {
    const { $ref: _, ...rest } = root;
    root = rest;
    changes.add("a reference of the root that leads nowhere is left out");
  }
  const present = refused.filter((keyword) => Object.hasOwn(root, keyword));
  if (present.length > 0) {
    root = Object.fromEntries(Object.entries(foldCombinators(root)).filter(([keyword]) => !refused.includes(keyword)));
    changes.add(
      `${present.join(", ")} of the root ${isCombined(present) ? "is folded into its properties" : "is left out"}`,
    );
  }
  if (root.type !== "object") {
    const { type, ...rest } = root;
    root = { type: "object", ...rest };
    // A missing type is not reported, because it can only mean an object.
    if (type !== undefined) changes.add("the root is sent as an object");
  }
  if (rules.needsProperties && !isObject(root.properties)) root = { ...root, properties: {} };
  return root;
}

const isCombined = (keywords: readonly string[]): boolean => keywords.some((keyword) => keyword.endsWith("Of"));

/** @returns the client's names, by the names in the sent schema */
function findRenamed({ properties }: JsonObject, form: RegExp): ReadonlyMap<string, string> {
  if (!isObject(properties)) return notRenamed;
  const own = Object.keys(properties);
  const wrong = own.filter((name) => !form.test(name));
  if (wrong.length === 0) return notRenamed;
  const names = new FreeNames(own);
  return new Map(wrong.map((name) => [names.take(name), name]));
}

function rename(schema: JsonObject, sent: ReadonlyMap<string, string>): JsonObject {
  const { properties, required } = schema;
  const nameOf = (name: unknown): unknown => sent.get(String(name)) ?? name;
  const entries = Object.entries(isObject(properties) ? properties : {});
  return {
    ...schema,
    properties: Object.fromEntries(entries.map(([name, value]) => [String(nameOf(name)), value])),
    ...(Array.isArray(required) && { required: required.map(nameOf) }),
  };
}

function fitNode(node: JsonObject, rules: SchemaRules, changes: Set<string>, described: Set<string>): JsonObject {
  let fitted = node;
  if (rules.bareReferences && typeof node.$ref === "string") fitted = bareReference(node, changes);
  if (rules.anyForOne && Array.isArray(fitted.oneOf)) {
    const { oneOf, anyOf, ...rest } = fitted;
    fitted = { ...rest, anyOf: anyOf ?? oneOf };
    changes.add(anyOf === undefined ? "oneOf is sent as anyOf" : "oneOf beside anyOf is left out");
  }
  if (rules.typedBranches) fitted = moveTypeIntoBranches(fitted, changes);
  if (rules.describes) fitted = withDescription(fitted, rules.describes, described);
  if (rules.listsRequired) fitted = withListed(fitted, changes);
  if (rules.opensMaps && isMap(fitted)) {
    fitted = { ...fitted, additionalProperties: true };
    changes.add("objects with any properties are sent with additionalProperties: true");
  }
  if (rules.closed && isTyped(fitted, "object") && fitted.additionalProperties !== false) {
    fitted = { ...fitted, additionalProperties: false };
    changes.add("objects are sent with additionalProperties: false");
  }
  return fitted;
}

/** Whether the schema allows properties of any name, because no keyword names one. */
const isMap = (node: JsonObject): boolean =>
  isTyped(node, "object") &&
  !["properties", "additionalProperties", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"].some((keyword) =>
    Object.hasOwn(node, keyword),
  );

function withoutKeywords(node: JsonObject, refused: readonly string[], changes: Set<string>): JsonObject {
  const entries = Object.entries(node).filter(([keyword]) => !refused.includes(keyword));
  if (entries.length === Object.keys(node).length) return node;
  changes.add(`${refused.join(" and ")} are left out`);
  return Object.fromEntries(entries);
}

/** Adds the required properties a schema does not list; each new entry allows any value, as before. */
function withListed(node: JsonObject, changes: Set<string>): JsonObject {
  const { required, properties } = node;
  if (!Array.isArray(required) || isObject(properties)) return node;
  changes.add("required properties are listed");
  return { ...node, properties: Object.fromEntries(required.map((name) => [String(name), {}])) };
}

function bareReference(node: JsonObject, changes: Set<string>): JsonObject {
  const entries = Object.entries(node).filter(([keyword]) => keyword.startsWith("$"));
  if (entries.length === Object.keys(node).length) return node;
  changes.add("keywords beside a $ref are left out");
  return Object.fromEntries(entries);
}

/**
 * Adds unsupported keywords to the description, in the form of the vendors' own SDKs: "The score
 *
 * {minimum: 1, maximum: 10}".
 */
function withDescription(
  node: JsonObject,
  isRefused: NonNullable<SchemaRules["describes"]>,
  described: Set<string>,
): JsonObject {
  const refused = Object.entries(node).filter(([keyword, value]) => isRefused(keyword, value));
  if (refused.length === 0) return node;
  for (const [keyword] of refused) described.add(keyword);
  const gone = new Set(refused.map(([keyword]) => keyword));
  const kept = Object.fromEntries(Object.entries(node).filter(([keyword]) => !gone.has(keyword)));
  const refusedText = refused.map(([keyword, value]) => `${keyword}: ${writeExactly(value)}`).join(", ");
  return { ...kept, description: appendSentence(node.description, `{${refusedText}}`) };
}
