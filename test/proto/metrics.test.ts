import { describe, expect, test } from "@jest/globals";
import { Counter, Histogram, Registry, gauge, labelledGauge, openMetrics } from "@sluice/proto/lib/metrics/metrics.js";
import { metricNames, samplesOf } from "../support/metrics.ts";

describe("the text of metrics", () => {
  test("shows a counter without labels before its first count", async () => {
    const registry = new Registry();
    const counter = new Counter({ name: "refusals_total", help: "Refusals.", registers: [registry] });
    expect(await registry.metrics()).toBe(
      "# HELP refusals_total Refusals.\n# TYPE refusals_total counter\nrefusals_total 0\n",
    );
    counter.inc();
    counter.inc(2.5);
    expect(await registry.metrics()).toContain("\nrefusals_total 3.5\n");
  });

  test("has one line for each combination of labels, for any characters in their values", async () => {
    const registry = new Registry("gateway");
    const counter = new Counter({
      name: "requests_total",
      help: "Requests.",
      labelNames: ["route", "status"],
      registers: [registry],
    });
    counter.labels({ route: "/a", status: "200" }).inc();
    counter.labels({ status: "200", route: "/a" }).inc();
    counter.labels({ route: 'a "b"\\\nc', status: "1" }).inc();
    counter.labels({ route: "/a2", status: "00" });
    expect((await registry.metrics()).split("\n").slice(2)).toEqual([
      'requests_total{route="/a",status="200",room="gateway"} 2',
      'requests_total{route="a \\"b\\"\\\\\\nc",status="1",room="gateway"} 1',
      'requests_total{route="/a2",status="00",room="gateway"} 0',
      "",
    ]);
  });

  test("sums the buckets of a histogram, and a bound belongs to its bucket", async () => {
    const registry = new Registry("gateway");
    const histogram = new Histogram({ name: "seconds", help: "Seconds.", buckets: [0.1, 1], registers: [registry] });
    for (const value of [0.05, 0.1, 0.5, 3]) histogram.observe(value);
    expect((await registry.metrics()).split("\n").slice(1)).toEqual([
      "# TYPE seconds histogram",
      'seconds_bucket{le="0.1",room="gateway"} 2',
      'seconds_bucket{le="1",room="gateway"} 3',
      'seconds_bucket{le="+Inf",room="gateway"} 4',
      'seconds_sum{room="gateway"} 3.65',
      'seconds_count{room="gateway"} 4',
      "",
    ]);
  });

  test("separates the series of a histogram, and has none before the first observation", async () => {
    const registry = new Registry();
    const options = {
      name: "seconds",
      help: "Seconds.",
      labelNames: ["kind"],
      buckets: [1],
      registers: [registry],
    } as const;
    const histogram = new Histogram(options);
    expect(samplesOf(await registry.metrics())).toEqual([]);
    histogram.labels({ kind: "fetch" }).observe(0.5);
    histogram.labels({ kind: "search" }).observe(2);
    const counts = samplesOf(await registry.metrics()).filter(({ name }) => name === "seconds_bucket");
    expect(counts.map(({ labels, value }) => [labels["kind"], labels["le"], value])).toEqual([
      ["fetch", "1", 1],
      ["fetch", "+Inf", 1],
      ["search", "1", 0],
      ["search", "+Inf", 1],
    ]);
  });

  test("reads gauges on request", async () => {
    const registry = new Registry();
    let open = 1;
    gauge(registry, "open", "Open.", () => open);
    labelledGauge(registry, { name: "state", help: "State.", labelNames: ["endpoint"] }, (set) => {
      for (let n = 0; n < open; n++) set({ endpoint: String(n) }, n);
    });
    expect(samplesOf(await registry.metrics())).toHaveLength(2);
    open = 2;
    expect(samplesOf(await registry.metrics()).map(({ value }) => value)).toEqual([2, 0, 1]);
  });

  test("ends with the metrics of Node, and refuses a duplicate name", async () => {
    const registry = openMetrics("gateway");
    gauge(registry, "open", "Open.", () => 1);
    expect(() => gauge(registry, "open", "Open.", () => 1)).toThrow("open");
    const text = await registry.metrics();
    expect([...metricNames(text)]).toEqual(expect.arrayContaining(["open", "nodejs_eventloop_lag_p99_seconds"]));
    expect(samplesOf(text).every(({ labels }) => labels["room"] === "gateway")).toBe(true);
    expect(registry.contentType).toBe("text/plain; version=0.0.4; charset=utf-8");
  });

  test("does not compile for a counter with labels but without values for them", () => {
    const counter = new Counter({ name: "a", help: "A.", labelNames: ["b"], registers: [] });
    // @ts-expect-error A counter with labels.
    expect(() => counter.inc()).not.toThrow();
  });
});
