/** Tracing of a process: off by default, and harmless when the collector fails. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { untraced } from "@sluice/proto/lib/tracing/context.js";
import { openTracing } from "@sluice/proto/lib/tracing/open.js";
import type { Tracing } from "@sluice/proto/lib/tracing/span.js";
import { version } from "@sluice/proto/lib/process/version.js";
import { type Collector, startCollector } from "../support/collector.ts";
import { bareEnvironment, runProgram } from "../support/processes.ts";

let variables: NodeJS.ProcessEnv;
let lines: string[];
let registry: Registry;
let collectors: Collector[];

/** The OpenTelemetry libraries read the environment of the process by themselves. */
beforeEach(() => {
  variables = { ...process.env };
  lines = [];
  registry = new Registry();
  collectors = [];
});
afterEach(async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith("OTEL_")) delete process.env[name];
  Object.assign(process.env, variables);
  for (const collector of collectors) await collector.stop();
});

async function collecting(status = 200): Promise<Collector> {
  const collector = await startCollector(status);
  collectors.push(collector);
  return collector;
}

function open(environment: Record<string, string>): Promise<Tracing | undefined> {
  Object.assign(process.env, environment);
  const log = openLog("test", "info", { write: (line) => void lines.push(line) });
  return openTracing({ room: "test", instance: "test-1", log, registry, environment: process.env });
}

/** A long delay between exports: a test sees the spans exported at the end. */
const patient = { OTEL_BSP_SCHEDULE_DELAY: "60000", OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };

async function opened(environment: Record<string, string>): Promise<Tracing> {
  const tracing = await open(environment);
  if (!tracing) throw new Error("not traced");
  return tracing;
}

const start = (tracing: Tracing, name = "work") => tracing.start(name, { kind: "server", parent: untraced });

describe("tracing is off", () => {
  test.each([
    ["without an endpoint", {}],
    ["when it is disabled", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_SDK_DISABLED: "TRUE" }],
    ["without an exporter", { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_TRACES_EXPORTER: "none" }],
  ])("with %s", async (_, environment) => {
    expect(await open(environment)).toBeUndefined();
    expect(await registry.metrics()).toBe("\n");
  });

  test("by default, and then loads none of its modules", async () => {
    const loaded = async (endpoint: string) => {
      const script = `
        import { createRequire } from "node:module";
        const { openTracing } = await import(${JSON.stringify(import.meta.resolve("@sluice/proto/lib/tracing/open.js"))});
        const { Registry } = await import(${JSON.stringify(import.meta.resolve("@sluice/proto/lib/metrics/metrics.js"))});
        await openTracing({ room: "r", instance: "i", log: console, registry: new Registry(), environment: process.env });
        const files = Object.keys(createRequire(import.meta.url).cache);
        console.log(files.filter((file) => /@opentelemetry.(sdk|exporter|resources)/.test(file)).length);
        process.exit();
      `;
      const environment = { ...bareEnvironment(), ...(endpoint !== "" && { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }) };
      const { stdout } = await runProgram(process.execPath, ["--input-type=module", "--eval", script], { environment });
      return Number(stdout);
    };
    expect(await loaded("http://127.0.0.1:4318")).toBeGreaterThan(10);
    expect(await loaded("")).toBe(0);
  });
});

describe("tracing refuses to start, with the reason,", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318" }, "OTEL_EXPORTER_OTLP_ENDPOINT"],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "ftp://host" }, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, "OTEL_EXPORTER_OTLP_PROTOCOL: grpc"],
    [{ ...endpoint, OTEL_TRACES_SAMPLER: "sometimes" }, "OTEL_TRACES_SAMPLER"],
    [{ ...endpoint, OTEL_TRACES_SAMPLER_ARG: "1.5" }, "OTEL_TRACES_SAMPLER_ARG"],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: "zipkin" }, "OTEL_TRACES_EXPORTER"],
  ])("for %j", async (environment, name) => {
    await expect(open(environment as Record<string, string>)).rejects.toThrow(name);
  });
});

describe("tracing delivers", () => {
  test("pending spans when the process ends, and each span once even if it is ended repeatedly", async () => {
    const collector = await collecting();
    const tracing = await opened({ ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const parent = start(tracing);
    const child = tracing.start("child", { kind: "client", parent });
    child.fail("500");
    child.end();
    child.end();
    parent.end();
    await tracing.close();
    expect(collector.spans.map(({ name, failed }) => [name, failed])).toEqual([
      ["child", true],
      ["work", false],
    ]);
    expect(collector.spans[0]?.parentSpanId).toBe(collector.spans[1]?.spanId);
    expect(collector.spans[0]?.resource).toMatchObject({
      "service.name": "test",
      "service.namespace": "sluice",
      "service.instance.id": "test-1",
      "service.version": version,
    });
    expect(await registry.metrics()).toContain('sluice_trace_spans_total{result="delivered"} 2');
  });

  test("in protobuf unless another protocol is configured, to the exact path of the traces endpoint", async () => {
    const collector = await collecting();
    const tracing = await opened({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/own/path` });
    const span = start(tracing);
    span.end();
    await tracing.close();
    expect(collector.headers.map((headers) => headers["content-type"])).toEqual(["application/x-protobuf"]);
    expect(collector.bodies[0]?.includes(Buffer.from(span.traceId, "hex"))).toBe(true);
  });

  test("the sampled share, and passes the sampler's decision on", async () => {
    const collector = await collecting();
    const ratio = { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" };
    const tracing = await opened({ ...patient, ...ratio, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    for (let n = 0; n < 400; n++) {
      const span = start(tracing);
      const sampled = span.traceparent.endsWith("-01");
      const child = tracing.start("child", {
        kind: "client",
        parent: { traceparent: span.traceparent, tracestate: "" },
      });
      expect(child.traceparent.endsWith("-01")).toBe(sampled);
      child.end();
      span.end();
    }
    await tracing.close();
    const roots = collector.spans.filter(({ name }) => name === "work").length;
    // The tolerance is six standard deviations around 100.
    expect(Math.abs(roots - 100)).toBeLessThan(52);
  });

  test("values of at most 1,024 characters", async () => {
    const collector = await collecting();
    const tracing = await opened({ ...patient, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const span = start(tracing);
    span.set({ long: "x".repeat(2_000) });
    span.end();
    await tracing.close();
    expect(collector.spans[0]?.attributes["long"]).toBe("x".repeat(1_024));
  });
});

test("a trace collector that refuses spans is logged once, counted, and not waited for", async () => {
  const collector = await collecting(400);
  const tracing = await opened({
    ...patient,
    OTEL_BSP_SCHEDULE_DELAY: "10",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  for (const _ of [1, 2]) {
    start(tracing).end();
    const before = collector.bodies.length;
    while (collector.bodies.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const startedAt = performance.now();
  await tracing.close();
  // The limit of a close is five seconds; a busy machine adds some.
  expect(performance.now() - startedAt).toBeLessThan(15_000);
  expect(lines.filter((line) => line.includes("spans cannot be delivered"))).toHaveLength(1);
  expect(await registry.metrics()).toContain('sluice_trace_spans_total{result="lost"} 2');
});
