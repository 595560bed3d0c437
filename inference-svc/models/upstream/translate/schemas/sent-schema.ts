/** Writes the schemas of tools and answers for requests, with an entry in the receipt for each changed schema. */
import type { FunctionTool, SchemaFormat } from "../../../../turn/request.ts";
import type { OnDropped } from "../../dialect.ts";
import { Verbatim } from "../../json.ts";
import { parseExactly, writeExactly } from "./exact.ts";
import { type FittedSchema, fitSchema } from "./fit.ts";
import type { SchemaRules, VendorSchemas } from "./rules.ts";

export interface SentSchema {
  readonly schema: Verbatim;
  /** Whether calls or answers must follow the schema. */
  readonly strict: boolean;
}

/** Adapted schemas by tool and rules, cached because reading the answer needs the names in its request. */
const fitted = new WeakMap<FunctionTool, Map<SchemaRules, FittedSchema>>();

function fitTool(tool: FunctionTool, rules: SchemaRules): FittedSchema {
  let known = fitted.get(tool);
  if (known === undefined) fitted.set(tool, (known = new Map()));
  let found = known.get(rules);
  if (found === undefined) known.set(rules, (found = fitSchema(parseExactly(tool.parametersJson), rules)));
  return found;
}

/** The client's names of a tool's properties, by the names sent to the provider. */
export const renamedProperties = (tool: FunctionTool, vendor: VendorSchemas): ReadonlyMap<string, string> =>
  fitTool(tool, vendor.tools).renamed;

/** @param enforces whether the endpoint can make calls follow the tools' schemas */
export function sendTool(
  tool: FunctionTool,
  path: string,
  vendor: VendorSchemas,
  onDropped: OnDropped,
  enforces = true,
): SentSchema {
  const wantsStrict = tool.strict === true && enforces;
  let rules = wantsStrict ? vendor.strictTools : vendor.tools;
  let result = fitTool(tool, rules);
  const { unenforceable } = result;
  if (wantsStrict && unenforceable !== undefined) {
    rules = vendor.tools;
    result = fitTool(tool, rules);
    onDropped(`${path}.strict`, `repaired: sent as false, because ${unenforceable}, and ${vendor.strictTools.why}`);
  }
  report(result, `${path}.parameters`, rules, onDropped);
  return { schema: written(tool.parametersJson, result), strict: wantsStrict && unenforceable === undefined };
}

/** The schema of an answer. If the vendor cannot enforce it, but also takes schemas without enforcement, it is sent without. */
export function sendAnswerSchema(format: SchemaFormat, vendor: VendorSchemas, onDropped: OnDropped): SentSchema {
  const { answers, looseAnswers } = vendor;
  const wantsStrict = looseAnswers === undefined || format.strict === true;
  let rules = wantsStrict ? answers : looseAnswers;
  let result = fitSchema(parseExactly(format.schemaJson), rules);
  const { unenforceable } = result;
  const isLoose = wantsStrict && looseAnswers !== undefined && unenforceable !== undefined;
  if (isLoose) {
    result = fitSchema(parseExactly(format.schemaJson), (rules = looseAnswers));
    onDropped("text.format.strict", `repaired: sent as false, because ${unenforceable}, and ${answers.why}`);
  }
  report(result, "text.format.schema", rules, onDropped);
  return { schema: written(format.schemaJson, result), strict: wantsStrict && !isLoose };
}

function report({ changes }: FittedSchema, path: string, { why }: SchemaRules, onDropped: OnDropped): void {
  if (changes.length > 0) onDropped(path, `repaired: ${changes.join("; ")}, because ${why}`);
}

/** JSON of a schema; an unchanged one is sent byte for byte. */
function written(json: string, { schema, isSame, changes }: FittedSchema): Verbatim {
  if (isSame && json.trimStart().startsWith("{")) return new Verbatim(json);
  const sent = writeExactly(schema);
  // Most of the changed schemas only lack a type. Parsing and writing them would round large numbers.
  const rest = json.slice(json.indexOf("{") + 1);
  const isAdded = changes.length === 0 && writeExactly({ type: "object", ...parseExactly(json) }) === sent;
  return new Verbatim(isAdded && rest.trim() !== "}" && json !== "null" ? `{"type":"object",${rest}` : sent);
}
