/** Tells which servers are OpenAI's own implementation, which answers 400 to unknown parameters. */
import type { Target } from "../dialect.ts";

const formats: ReadonlySet<unknown> = new Set([
  "openai-responses-v1",
  "azure-openai-responses-v1",
  "bedrock-openai-responses-v1",
]);

export const isVendor = (target: Target): boolean => target.original || formats.has(target.reasoningFormat);
