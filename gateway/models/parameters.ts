/** Names of settings in public model lists, which are older than the names in the Responses format. */

const names: Readonly<Record<string, readonly string[]>> = {
  max_output_tokens: ["max_tokens", "max_completion_tokens"],
  temperature: ["temperature"],
  top_p: ["top_p"],
  top_k: ["top_k"],
  frequency_penalty: ["frequency_penalty"],
  presence_penalty: ["presence_penalty"],
  top_logprobs: ["logprobs", "top_logprobs"],
  reasoning: ["reasoning", "include_reasoning", "reasoning_effort"],
  tools: ["tools"],
  tool_choice: ["tool_choice"],
  parallel_tool_calls: ["parallel_tool_calls"],
  structured_outputs: ["structured_outputs", "response_format"],
  response_format: ["response_format"],
  verbosity: ["verbosity"],
  stop: ["stop"],
  seed: ["seed"],
  logit_bias: ["logit_bias"],
  prediction: ["prediction"],
};

const all = [...new Set(Object.values(names).flat())];

/** @param unknown that the parameters are not declared, so all are sent. Names that only the configuration file has are left out. */
export const toPublicParameters = (supported: readonly string[], unknown: boolean): readonly string[] =>
  unknown ? all : [...new Set(supported.flatMap((name) => (Object.hasOwn(names, name) ? names[name]! : [])))];
