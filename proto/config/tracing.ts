/**
 * `tracing`: whether traces contain prompts and answers. The address of the collector is the variable
 * OTEL_EXPORTER_OTLP_ENDPOINT.
 */
import { z } from "zod";
import { maxContentBytes } from "../lib/tracing/span.ts";

export const tracing = z.strictObject({
  content: z
    .boolean()
    .default(false)
    .describe(
      "Whether prompts and answers of keys with `trace_content` are attributes of their traces, as redacted by guardrails.",
    ),
  max_bytes: z
    .int()
    .min(1_024)
    .max(maxContentBytes)
    .default(65_536)
    .describe(
      "Maximum bytes of the instructions, of the messages and of the answer in a trace, each; of longer messages the last are kept.",
    ),
});

export type TracingContent = z.infer<typeof tracing>;
