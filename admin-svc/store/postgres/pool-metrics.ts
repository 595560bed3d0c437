/** Metrics of the database connections in each pool. */
import { type Registry, labelledGauge } from "@sluice/proto/lib/metrics/metrics.js";
import type { Pool } from "pg";

/** Returns a function that registers a pool under a name. */
export function poolMetrics(registry: Registry): (name: string, pool: Pool) => void {
  const pools = new Map<string, Pool>();
  const connections = {
    name: "sluice_postgres_connections",
    help: "Connections to Postgres, busy and idle, and calls waiting for a connection.",
    labelNames: ["pool", "state"],
  } as const;
  labelledGauge(registry, connections, (set) => {
    for (const [name, { totalCount, idleCount, waitingCount }] of pools) {
      set({ pool: name, state: "busy" }, totalCount - idleCount);
      set({ pool: name, state: "idle" }, idleCount);
      set({ pool: name, state: "waiting" }, waitingCount);
    }
  });
  return (name, pool) => void pools.set(name, pool);
}
