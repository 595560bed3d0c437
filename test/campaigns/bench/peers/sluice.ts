/** Sluice among the gateways, as `npm start` runs it with one processor. */
import type { GatewayDescription } from "./peer.ts";

export const sluice: Omit<GatewayDescription, "version"> = {
  name: "Sluice",
  setting:
    "as `npm start` starts it on one processor, gateway and inference-svc in one process, with admin-svc and Postgres, `limits.streams_per_key` raised",
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
