/** Signed messages to the webhooks of alerts and exports. */
import { signWebhook } from "@sluice/proto/lib/webhooks/standard-webhook.js";
import type { Message } from "./post.ts";

export interface WebhookSettings {
  readonly url: string;
  readonly secret: string;
}

/** @param id the same in every repetition, for the receiver to drop duplicates */
export const webhookMessage = ({ url, secret }: WebhookSettings, id: string, body: string, now: Date): Message => ({
  url,
  body,
  headers: { "content-type": "application/json", ...signWebhook(secret, id, body, now) },
});
