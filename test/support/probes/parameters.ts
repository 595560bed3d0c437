/** A value for each parameter of the contract. The compiler rejects a list without one of them. */
import { type ParameterName, type ParameterValue, parameterList } from "@sluice/proto/contract/request/parameters.js";

/** Values by name at POST /responses, which are the same in a body and in a checked request. */
export const parameterValues: { readonly [Name in ParameterName]: ParameterValue<Name> } = {
  max_output_tokens: 99,
  temperature: 0.5,
  top_p: 0.25,
  top_k: 3,
  min_p: 0.125,
  top_a: 0.375,
  repetition_penalty: 1.25,
  frequency_penalty: 0.75,
  presence_penalty: 0.875,
  top_logprobs: 2,
  stop: ["END"],
  seed: 7,
  logit_bias: { "5": 1 },
};

/** One checked request for each parameter, by its name. */
export const parameterRequests = Object.fromEntries(
  parameterList.map(({ name, field }) => [name, { [field]: parameterValues[name] }]),
);
