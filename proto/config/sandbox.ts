/**
 * `sandbox`: the service that runs commands and code for server tools. Without the section, no sandbox is available.
 */
import { z } from "zod";
import { callPricing } from "./scalars.ts";

export const sandbox = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/ })
    .describe("Base URL of an adapter that follows docs/tools/sandbox.md, without /v1/runs."),
  api_key: z.string().min(1).describe("Sent to the adapter as a bearer token."),
  pricing: callPricing("run").optional(),
});

export type SandboxSettings = z.infer<typeof sandbox>;
