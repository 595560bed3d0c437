/** Writes a log line and a metric for every request. Values that clients control go into the log, never into a metric label. */
import type { IncomingMessage } from "node:http";
import type { LineLog, Logger } from "@sluice/proto/lib/log/log.js";
import { logMember } from "@sluice/proto/lib/log/text.js";
import { Counter, Histogram, type Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { type TraceHeaders, untraced } from "@sluice/proto/lib/tracing/context.js";

export interface RequestNote {
  readonly requestId: string;
  /** X-Request-Id as the client sent it, when it is well-formed. */
  readonly clientRequestId: string | undefined;
  readonly method: string;
  /** Id of the request's trace. */
  readonly traceId?: string;
  /** Pattern of the route, one of a fixed set. */
  readonly route: string;
  /** HTTP status of the answer; 499 when the client left first. */
  readonly status: number;
  readonly ms: number;
  /** Error type of a failed request; undefined for a successful one. */
  readonly errorType: string | undefined;
  /** The error that caused the failure, for the log only. */
  readonly cause: unknown;
  /** Address of the client; undefined if the configuration does not log it. */
  readonly address: string | undefined;
}

/** Records the outcome of a request. */
export interface Observation {
  /** Trace headers for calls on behalf of the request. */
  readonly trace: TraceHeaders;
  note(note: RequestNote): void;
}

export interface Observer {
  /** Begins to observe a request when its request line arrives. `note` must follow once, at the end. */
  begin(request: IncomingMessage): Observation;
}

export class RequestObserver implements Observer, Observation {
  readonly trace = untraced;
  readonly #lines: LineLog;
  readonly #requests: Counter<"route" | "status">;
  readonly #seconds: Histogram<"route">;

  constructor(log: Logger, registry: Registry) {
    this.#lines = log.lines("request");
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
    this.#requests.labels({ route: note.route, status: String(note.status) }).inc();
    this.#seconds.labels(note).observe(note.ms / 1000);
    const members =
      `,"request_id":"${note.requestId}"${logMember("client_request_id", note.clientRequestId)}${logMember("trace_id", note.traceId)}` +
      `,"method":"${note.method}","route":"${note.route}","status":${note.status}` +
      `,"ms":${Math.round(note.ms * 10) / 10}${logMember("error_type", note.errorType)}${logMember("address", note.address)}`;
    if (note.status === 500) this.#lines.error(members, note.cause);
    else this.#lines.info(members);
  }
}
