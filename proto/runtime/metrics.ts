/** Prometheus text metrics. Labels take values from closed sets only; what a client can invent is never a label. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

export { Counter, Gauge, Histogram, Registry };

/** One registry a process, with the process's own figures in it. */
export function openMetrics(room: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ room });
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** A gauge that is read when it is scraped. */
export function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const metric = new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read());
    },
  });
  registry.registerMetric(metric);
}
