/** Creates spans with the OpenTelemetry libraries and exports them in batches in the background. */
import {
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  createTraceState,
  trace,
} from "@opentelemetry/api";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { setTimeout as delay } from "node:timers/promises";
import { Counter } from "../metrics/metrics.ts";
import { version } from "../process/version.ts";
import { type TraceHeaders, readTraceHeaders, traceparentOf } from "./context.ts";
import type { TracingOptions, TracingSettings } from "./settings.ts";
import {
  type Attributes,
  type ContentAttribute,
  type Span,
  type SpanOptions,
  type Tracing,
  contentAttributes,
  maxContentBytes,
} from "./span.ts";

const maxValueLength = 1_024;
/**
 * Maximum number of spans with content that wait for the collector, and in one delivery. With 200 KB each, three texts
 * of the default `tracing.max_bytes`, they take 50 MB and 3 MB. Further spans are exported without their content.
 */
const maxWithContent = 256;
const contentBatch = { maxQueueSize: maxWithContent, maxExportBatchSize: 16 };
const closeMs = 5_000;

export async function openTelemetry({ protocol }: TracingSettings, options: TracingOptions): Promise<Tracing> {
  const named = resourceFromAttributes({
    "service.name": options.room,
    "service.namespace": "sluice",
    "service.instance.id": options.instance,
    "service.version": version,
  });
  const dropped = new Counter({
    name: "sluice_trace_contents_dropped_total",
    help: "Spans that were exported without their prompt and answer, for lack of memory.",
    registers: [options.registry],
  });
  const provider = new BasicTracerProvider({
    resource: named.merge(detectResources({ detectors: [envDetector] })),
    spanLimits: { attributeValueLengthLimit: maxContentBytes },
    spanProcessors: [new QueuesBySize(countDeliveries(await exporterOf(protocol), options), dropped)],
  });
  const tracer = provider.getTracer("sluice");
  return {
    start: (name, spanOptions) => new TelemetrySpan(tracer, name, spanOptions, dropped),
    async close() {
      // The shutdown waits only briefly for a collector that may be unreachable.
      await Promise.race([provider.shutdown().catch(() => {}), delay(closeMs, undefined, { ref: false })]);
    },
  };
}

/** Spans with content have a separate queue with limited memory, so they never displace other spans. */
class QueuesBySize implements SpanProcessor {
  readonly #small: BatchSpanProcessor;
  readonly #large: BatchSpanProcessor;
  readonly #dropped: Counter;
  /** Number of spans with content that are in the queue or being delivered. */
  #withContent = 0;

  constructor(exporter: SpanExporter, dropped: Counter) {
    this.#dropped = dropped;
    this.#small = new BatchSpanProcessor(exporter);
    const counted: SpanExporter = {
      export: (batch, settled) =>
        exporter.export(batch, (result) => {
          this.#withContent -= batch.length;
          settled(result);
        }),
      shutdown: () => exporter.shutdown(),
    };
    this.#large = new BatchSpanProcessor(counted, contentBatch);
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    const isSampled = (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;
    if (!isSampled || !hasContent(span)) return this.#small.onEnd(span);
    if (this.#withContent < maxWithContent) {
      this.#withContent++;
      return this.#large.onEnd(span);
    }
    this.#dropped.inc();
    for (const name of contentAttributes) delete span.attributes[name];
    this.#small.onEnd(span);
  }

  async forceFlush(): Promise<void> {
    await Promise.allSettled([this.#small.forceFlush(), this.#large.forceFlush()]);
  }

  /** Delivers both queues before either is shut down, because that also ends their common exporter. */
  async shutdown(): Promise<void> {
    await this.forceFlush();
    await this.#small.shutdown();
    await this.#large.shutdown();
  }
}

const hasContent = ({ attributes }: ReadableSpan): boolean =>
  contentAttributes.some((name) => attributes[name] !== undefined);

/** Cuts long texts in attributes. */
const bounded = (attributes: Attributes): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === "string" && value.length > maxValueLength ? value.slice(0, maxValueLength) : value,
    ]),
  );

async function exporterOf(protocol: TracingSettings["protocol"]): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter();
}

/** Counts exported spans, and logs once when deliveries begin to fail. */
function countDeliveries(
  exporter: SpanExporter,
  { log, registry }: Pick<TracingOptions, "log" | "registry">,
): SpanExporter {
  const spans = new Counter({
    name: "sluice_trace_spans_total",
    help: "Spans that were handed to the collector: delivered, or lost because it did not take them.",
    labelNames: ["result"],
    registers: [registry],
  });
  let failing = false;
  return {
    export(batch, settled) {
      exporter.export(batch, (result) => {
        const failed = result.error !== undefined;
        spans.labels({ result: failed ? "lost" : "delivered" }).inc(batch.length);
        if (failed && !failing) log.warn({ reason: result.error?.name }, "spans cannot be delivered");
        if (!failed && failing) log.info("spans are delivered again");
        failing = failed;
        settled(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

class TelemetrySpan implements Span {
  readonly #span: OtelSpan;
  readonly #dropped: Counter;
  #ended = false;

  /** @param dropped counts spans that lose their content */
  constructor(tracer: Tracer, name: string, { kind, parent, attributes, startedAtMs }: SpanOptions, dropped: Counter) {
    this.#dropped = dropped;
    const options = {
      kind: kinds[kind],
      ...(attributes && { attributes: bounded(attributes) }),
      ...(startedAtMs !== undefined && { startTime: startedAtMs }),
    };
    this.#span = tracer.startSpan(name, options, contextOf(parent));
  }

  get context() {
    return this.#span.spanContext();
  }

  get traceId(): string {
    return this.context.traceId;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.context;
    return traceparentOf({ traceId, spanId, sampled: (traceFlags & 1) === 1 });
  }

  get tracestate(): string {
    return this.context.traceState?.serialize() ?? "";
  }

  get isRecorded(): boolean {
    return this.#span.isRecording();
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(bounded(attributes));
  }

  setContent(name: ContentAttribute, json: string): void {
    this.#span.setAttribute(name, json);
  }

  dropContent(): void {
    this.#dropped.inc();
  }

  event(name: string, attributes: Attributes): void {
    this.#span.addEvent(name, attributes);
  }

  link(headers: TraceHeaders): void {
    const context = remoteContext(headers);
    if (context) this.#span.addLink({ context });
  }

  fail(errorType: string): void {
    this.#span.setAttribute("error.type", errorType);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#span.end();
  }
}

function contextOf(parent: TraceHeaders) {
  const context = parent instanceof TelemetrySpan ? parent.context : remoteContext(parent);
  return context ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT;
}

function remoteContext(headers: TraceHeaders) {
  const read = readTraceHeaders(headers);
  if (!read) return undefined;
  const { traceId, spanId, sampled, tracestate } = read;
  return {
    traceId,
    spanId,
    traceFlags: sampled ? 1 : 0,
    isRemote: true,
    ...(tracestate !== "" && { traceState: createTraceState(tracestate) }),
  };
}
