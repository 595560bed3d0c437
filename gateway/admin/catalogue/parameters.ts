/** Names of settings in public model lists, which are older than the Responses format. */
import { parameterList } from "@sluice/proto/contract/request/parameters.js";

const names: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(parameterList.map(({ name, chat, listed = chat }) => [name, listed])),
  reasoning: ["reasoning", "include_reasoning", "reasoning_effort"],
  tools: ["tools"],
  tool_choice: ["tool_choice"],
  parallel_tool_calls: ["parallel_tool_calls"],
  structured_outputs: ["structured_outputs", "response_format"],
  response_format: ["response_format"],
  verbosity: ["verbosity"],
  prediction: ["prediction"],
};

/** Parameters that few providers take: a model lists one only if it is declared for the model. */
const rare: ReadonlySet<string> = new Set(parameterList.flatMap(({ name, isRare }) => (isRare ? [name] : [])));

const all = [...new Set(Object.entries(names).flatMap(([name, listed]) => (rare.has(name) ? [] : listed)))];

/**
 * Parameters of a model by their public names, without parameters that only the configuration file names.  @param unknown whether the model declares
 * no parameters; Sluice then sends all, so all are listed
 */
export const toPublicParameters = (supported: readonly string[], unknown: boolean): readonly string[] =>
  unknown ? all : [...new Set(supported.flatMap((name) => (Object.hasOwn(names, name) ? names[name]! : [])))];
