/** The connections of a pool, as operators watch them. */
import { Gauge, type Registry } from "@sluice/proto/runtime/metrics.js";
import type { Pool } from "pg";

/** Returns what hears of each pool by its name. */
export function poolMetrics(registry: Registry): (name: string, pool: Pool) => void {
  const pools = new Map<string, Pool>();
  const metric = new Gauge({
    name: "sluice_postgres_connections",
    help: "Connections to Postgres: busy, idle, and waiting for one: those that wait are calls.",
    labelNames: ["pool", "state"],
    registers: [],
    collect() {
      for (const [name, { totalCount, idleCount, waitingCount }] of pools) {
        this.set({ pool: name, state: "busy" }, totalCount - idleCount);
        this.set({ pool: name, state: "idle" }, idleCount);
        this.set({ pool: name, state: "waiting" }, waitingCount);
      }
    },
  });
  registry.registerMetric(metric);
  return (name, pool) => void pools.set(name, pool);
}
