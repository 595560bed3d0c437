/**
 * Rules for schemas of vendors that use OpenAI's formats and check schemas in their own way. Servers of unknown vendors
 * get schemas unchanged: they read them more leniently than any vendor here, or ignore them.
 */
import type { Target } from "../../dialect.ts";
import {
  type SchemaRules,
  type VendorSchemas,
  combinators,
  arrayKeywords,
  openaiSchemas,
  rareObjectKeywords,
} from "./rules.ts";

/**
 * Mistral's rules. It checks schemas of tools against a metaschema ("Invalid tool schema: ... is not valid under any of
 * the given schemas": a flag as `exclusiveMinimum`, SylphxAI/pdf-reader-mcp issue 63; UKGovernmentBEIS/inspect_ai pull
 * request 1562), and builds a grammar that knows neither `$id` nor `$schema` ("failed to compile JSON schema",
 * BerriAI/litellm pull request 13389).
 */
const mistral: SchemaRules = {
  why: "the vendor takes valid schemas without $id and $schema",
  valid: true,
  leftOut: ["$id", "$schema"],
};
const mistralTools: SchemaRules = { ...mistral, atRoot: [] };
const mistralSchemas: VendorSchemas = { tools: mistralTools, strictTools: mistralTools, answers: mistral };

/**
 * Groq's rules: "'required' present but 'properties' is missing" (usestrix/strix issues 1088 and 1204), whatever
 * `strict` says. Enforced schemas are closed, with all properties required
 * (https://console.groq.com/docs/structured-outputs; "additionalProperties:false must be set on every object",
 * eigent-ai/eigent pull request 1786), have no combinators at the root (langchain-ai/langchainjs pull request 9923),
 * and no bounds of lists ("minItems is not supported", i-am-bee/beeai-framework issue 1215).
 */
const groqLoose: SchemaRules = {
  why: "the vendor takes required properties only if they are listed",
  listsRequired: true,
};
const groqTools: SchemaRules = { ...groqLoose, atRoot: [] };
const beyondGroq: ReadonlySet<string> = new Set([...arrayKeywords, "minItems", ...rareObjectKeywords]);
const groqStrict: SchemaRules = {
  why: "the vendor enforces only a part of JSON Schema",
  atRoot: [...combinators, "enum", "not"],
  needsProperties: true,
  listsRequired: true,
  closed: true,
  allRequired: true,
  anyForOne: true,
  describes: (keyword) => beyondGroq.has(keyword),
};
const groqSchemas: VendorSchemas = {
  tools: groqTools,
  strictTools: groqStrict,
  answers: groqStrict,
  looseAnswers: groqLoose,
};

/**
 * DeepSeek's rules: "schema must be a JSON Schema of 'type: \"object\"', got 'type: null'" (Kilo-Org/kilocode issue
 * 12237, farion1231/cc-switch issue 5048). The beta address enforces `strict`, the other one ignores it: closed
 * objects, all properties required, `anyOf` as the only combinator, no bounds of texts and lists
 * (https://api-docs.deepseek.com/guides/tool_calls); a type in every schema and few formats (the strict tools of
 * rig-core 0.46).
 */
const deepseekTools: SchemaRules = { why: "the vendor takes an object with properties", atRoot: [] };
const deepseekFormats = ["email", "hostname", "ipv4", "ipv6", "uuid"];
const beyondDeepseek: ReadonlySet<string> = new Set([
  "minLength",
  "maxLength",
  "minItems",
  ...arrayKeywords,
  ...rareObjectKeywords,
]);
const deepseekStrict: SchemaRules = {
  why: "the vendor enforces only a part of JSON Schema",
  atRoot: combinators,
  needsProperties: true,
  closed: true,
  allRequired: true,
  anyForOne: true,
  typed: true,
  describes: (keyword, value) =>
    beyondDeepseek.has(keyword) || (keyword === "format" && !deepseekFormats.includes(String(value))),
};
/** DeepSeek has no `json_schema`; a server under its name that has it gets schemas unchanged. */
const deepseekSchemas: VendorSchemas = {
  tools: deepseekTools,
  strictTools: deepseekStrict,
  answers: { why: "the vendor enforces no schema" },
};

/**
 * xAI's rules, for tools, which are always strict, and for answers: no circular references, and `additionalProperties`
 * is false unless the schema sets it (https://docs.x.ai/developers/model-capabilities/text/structured-outputs). Other
 * keywords are enforced or ignored.
 */
const xaiAnswers: SchemaRules = {
  why: "the vendor takes no circular references, and reads objects as closed",
  acyclic: true,
  opensMaps: true,
};
const xaiTools: SchemaRules = { ...xaiAnswers, atRoot: [] };
const xaiSchemas: VendorSchemas = { tools: xaiTools, strictTools: xaiTools, answers: xaiAnswers };

/**
 * Keywords that Moonshot refuses: "not a valid moonshot flavored json schema": "references must start with #/$defs/"
 * (code-yeongyu/oh-my-openagent issue 3564), "when using $ref, type should be defined in the referenced schema"
 * (openai/codex issue 41233), "when using anyOf, type should be defined in anyOf items" (abhigyanpatwari/GitNexus issue
 * 2703), "Conflict in schema definitions for key 'if'" (anomalyco/opencode issue 31580).
 */
const beyondMoonshot: ReadonlySet<string> = new Set(rareObjectKeywords);
const moonshotAnswers: SchemaRules = {
  why: "the vendor takes a part of JSON Schema, with references to $defs of the root",
  valid: true,
  ownDefinitions: true,
  bareReferences: true,
  anyForOne: true,
  typedBranches: true,
  describes: (keyword) => beyondMoonshot.has(keyword),
};
const moonshotTools: SchemaRules = { ...moonshotAnswers, atRoot: combinators };
const moonshotSchemas: VendorSchemas = { tools: moonshotTools, strictTools: moonshotTools, answers: moonshotAnswers };

/** Rules by the vendor's name in the catalogue. */
const rows: Readonly<Record<string, VendorSchemas>> = {
  mistral: mistralSchemas,
  groq: groqSchemas,
  deepseek: deepseekSchemas,
  xai: xaiSchemas,
  moonshotai: moonshotSchemas,
};

/** @returns the rules for a server of OpenAI's formats; undefined if schemas are sent unchanged */
export function compatibleSchemas({
  original,
  vendor = "",
}: Pick<Target, "original" | "vendor">): VendorSchemas | undefined {
  if (original) return openaiSchemas;
  return Object.hasOwn(rows, vendor) ? rows[vendor] : undefined;
}
