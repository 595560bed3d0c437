/**
 * Whose model an id names: what a format for all of them leaves to each is said by this. An id is `vendor.model`, after an optional region,
 * or the last part of an ARN (https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html). Profiles of one's own and
 * provisioned models do not tell.
 */
export type Family = "anthropic" | "nova" | "openai" | "mistral" | "other";

const families: readonly (readonly [RegExp, Family])[] = [
  [/(^|[./])anthropic\./, "anthropic"],
  [/(^|[./])amazon\.nova-/, "nova"],
  [/(^|[./])openai\./, "openai"],
  [/(^|[./])mistral\./, "mistral"],
];

export const familyOf = (modelId: string): Family => families.find(([name]) => name.test(modelId))?.[1] ?? "other";
