/** `limits`: what one request, one key and one turn may take. */
import { z } from "zod";

export const limits = z.strictObject({
  body_bytes: z.int().min(1).max(33_554_432).default(33_554_432).describe("Largest body of POST /responses."),
  streams_per_key: z
    .int()
    .min(1)
    .default(64)
    .describe("Turns that one key may have open in one gateway at a time; above it 429."),
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
