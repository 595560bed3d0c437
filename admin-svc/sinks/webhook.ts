/** Messages to webhooks, signed according to Standard Webhooks (https://www.standardwebhooks.com). */
import { createHmac } from "node:crypto";
import { parseWebhookSecret } from "@sluice/proto/config/sinks/common.js";
import type { Message } from "./post.ts";

export interface WebhookSettings {
  readonly url: string;
  readonly secret: string;
}

/** @param id the same in every repetition, for the receiver to drop duplicates */
export function webhookMessage({ url, secret }: WebhookSettings, id: string, body: string, now: Date): Message {
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const signature = createHmac("sha256", parseWebhookSecret(secret) ?? "")
    .update(`${id}.${timestamp}.${body}`)
    .digest("base64");
  return {
    url,
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    },
  };
}
