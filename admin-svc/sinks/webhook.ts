/** Signed messages to the webhooks of alerts and exports. */
import { signWebhook } from "@sluice/proto/lib/webhooks/standard-webhook.js";
import type { Message } from "./post.ts";

export interface WebhookSettings {
  readonly url: string;
  readonly secret: string;
}

/** Builds a signed message. @param id the same in every repeated delivery, so the receiver can drop duplicates */
export const webhookMessage = ({ url, secret }: WebhookSettings, id: string, body: string, now: Date): Message => ({
  url,
  body,
  headers: { "content-type": "application/json", ...signWebhook(secret, id, body, now) },
});
