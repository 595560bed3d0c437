/** A collector of traces, which accepts OTLP as JSON over HTTP and keeps every span. */
import { once } from "node:events";
import { type IncomingHttpHeaders, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { eventually } from "./processes.ts";

export interface CollectedSpan {
  /** `service.name` of the process that sent the span. */
  readonly service: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Id of the parent span; empty for the first span of a trace. */
  readonly parentSpanId: string;
  /** Kind of span: 2 for a server's, 3 for a client's. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly failed: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Bodies as received. */
  readonly bodies: readonly Buffer[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** Waits for the spans of a trace. @returns all of them, once there are at least `count`; spans that arrive soon after are included */
  trace(traceId: string, count: number): Promise<CollectedSpan[]>;
  stop(): Promise<void>;
}

/** @param status status of every answer */
export async function startCollector(status = 200): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bodies: Buffer[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      bodies.push(body);
      headers.push(request.headers);
      const isJson = request.headers["content-type"] === "application/json";
      if (isJson && status === 200) spans.push(...spansOf(JSON.parse(body.toString()) as Payload));
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    headers,
    async trace(traceId, count) {
      const found = () => spans.filter((span) => span.traceId === traceId);
      await eventually(() => found().length >= count).catch(() => {
        throw new Error(
          `${found().length} of ${count} spans: ${found()
            .map(({ name }) => name)
            .join(", ")}`,
        );
      });
      return found();
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}
type KeyValues = readonly { readonly key: string; readonly value: Value }[];
interface Payload {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: KeyValues };
    readonly scopeSpans: readonly { readonly spans: readonly PayloadSpan[] }[];
  }[];
}
interface PayloadSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: KeyValues;
  readonly events: readonly { readonly name: string; readonly attributes: KeyValues }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code: number };
}

function spansOf({ resourceSpans }: Payload): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const attributes = objectOf(resource.attributes);
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => collected(span, attributes)));
  });
}

const collected = (span: PayloadSpan, resource: Readonly<Record<string, unknown>>): CollectedSpan => ({
  service: String(resource["service.name"]),
  resource,
  name: span.name,
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId ?? "",
  kind: span.kind,
  attributes: objectOf(span.attributes),
  events: span.events.map(({ name, attributes }) => ({ name, attributes: objectOf(attributes) })),
  links: span.links.map(({ traceId, spanId }) => ({ traceId, spanId })),
  failed: span.status.code === 2,
  startMs: Number(span.startTimeUnixNano) / 1e6,
  endMs: Number(span.endTimeUnixNano) / 1e6,
});

const objectOf = (pairs: KeyValues): Readonly<Record<string, unknown>> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, valueOf(value)]));

const valueOf = ({ stringValue, intValue, doubleValue, boolValue }: Value): unknown =>
  stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? doubleValue ?? boolValue;
