/**
 * Reasons for a vendor's 400 in the schemas of tools and answers, as checks. Sources: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 * and .../tool-use, https://platform.openai.com/docs/guides/structured-outputs#supported-schemas, the reference of `responseJsonSchema`
 * (https://ai.google.dev/api/generate-content), and error texts in public reports.
 */
import { type BodyPart, isBodyPart, bodyPartsOf } from "./violations.ts";

type Report = (path: string, problem: string) => void;

const rootCombinators = ["anyOf", "oneOf", "allOf"];
const propertyName = /^[a-zA-Z0-9_.-]{1,64}$/;
const types = ["object", "array", "string", "number", "integer", "boolean", "null"];
const bounds = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
];
const logic = [
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "propertyNames",
];

/** Calls `check` for a schema and for each schema in it. */
function visit(schema: unknown, path: string, check: (node: BodyPart, path: string) => void): void {
  if (!isBodyPart(schema)) return;
  check(schema, path);
  for (const keyword of ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"]) {
    const named = schema[keyword];
    if (isBodyPart(named))
      for (const [name, each] of Object.entries(named)) visit(each, `${path}.${keyword}.${name}`, check);
  }
  for (const keyword of ["anyOf", "oneOf", "allOf", "prefixItems"])
    for (const [index, each] of bodyPartsOf(schema[keyword]).entries())
      visit(each, `${path}.${keyword}.${index}`, check);
  for (const keyword of ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"])
    visit(schema[keyword], `${path}.${keyword}`, check);
}

const isObjectType = ({ type }: BodyPart): boolean =>
  type === "object" || (Array.isArray(type) && type.includes("object"));

/** Rules for the schema of a tool at Anthropic and Bedrock, strict or not. */
export function checkClaudeTool(schema: BodyPart, path: string, report: Report): void {
  if (schema.type !== "object") report(`${path}.type`, "is not object");
  for (const keyword of rootCombinators) if (keyword in schema) report(path, `has ${keyword} at its root`);
  for (const name of Object.keys(isBodyPart(schema.properties) ? schema.properties : {}))
    if (!propertyName.test(name)) report(`${path}.properties`, `has ${name}`);
  visit(schema, path, (node, at) => checkDraft(node, at, report));
}

/** "JSON schema is invalid. It must match JSON Schema draft 2020-12". */
function checkDraft(
  { type, required, items, minimum, exclusiveMinimum, maximum, exclusiveMaximum }: BodyPart,
  path: string,
  report: Report,
): void {
  const named: readonly unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type];
  if (type === null || named.some((each) => !types.includes(String(each))))
    report(path, `has the type ${String(type)}`);
  if (required !== undefined && !Array.isArray(required)) report(path, "has required, but no list");
  if (Array.isArray(required) && new Set(required).size < required.length) report(path, "requires a property twice");
  if (Array.isArray(items)) report(path, "has a list of items");
  for (const bound of [minimum, exclusiveMinimum, maximum, exclusiveMaximum])
    if (bound !== undefined && typeof bound !== "number") report(path, "has a bound that is no number");
}

