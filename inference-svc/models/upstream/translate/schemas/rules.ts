/**
 * Rules of each vendor for the schemas of tools and answers. A schema that follows the rules is sent byte for byte; any
 * other is changed as little as possible, and every change is named in the receipt.
 */
import { numberOf } from "./exact.ts";

/** The rules for one use of schemas, such as tools. */
export interface SchemaRules {
  /** End of the sentence "repaired: …, because …" in the receipt. */
  readonly why: string;
  /** Keywords that are not allowed at the root of a schema; the root must then be an object. Absent if any root is allowed. */
  readonly atRoot?: readonly string[];
  /** Whether the root must list its properties, even if it has none. */
  readonly needsProperties?: true;
  /** Matches allowed names of the root's properties. */
  readonly propertyName?: RegExp;
  /** Whether schemas must be valid by draft 2020-12; those of older drafts are converted. */
  readonly valid?: true;
  /** Whether every object must forbid other properties. */
  readonly closed?: true;
  /** Whether every property must be required. A schema with optional properties cannot be enforced. */
  readonly allRequired?: true;
  /** Whether keywords next to a reference are forbidden. */
  readonly bareReferences?: true;
  /** Whether references may only lead to `$defs` of the root. */
  readonly ownDefinitions?: true;
  /** Whether a type next to `anyOf` is refused. */
  readonly typedBranches?: true;
  /** Whether `oneOf` is sent as `anyOf`. */
  readonly anyForOne?: true;
  /** Keywords left out of every schema. */
  readonly leftOut?: readonly string[];
  /** Whether required properties must be listed in `properties`. */
  readonly listsRequired?: true;
  /** Whether an object without `properties` is taken for an empty one unless it has `additionalProperties`. */
  readonly opensMaps?: true;
  /** Whether a schema must not contain itself. */
  readonly acyclic?: true;
  /** Whether every schema needs a type, or a keyword that replaces it. A schema without a type cannot be enforced. */
  readonly typed?: true;
  /** Limits within which a schema can be enforced. */
  readonly limits?: SchemaLimits;
  /** Whether a keyword is not supported; its value is then written into the description of its schema, as the vendors' own SDKs do. */
  readonly describes?: (keyword: string, value: unknown) => boolean;
}

export interface SchemaLimits {
  /** Maximum levels of objects in objects, including the root. */
  readonly depth: number;
  /** Maximum number of properties of all objects together. */
  readonly properties: number;
  /** Maximum number of values of all enums together. */
  readonly enumValues: number;
}

/** The rules of a vendor. */
export interface VendorSchemas {
  readonly tools: SchemaRules;
  /** Rules for tools whose calls must follow their schemas. */
  readonly strictTools: SchemaRules;
  readonly answers: SchemaRules;
  /** Rules for answers that need not follow their schema; absent if the vendor enforces all. */
  readonly looseAnswers?: SchemaRules;
}

export const combinators = ["anyOf", "oneOf", "allOf"];
/** Keywords for objects the grammars of all vendors lack. */
export const rareObjectKeywords = [
  "minProperties",
  "maxProperties",
  "patternProperties",
  "propertyNames",
  "unevaluatedProperties",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "if",
  "then",
  "else",
  "not",
];
const bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"];
export const arrayKeywords = ["maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"];

