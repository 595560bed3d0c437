/**
 * Folds the combinators at the root of a schema into the object itself: the properties of all branches are united, and
 * the description lists the possible sets.
 */
import { type JsonObject, isObject } from "../../json.ts";

const combinators = ["allOf", "anyOf", "oneOf"] as const;
/** Maximum number of references followed: they may lead to further ones, and to themselves. */
const maxHops = 8;
const maxDescribed = 400;

/** The root merged with the schema to which it refers; `root` itself without a usable reference. */
export function inlineRootReference(root: JsonObject): JsonObject {
  let found = root;
  for (let hop = 0; hop < maxHops && typeof found.$ref === "string"; hop++) {
    const target = findDefinition(root, found.$ref);
    if (target === undefined) return root;
    const { $ref: _, ...siblings } = found;
    found = { ...target, ...siblings };
  }
  return typeof found.$ref === "string" ? root : found;
}

function findDefinition(root: JsonObject, reference: string): JsonObject | undefined {
  const [, list = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? [];
  const definitions = root[list];
  const found = isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  return isObject(found) ? found : undefined;
}

/** @param root an object with or without combinators @returns an object that has none */
export function foldCombinators(root: JsonObject, depth = 0): JsonObject {
  let result = root;
  for (const keyword of combinators) {
    const { [keyword]: branches, ...rest } = result;
    if (!Object.hasOwn(result, keyword)) continue;
    result = Array.isArray(branches) ? united(rest, keyword, branches, depth) : rest;
  }
  return result;
}

function united(root: JsonObject, keyword: string, branches: readonly unknown[], depth: number): JsonObject {
  if (depth > maxHops) return root;
  const admitted = branches
    .filter(isObject)
    .map((branch) => foldCombinators(inlineRootReference({ ...definitionsOf(root), ...branch }), depth + 1))
    // The root is an object, so a branch for any other type never matches.
    .filter(({ type }) => type === undefined || type === "object" || (Array.isArray(type) && type.includes("object")));
  if (admitted.length === 0) return root;
  const all = keyword === "allOf";
  const required = admitted.map((branch) => names(branch.required));
  const common = all
    ? required.flat()
    : (required[0] ?? []).filter((name) => required.every((each) => each.includes(name)));
  const needed = [...new Set([...names(root.required), ...common])];
  const properties = unitedProperties(root, admitted, all);
  const closed = !all && root.additionalProperties === undefined && admitted.every(isClosed);
  const choiceText = all ? undefined : choices(required, needed);
  return {
    ...root,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...((needed.length > 0 || root.required !== undefined) && { required: needed }),
    ...(closed && { additionalProperties: false }),
    ...(choiceText !== undefined && { description: appendSentence(root.description, choiceText) }),
  };
}

const definitionsOf = ({ $defs, definitions }: JsonObject): JsonObject => ({
  ...($defs !== undefined && { $defs }),
  ...(definitions !== undefined && { definitions }),
});

const isClosed = ({ additionalProperties }: JsonObject): boolean => additionalProperties === false;

const names = (required: unknown): readonly string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];

/** The properties of all branches. The root's own schema of a property applies in every branch; with `allOf`, a branch adds to it. */
function unitedProperties(root: JsonObject, branches: readonly JsonObject[], all: boolean): JsonObject {
  const found = new Map<string, unknown[]>();
  const own = isObject(root.properties) ? root.properties : {};
  for (const { properties } of branches)
    for (const [name, schema] of Object.entries(isObject(properties) ? properties : {})) {
      const known = found.get(name) ?? [];
      if (!known.some((each) => JSON.stringify(each) === JSON.stringify(schema))) known.push(schema);
      found.set(name, known);
    }
  const united = [...found].map(([name, schemas]): [string, unknown] => {
    const mine = own[name];
    if (all) return [name, Object.assign({}, ...[mine, ...schemas].filter(isObject))];
    return [name, mine !== undefined && mine !== true ? mine : schemas.length === 1 ? schemas[0] : { anyOf: schemas }];
  });
  return { ...own, ...Object.fromEntries(united) };
}

/** A sentence for the model with the alternative sets of properties in the branches. @returns undefined without alternatives */
function choices(required: readonly (readonly string[])[], needed: readonly string[]): string | undefined {
  const sets = [...new Set(required.map((each) => each.filter((name) => !needed.includes(name)).join(", ")))];
  if (sets.length < 2 || sets.includes("")) return undefined;
  const sentence = `Needs one of these: ${sets.map((set) => `(${set})`).join(" or ")}.`;
  return sentence.length > maxDescribed ? undefined : sentence;
}

/** @returns the description with the sentence at its end */
export const appendSentence = (description: unknown, sentence: string): string =>
  typeof description === "string" && description !== "" ? `${description}\n\n${sentence}` : sentence;
