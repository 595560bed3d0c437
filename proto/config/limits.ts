/** `limits`: limits of one request, one key and one turn. */
import { z } from "zod";
import { maxConcurrentRequests, maxRequestsPerMinute, maxTokensPerMinute } from "../lib/limits/settings.ts";

export const limits = z.strictObject({
  body_bytes: z.int().min(1).max(33_554_432).default(33_554_432).describe("Maximum body size of POST /responses."),
  streams_per_key: z
    .int()
    .min(1)
    .max(maxConcurrentRequests)
    .default(64)
    .describe(
      "Maximum number of concurrent turns of a key, unless the key has its own limit; further requests get 429.",
    ),
  requests_per_minute: z
    .int()
    .min(1)
    .max(maxRequestsPerMinute)
    .nullable()
    .default(null)
    .describe(
      "Maximum requests per minute of an inference key without its own limit, including requests for models, providers and the key's records; further requests get 429. Null: no limit.",
    ),
  tokens_per_minute: z
    .int()
    .min(1)
    .max(maxTokensPerMinute)
    .nullable()
    .default(null)
    .describe(
      "Maximum tokens per minute, input and output together, of a key without its own limit; further requests get 429. Null: no limit.",
    ),
  status_gate_ms: z
    .int()
    .min(0)
    .max(60_000)
    .default(10_000)
    .describe("Time that a stream waits for its first event before it sends 200."),
  keep_alive_ms: z
    .int()
    .min(10)
    .max(60_000)
    .default(15_000)
    .describe("Time without events after which a stream sends a comment."),
  turn_ms: z.int().min(1).max(3_600_000).default(600_000).describe("Time limit of a turn without streaming."),
  stream_ms: z.int().min(1).max(3_600_000).default(1_800_000).describe("Time limit of a turn with streaming."),
});