const claudeFormats = ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];
const beyondClaude: ReadonlySet<string> = new Set([...bounds, ...arrayKeywords, ...rareObjectKeywords]);
/** Matches look-around, references to groups, and word boundaries in a pattern. */
const richPattern = /\(\?[=!<]|\\[1-9bBk]/;

/**
 * Whether Anthropic's grammar does not support a keyword: see
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs (JSON Schema limitations), and
 * `transform_schema` of Anthropic's own SDKs, which writes unsupported keywords into the description.
 */
function beyondClaudeGrammar(keyword: string, value: unknown): boolean {
  if (keyword === "format") return !claudeFormats.includes(String(value));
  if (keyword === "pattern") return typeof value !== "string" || richPattern.test(value);
  if (keyword === "minItems") return ![0, 1].includes(numberOf(value));
  return beyondClaude.has(keyword);
}

/**
 * Anthropic's rules for tools: "input_schema does not support oneOf, allOf, or anyOf at the top level", "JSON schema is
 * invalid. It must match JSON Schema draft 2020-12", and "Property keys should match pattern", checked only at the root
 * (anthropics/claude-code issue 5319, decocms/studio PR 6874,
 * aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws issue 709).
 */
const claudeTools: SchemaRules = {
  why: "the format takes an object without combinators at the root, by draft 2020-12",
  atRoot: combinators,
  propertyName: /^[a-zA-Z0-9_.-]{1,64}$/,
  valid: true,
};
const claudeAnswers: SchemaRules = {
  why: "the format enforces only a part of JSON Schema",
  valid: true,
  closed: true,
  anyForOne: true,
  acyclic: true,
  describes: beyondClaudeGrammar,
};

/** Rules for the Messages format. Every server is treated like Anthropic, because others read schemas as Anthropic does, or more leniently. */
export const messagesSchemas: VendorSchemas = {
  tools: claudeTools,
  strictTools: { ...claudeAnswers, ...claudeTools, why: claudeAnswers.why },
  answers: claudeAnswers,
};

/**
 * Rules for Converse. Bedrock passes schemas on to Claude, and enforces the same part of JSON Schema for every family
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html). Nova takes `type`, `properties` and
 * `required` at the root (https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html).
 */
export const converseSchemas: VendorSchemas = messagesSchemas;

/**
 * Google's rules: "If $ref is set on a sub-schema, no other properties, except for those starting as a $, may be set";
 * unsupported keywords are ignored (https://ai.google.dev/api/generate-content#FIELDS.response_json_schema). The
 * parameters of a function are an object.
 */
const geminiAnswers: SchemaRules = { why: "the format takes nothing beside a $ref", bareReferences: true };
const geminiTools: SchemaRules = {
  why: "the format takes an object without combinators at the root, and nothing beside a $ref",
  atRoot: combinators,
  bareReferences: true,
};
export const geminiSchemas: VendorSchemas = { tools: geminiTools, strictTools: geminiTools, answers: geminiAnswers };

/**
 * Keywords that Cohere does not support (https://docs.cohere.com/docs/structured-outputs, unsupported schema features).
 * The parameters of a tool are an object.
 */
const beyondCohere: ReadonlySet<string> = new Set([...bounds, ...arrayKeywords, ...rareObjectKeywords, "minItems"]);
const cohereAnswers: SchemaRules = {
  why: "the format enforces only a part of JSON Schema",
  anyForOne: true,
  describes: (keyword) => beyondCohere.has(keyword),
};
const cohereTools: SchemaRules = {
  why: "the format takes an object without combinators at the root",
  atRoot: combinators,
};
export const cohereSchemas: VendorSchemas = {
  tools: cohereTools,
  strictTools: { ...cohereAnswers, ...cohereTools, why: cohereAnswers.why },
  answers: cohereAnswers,
};

/**
 * OpenAI's rules for tools: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the
 * top level" (langchain-ai/langchainjs issue 9804), and "object schema missing properties" (openai/openai-agents-python
 * issue 449).
 */
const openaiTools: SchemaRules = {
  why: "the vendor takes an object without combinators at the root",
  atRoot: [...combinators, "enum", "not"],
  needsProperties: true,
};
/**
 * Keywords OpenAI does not support (https://platform.openai.com/docs/guides/structured-outputs#supported-schemas, and
 * "'oneOf' is not permitted"). `default` is supported.
 */
const beyondOpenai: ReadonlySet<string> = new Set([
  ...rareObjectKeywords,
  "uniqueItems",
  "contains",
  "minContains",
  "maxContains",
  "unevaluatedItems",
]);
const openaiStrict: SchemaRules = {
  why: "the vendor enforces only a part of JSON Schema",
  atRoot: openaiTools.atRoot!,
  closed: true,
  allRequired: true,
  anyForOne: true,
  limits: { depth: 10, properties: 5_000, enumValues: 1_000 },
  describes: (keyword) => beyondOpenai.has(keyword),
};
/** OpenAI's rules. The rules of other vendors with OpenAI's formats are in compatible-rules.ts; unknown servers get schemas unchanged. */
export const openaiSchemas: VendorSchemas = {
  tools: openaiTools,
  strictTools: { ...openaiStrict, needsProperties: true },
  answers: openaiStrict,
  looseAnswers: { ...openaiTools, atRoot: combinators },
};
