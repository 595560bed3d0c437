/** `limits`: what one request, one key and one turn may take. */
import { z } from "zod";
import { mostConcurrentRequests, mostRequestsPerMinute, mostTokensPerMinute } from "../limits/settings.ts";

export const limits = z.strictObject({
  body_bytes: z.int().min(1).max(33_554_432).default(33_554_432).describe("Largest body of POST /responses."),
  streams_per_key: z
    .int()
    .min(1)
    .max(mostConcurrentRequests)
    .default(64)
    .describe("Turns that one key may have open at a time, unless it has a limit of its own; above it 429."),
  requests_per_minute: z
    .int()
    .min(1)
    .max(mostRequestsPerMinute)
    .nullable()
    .default(null)
    .describe(
      "Requests a minute of an inference key that has no limit of its own, those for models, providers and its own records included; above it 429. Null: any number.",
    ),
  tokens_per_minute: z
    .int()
    .min(1)
    .max(mostTokensPerMinute)
    .nullable()
    .default(null)
    .describe(
      "Tokens of input and output a minute of a key that has no limit of its own; once they are used up 429. Null: any number.",
    ),
  status_gate_ms: z
    .int()
    .min(0)
    .max(60_000)
    .default(10_000)
    .describe("How long a stream waits for its first event before 200 is sent."),
  keep_alive_ms: z
    .int()
    .min(10)
    .max(60_000)
    .default(15_000)
    .describe("Longest silence on a stream before a comment is sent."),
  turn_ms: z.int().min(1).max(3_600_000).default(600_000).describe("Time limit of a turn without a stream."),
  stream_ms: z.int().min(1).max(3_600_000).default(1_800_000).describe("Time limit of a turn with a stream."),
});
