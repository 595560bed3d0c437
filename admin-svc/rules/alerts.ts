/** Alerts as sinks receive them. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";

export const alertTypes = ["budget.reached", "guardrail.hit", "rule.fired", "rule.cleared", "test"] as const;
export type AlertType = (typeof alertTypes)[number];

export interface Alert {
  readonly type: AlertType;
  /** Time of the fact. */
  readonly at: Date;
  /** Never contains text of a prompt, of an answer or of a key. */
  readonly facts: JsonObject;
}

/** The body of a message as recommended by Standard Webhooks. */
export const alertMessage = ({ type, at, facts }: Alert): JsonObject => ({
  type,
  timestamp: at.toISOString(),
  data: facts,
});
