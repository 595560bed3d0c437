/**
 * The model family of a Bedrock model id, for fields defined by each family and not by Converse. An id is `vendor.model` after an
 * optional region, or the last part of an ARN (https://docs.aws.amazon.com/bedrock/latest/userguide/models-supported.html). Application
 * inference profiles and provisioned models do not show their family.
 */
export type Family = "anthropic" | "nova" | "openai" | "mistral" | "other";

const families: readonly (readonly [RegExp, Family])[] = [
  [/(^|[./])anthropic\./, "anthropic"],
  [/(^|[./])amazon\.nova-/, "nova"],
  [/(^|[./])openai\./, "openai"],
  [/(^|[./])mistral\./, "mistral"],
];

export const findFamily = (modelId: string): Family => families.find(([name]) => name.test(modelId))?.[1] ?? "other";
