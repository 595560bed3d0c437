/** Records a span for each request, in addition to its log line and its metric. */
import type { IncomingMessage } from "node:http";
import type { TraceHeaders } from "@sluice/proto/lib/tracing/context.js";
import type { Span, Tracing } from "@sluice/proto/lib/tracing/span.js";
import type { Observation, Observer, RequestNote } from "./observe.ts";

/**
 * Trace headers of a request. Node joins repeated headers with commas: a repeated traceparent becomes invalid, and several tracestates become one
 * list.
 */
const headersOf = ({ headers }: IncomingMessage): TraceHeaders => ({
  traceparent: textOf(headers["traceparent"]),
  tracestate: textOf(headers["tracestate"]),
});

const textOf = (value: string | string[] | undefined): string => (typeof value === "string" ? value : "");

export class TracedObserver implements Observer {
  readonly #observer: Observer;
  readonly #tracing: Tracing;

  constructor(observer: Observer, tracing: Tracing) {
    this.#observer = observer;
    this.#tracing = tracing;
  }

  begin(request: IncomingMessage): Observation {
    const { method = "" } = request;
    const span = this.#tracing.start(method, {
      kind: "server",
      parent: headersOf(request),
      attributes: { "http.request.method": method, "url.scheme": "http" },
    });
    const inner = this.#observer.begin(request);
    return {
      trace: span,
      note(note) {
        inner.note({ ...note, traceId: span.traceId });
        end(span, note);
      },
    };
  }
}

/** Ends the span of a request. The span does not contain the path, which may contain an end user's id. */
function end(span: Span, { method, route, status, requestId, errorType }: RequestNote): void {
  span.rename(`${method} ${route}`);
  span.set({
    "http.route": route,
    "http.response.status_code": status,
    "sluice.request_id": requestId,
    "sluice.error_type": errorType,
  });
  if (status >= 500) span.fail(String(status));
  span.end();
}
