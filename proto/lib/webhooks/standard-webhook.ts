/** Signatures of Standard Webhooks (https://www.standardwebhooks.com). */
import { createHmac } from "node:crypto";

/** Prefix of a secret, before its base64. */
export const secretPrefix = "whsec_";
/** Minimum and maximum number of random bytes in a secret, by the specification. */
export const secretBytes = { min: 24, max: 64 } as const;

/** Decodes a secret; undefined for an invalid text. */
export function parseWebhookSecret(text: string): Buffer | undefined {
  const encoded = text.slice(secretPrefix.length);
  const bytes = Buffer.from(encoded, "base64");
  const isSecret = text.startsWith(secretPrefix) && bytes.toString("base64") === encoded;
  return isSecret && bytes.length >= secretBytes.min && bytes.length <= secretBytes.max ? bytes : undefined;
}

/**
 * Header fields that sign a message.
 * @param secret a valid secret
 * @param id the same in every repeated delivery, so the receiver can drop duplicates
 */
export function signWebhook(secret: string, id: string, body: string, now: Date): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const signature = createHmac("sha256", parseWebhookSecret(secret) ?? "")
    .update(`${id}.${timestamp}.${body}`)
    .digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}
