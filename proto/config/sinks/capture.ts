/**
 * `capture`: settings for storing prompts and answers of keys with `capture_content`, encrypted and for a limited time.
 */
import { z } from "zod";

const keyBytes = 32;
const hourMs = 3_600_000;
const maxBytes = 1_048_576;

/** Decodes an AES-256 key; undefined for an invalid text. */
export function parseCaptureKey(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === keyBytes && bytes.toString("base64") === text ? bytes : undefined;
}

const captureKey = z
  .string()
  .refine((text) => parseCaptureKey(text) !== undefined, "the base64 of 32 random bytes: openssl rand -base64 32");

/** Parses a period. @param text hours or days, such as 12h or 7d. @returns milliseconds */
const parsePeriod = (text: string): number => Number(text.slice(0, -1)) * hourMs * (text.endsWith("d") ? 24 : 1);

const capturedBytes = z
  .int()
  .min(1_024)
  .max(maxBytes)
  .default(262_144)
  .describe("Bytes that are kept of a request, and as many of its answer; the rest is cut off.");

export const capture = z
  .strictObject({
    key: captureKey.describe(
      "Encrypts what is captured: the base64 of 32 random bytes. Without this section nothing is captured.",
    ),
    previous_keys: z
      .array(captureKey)
      .max(10)
      .default([])
      .describe("Earlier keys, with which content is still read until it expires."),
    retention: z
      .string()
      .regex(/^[1-9]\d{0,3}[hd]$/, "hours or days, such as 12h or 7d")
      .default("7d")
      .transform(parsePeriod)
      .describe("Time after which captured content is deleted, such as 12h or 7d."),
    max_bytes: capturedBytes,
  })
  .optional()
  .describe("Captures prompts and answers of the keys that have `capture_content`.");

/** The part of the section that the gateway reads: it captures content but must not know the encryption key. */
export const edgeCapture = z.object({ max_bytes: capturedBytes }).optional();

export type CaptureSettings = NonNullable<z.infer<typeof capture>>;
