/** One log line and one count a request. What a client can invent is logged, never a metric label. */
import type { IncomingMessage } from "node:http";
import { type LineLog, type Logger, lineLog, member } from "@sluice/proto/runtime/log.js";
import { Counter, Histogram, type Registry } from "@sluice/proto/runtime/metrics.js";
import { type TraceHeaders, untraced } from "@sluice/proto/runtime/tracing/context.js";

export interface RequestNote {
  readonly requestId: string;
  /** The client's own X-Request-Id, when it is well-formed. */
  readonly clientRequestId: string | undefined;
  readonly method: string;
  /** Of the trace that it is part of. */
  readonly traceId?: string;
  /** Pattern of the route, from a closed set. */
  readonly route: string;
  /** 499 when the client left first. */
  readonly status: number;
  readonly ms: number;
  /** Of the failure, when there was one. */
  readonly errorType: string | undefined;
  /** For the log only. */
  readonly cause: unknown;
}

/** One request, to whoever wants to hear of its end. */
export interface Observation {
  /** For whatever is asked on its behalf. */
  readonly trace: TraceHeaders;
  note(note: RequestNote): void;
}

export interface Observer {
  /** At the request line; the end is told once. */
  begin(request: IncomingMessage): Observation;
}

export class RequestObserver implements Observer, Observation {
  readonly trace = untraced;
  readonly #lines: LineLog;
  readonly #requests: Counter<"route" | "status">;
  readonly #seconds: Histogram<"route">;
  readonly #counts = new Map<string, Counter.Internal>();
  readonly #times = new Map<string, Histogram.Internal<"route">>();

  constructor(log: Logger, registry: Registry) {
    this.#lines = lineLog(log, "request");
    const registers = [registry];
    this.#requests = new Counter({
      name: "sluice_http_requests_total",
      help: "Requests by route and status.",
      labelNames: ["route", "status"],
      registers,
    });
    this.#seconds = new Histogram({
      name: "sluice_http_request_seconds",
      help: "From the request line to the last byte of the answer.",
      labelNames: ["route"],
      buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800],
      registers,
    });
  }

  begin(): Observation {
    return this;
  }

  note(note: RequestNote): void {
    this.#count(note.route, note.status).inc();
    this.#time(note.route).observe(note.ms / 1000);
    const members =
      `,"request_id":"${note.requestId}"${member("client_request_id", note.clientRequestId)}${member("trace_id", note.traceId)}` +
      `,"method":"${note.method}","route":"${note.route}","status":${note.status}` +
      `,"ms":${Math.round(note.ms * 10) / 10}${member("error_type", note.errorType)}`;
    if (note.status === 500) this.#lines.error(members, note.cause);
    else this.#lines.info(members);
  }

  /** Bound once: to find a child by its labels costs more than to count. Routes and statuses are few. */
  #count(route: string, status: number): Counter.Internal {
    const name = `${status} ${route}`;
    let child = this.#counts.get(name);
    if (!child) this.#counts.set(name, (child = this.#requests.labels(route, String(status))));
    return child;
  }

  #time(route: string): Histogram.Internal<"route"> {
    let child = this.#times.get(route);
    if (!child) this.#times.set(route, (child = this.#seconds.labels(route)));
    return child;
  }
}
