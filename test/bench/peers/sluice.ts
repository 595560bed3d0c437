/** Sluice in the same table: it runs as `npm start` starts it. */
import type { Described } from "./peer.ts";

export const sluice: Omit<Described, "version"> = {
  name: "Sluice",
  setting: "as `npm start` starts it, with all its services and Postgres, `limits.streams_per_key` raised",
  features: {
    keys: "on, of its own, revocable",
    budgets: "on, none set",
    records: "on: on disk before the answer, then in Postgres",
    guardrails: "on, none set",
    metrics: "on",
    log: "on",
    fallback: "on, one endpoint",
  },
};
