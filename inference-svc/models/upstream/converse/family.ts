/**
 * Finds the model family of a Bedrock model id, for request fields that each family defines, and not Converse. An id is
 * `vendor.model` after an optional region, or the last part of an ARN
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html). Ids of application inference profiles
 * and provisioned models do not show the family.
 */
export type Family = "anthropic" | "nova" | "openai" | "mistral" | "other";

const families: readonly (readonly [RegExp, Family])[] = [
  [/(^|[./])anthropic\./, "anthropic"],
  [/(^|[./])amazon\.nova-/, "nova"],
  [/(^|[./])openai\./, "openai"],
  [/(^|[./])mistral\./, "mistral"],
];

export const findFamily = (modelId: string): Family => families.find(([name]) => name.test(modelId))?.[1] ?? "other";
