/** Finds the `format` of a provider's encrypted reasoning by the provider's host. */

type Format = (upstreamModel: string) => string;

const always =
  (format: string): Format =>
  () =>
    format;

/** Hosts by vendor, each with the format. Regional hosts of a vendor share its encryption keys. */
const hosts: readonly (readonly [RegExp, Format])[] = [
  [/(^|\.)api\.openai\.com$/, always("openai-responses-v1")],
  [/\.(openai|cognitiveservices|services\.ai)\.azure\.com$/, always("azure-openai-responses-v1")],
  [/(^|\.)api\.x\.ai$/, always("xai-responses-v1")],
  [/(^|\.)api\.anthropic\.com$/, always("anthropic-claude-v1")],
  [/(^|\.)generativelanguage\.googleapis\.com$/, always("google-gemini-v1")],
  // Bedrock hosts several vendors. Its model ids begin with the vendor, after an optional region.
  [
    /^bedrock[\w-]*\.[\w-]+\.(amazonaws\.com|api\.aws)$/,
    (model) => (/(^|\.)xai\./.test(model) ? "bedrock-xai-responses-v1" : "bedrock-openai-responses-v1"),
  ],
];

/** @returns the format by model; undefined for unknown servers, whose items have the format "unknown" */
export const findReasoningFormat = (hostname: string): Format | undefined =>
  hosts.find(([host]) => host.test(hostname))?.[1];