/** Rules for the schema of an answer or a strict call, at Anthropic and Bedrock. */
export function checkClaudeStrict(schema: unknown, path: string, report: Report): void {
  if (isBodyPart(schema) && containsItself(schema)) report(path, "is recursive");
  visit(schema, path, (node, at) => {
    checkDraft(node, at, report);
    for (const keyword of [...bounds, ...logic, "oneOf"]) if (keyword in node) report(at, `has ${keyword}`);
    if (node.minItems !== undefined && node.minItems !== 0 && node.minItems !== 1) report(at, "has minItems above 1");
    if (isObjectType(node) && node.additionalProperties !== false) report(at, "has no additionalProperties: false");
    if (/\(\?[=!<]|\\[1-9b]/.test(typeof node.pattern === "string" ? node.pattern : ""))
      report(at, "has a pattern with look-around");
  });
}

/** Rules for the schema of a tool at OpenAI. */
export function checkOpenaiTool(schema: BodyPart, path: string, report: Report): void {
  if (schema.type !== "object") report(path, `schema must have type 'object', got ${String(schema.type)}`);
  for (const keyword of [...rootCombinators, "enum", "not"])
    if (keyword in schema) report(path, `has ${keyword} at the top level`);
  if (!isBodyPart(schema.properties)) report(path, "object schema missing properties");
}

/** Rules for the schema of an answer or a strict call at OpenAI. */
export function checkOpenaiStrict(schema: BodyPart, path: string, report: Report): void {
  if (schema.type !== "object") report(path, "is no object at its root");
  checkOpenaiLimits(schema, path, report);
  for (const keyword of rootCombinators) if (keyword in schema) report(path, `has ${keyword} at the top level`);
  visit(schema, path, (node, at) => {
    for (const keyword of [...logic, "oneOf", "uniqueItems"])
      if (keyword in node) report(at, `'${keyword}' is not permitted`);
    if (!isObjectType(node)) return;
    if (node.additionalProperties !== false)
      report(at, "'additionalProperties' is required to be supplied and to be false");
    const required: readonly unknown[] = Array.isArray(node.required) ? node.required : [];
    const missing = Object.keys(isBodyPart(node.properties) ? node.properties : {}).filter(
      (name) => !required.includes(name),
    );
    if (missing.length > 0) report(at, `'required' must include ${missing.join(", ")}`);
  });
}

/** "A schema may have up to 5000 object properties total, with up to 10 levels of nesting", and 1,000 values of enums. */
function checkOpenaiLimits(schema: BodyPart, path: string, report: Report): void {
  let [named, values] = [0, 0];
  visit(schema, path, (node, at) => {
    named += Object.keys(isBodyPart(node.properties) ? node.properties : {}).length;
    values += Array.isArray(node.enum) ? node.enum.length : 0;
    if (at.split(/\.(?:properties|items)\b/).length > 11) report(at, "is nested too deeply");
  });
  if (named > 5_000 || values > 1_000) report(path, "has too many properties or values");
}

/** Whether a reference leads to a schema that contains it. */
function containsItself(root: BodyPart): boolean {
  const leads = (node: unknown, around: readonly unknown[]): boolean => {
    if (Array.isArray(node)) return node.some((each) => leads(each, around));
    if (!isBodyPart(node)) return false;
    if (around.includes(node)) return true;
    const inside = [...around, node];
    const target = typeof node.$ref === "string" ? pointed(root, node.$ref) : undefined;
    if (target !== undefined && leads(target, inside)) return true;
    return Object.entries(node).some(([keyword, value]) => !values.includes(keyword) && leads(value, inside));
  };
  return leads(root, []);
}

const values = ["enum", "const", "default", "example", "examples", "required"];

const pointed = (root: BodyPart, reference: string): unknown =>
  reference
    .split("/")
    .slice(1)
    .reduce<unknown>((found, step) => (isBodyPart(found) ? found[step] : undefined), root);

const checkObject = (schema: BodyPart, path: string, report: Report): void => {
  if (schema.type !== "object") report(path, `must be of type "object", got ${JSON.stringify(schema.type ?? null)}`);
};

/** Mistral: "Invalid tool schema: ... is not valid under any of the given schemas", "failed to compile JSON schema". */
export function checkMistral(schema: BodyPart, path: string, report: Report): void {
  visit(schema, path, (node, at) => {
    checkDraft(node, at, report);
    for (const keyword of ["$id", "$schema"]) if (keyword in node) report(at, `has ${keyword}`);
    if (node.description !== undefined && typeof node.description !== "string")
      report(at, "has a description of no text");
  });
}

export function checkMistralTool(schema: BodyPart, path: string, report: Report): void {
  checkObject(schema, path, report);
  checkMistral(schema, path, report);
}

/** Groq: "'required' present but 'properties' is missing". */
export function checkGroq(schema: BodyPart, path: string, report: Report): void {
  visit(schema, path, (node, at) => {
    if (Array.isArray(node.required) && !isBodyPart(node.properties))
      report(at, "'required' present but 'properties' is missing");
  });
}

export function checkGroqTool(schema: BodyPart, path: string, report: Report): void {
  checkObject(schema, path, report);
  checkGroq(schema, path, report);
}

/** Groq: "additionalProperties:false must be set on every object", "minItems is not supported". */
export function checkGroqStrict(schema: BodyPart, path: string, report: Report): void {
  checkGroqTool(schema, path, report);
  checkClosed(schema, path, report);
  for (const keyword of rootCombinators) if (keyword in schema) report(path, `has ${keyword} at its root`);
  visit(schema, path, (node, at) => {
    for (const keyword of ["minItems", "maxItems", "uniqueItems", ...logic])
      if (keyword in node) report(at, `${keyword} is not supported`);
  });
}

/** Rules that all vendors with `strict` have: objects are closed, and all of their properties are required. */
function checkClosed(schema: BodyPart, path: string, report: Report): void {
  visit(schema, path, (node, at) => {
    if (!isObjectType(node)) return;
    if (node.additionalProperties !== false) report(at, "has no additionalProperties: false");
    const required: readonly unknown[] = Array.isArray(node.required) ? node.required : [];
    for (const name of Object.keys(isBodyPart(node.properties) ? node.properties : {}))
      if (!required.includes(name)) report(at, `does not require ${name}`);
  });
}

/** DeepSeek: "schema must be a JSON Schema of 'type: \"object\"', got 'type: null'". */
export const checkDeepseekTool = checkObject;

/** Rules of strict mode in DeepSeek's guide to tool calls. */
export function checkDeepseekStrict(schema: BodyPart, path: string, report: Report): void {
  checkObject(schema, path, report);
  checkClosed(schema, path, report);
  for (const keyword of rootCombinators) if (keyword in schema) report(path, `has ${keyword} at its root`);
  visit(schema, path, (node, at) => {
    for (const keyword of ["minLength", "maxLength", "minItems", "maxItems", "oneOf", ...logic])
      if (keyword in node) report(at, `${keyword} is not supported`);
    const known: readonly unknown[] = [undefined, "email", "hostname", "ipv4", "ipv6", "uuid"];
    if (!known.includes(node.format)) report(at, "has an unknown format");
  });
}

/** xAI: "non-circular references only". xAI reads an object without properties as an empty object, which is no error, but another schema. */
export function checkXai(schema: BodyPart, path: string, report: Report): void {
  if (containsItself(schema)) report(path, "has a circular reference");
  visit(schema, path, (node, at) => {
    const named = ["properties", "additionalProperties", "$ref", ...rootCombinators, "enum", "const"];
    if (isObjectType(node) && !named.some((keyword) => keyword in node)) report(at, "is read as an empty object");
  });
}

export function checkXaiTool(schema: BodyPart, path: string, report: Report): void {
  checkObject(schema, path, report);
  checkXai(schema, path, report);
}

/** Moonshot: "tools.function.parameters is not a valid moonshot flavored json schema, details: ...". */
export function checkMoonshot(schema: BodyPart, path: string, report: Report): void {
  visit(schema, path, (node, at) => {
    checkDraft(node, at, report);
    for (const keyword of ["oneOf", ...logic]) if (keyword in node) report(at, `has ${keyword}`);
    if (Array.isArray(node.anyOf) && node.type !== undefined)
      report(at, "when using anyOf, type should be defined in anyOf items instead of the parent schema");
    if (typeof node.$ref !== "string") return;
    if (!node.$ref.startsWith("#/$defs/")) report(at, "references must start with #/$defs/");
    if (pointed(schema, node.$ref) === undefined) report(at, `$defs not found for reference: ${node.$ref}`);
    if (Object.keys(node).some((keyword) => !keyword.startsWith("$"))) report(at, "has keywords beside $ref");
  });
}

export function checkMoonshotTool(schema: BodyPart, path: string, report: Report): void {
  checkObject(schema, path, report);
  for (const keyword of rootCombinators) if (keyword in schema) report(path, `has ${keyword} at its root`);
  checkMoonshot(schema, path, report);
}

/** Rules for any schema at Google: a reference must have no sibling keywords. */
export function checkGemini(schema: BodyPart, path: string, report: Report): void {
  visit(schema, path, (node, at) => {
    if (typeof node.$ref === "string" && Object.keys(node).some((keyword) => !keyword.startsWith("$")))
      report(at, "has keywords beside $ref");
  });
}

export function checkGeminiTool(schema: BodyPart, path: string, report: Report): void {
  if (schema.type !== "object") report(path, "is no object");
  for (const keyword of rootCombinators) if (keyword in schema) report(path, `has ${keyword} at its root`);
  checkGemini(schema, path, report);
}
