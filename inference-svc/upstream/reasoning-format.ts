/** Whose sealed reasoning a provider can read, by where it is. */

type Format = (upstreamModel: string) => string;

const always =
  (format: string): Format =>
  () =>
    format;

/** Regional hosts of a vendor share its keys. */
const hosts: readonly (readonly [RegExp, Format])[] = [
  [/(^|\.)api\.openai\.com$/, always("openai-responses-v1")],
  [/\.(openai|cognitiveservices|services\.ai)\.azure\.com$/, always("azure-openai-responses-v1")],
  [/(^|\.)api\.x\.ai$/, always("xai-responses-v1")],
  [/(^|\.)api\.anthropic\.com$/, always("anthropic-claude-v1")],
  [/(^|\.)generativelanguage\.googleapis\.com$/, always("google-gemini-v1")],
  // One host, several vendors: ids of models begin with the vendor, after an optional region.
  [
    /^bedrock[\w-]*\.[\w-]+\.(amazonaws\.com|api\.aws)$/,
    (model) => (/(^|\.)xai\./.test(model) ? "bedrock-xai-responses-v1" : "bedrock-openai-responses-v1"),
  ],
];

/** @returns by model, the `format` that reasoning items name; undefined for servers that nobody knows, whose items say "unknown" */
export const reasoningFormatOf = (hostname: string): Format | undefined =>
  hosts.find(([host]) => host.test(hostname))?.[1];
