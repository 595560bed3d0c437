/** Messages about alerts, as sinks receive them. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";

export const alertTypes = ["budget.reached", "guardrail.hit", "rule.fired", "rule.cleared", "test"] as const;
export type AlertType = (typeof alertTypes)[number];

export interface Alert {
  readonly type: AlertType;
  /** Time of the event that the alert reports. */
  readonly at: Date;
  /** Details of the event. They never contain text of a prompt, an answer or a key. */
  readonly facts: JsonObject;
}

/** The body of a message as recommended by Standard Webhooks. */
export const alertMessage = ({ type, at, facts }: Alert): JsonObject => ({
  type,
  timestamp: at.toISOString(),
  data: facts,
});
