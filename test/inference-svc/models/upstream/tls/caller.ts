/**
 * A process that calls servers over Sluice's connections, as its parent orders. Node reads the trusted certificates when a process starts, so
 * the process of the tests cannot trust the certificates that it makes.
 */
import { createHash } from "node:crypto";
import { Connections } from "@sluice/inference-svc/models/upstream/transport/connections.js";
import type { Connection, ResponseHandler } from "@sluice/inference-svc/models/upstream/transport/http/connection.js";
import type { ResponseHead } from "@sluice/inference-svc/models/upstream/transport/http/response-head.js";

/** A request to send, or a paused request to resume, or a request to give up. */
export type CallerCommand =
  | {
      readonly kind: "ask";
      readonly id: number;
      readonly origin: string;
      readonly path: string;
      readonly stopsAfter?: number;
      /** Milliseconds for which the process blocks after writing the request: the response is there before the process reads it. */
      readonly blocksMs?: number;
    }
  | { readonly kind: "resume" | "close"; readonly id: number };

/** Outcome of a request. */
export interface CallerReport {
  readonly id: number;
  readonly kind: "stopped" | "ended" | "failed";
  readonly status: number;
  readonly bytes: number;
  readonly sha1: string;
  /** The last kilobyte of the body. */
  readonly end: string;
  /** Whether the request may have reached the server. */
  readonly isSent: boolean;
  readonly code?: string;
  readonly message?: string;
}

const pools = new Map<string, Connections>();
const calls = new Map<number, Call>();

class Call implements ResponseHandler {
  readonly #order: CallerCommand & { kind: "ask" };
  readonly #connection: Connection;
  readonly #hash = createHash("sha1");
  #status = 0;
  #bytes = 0;
  #end = "";
  #isSent = false;
  #hasStopped = false;

  constructor(order: CallerCommand & { kind: "ask" }, connection: Connection) {
    this.#order = order;
    this.#connection = connection;
  }

  start(): void {
    const { origin, path, blocksMs = 0 } = this.#order;
    const head = `POST ${path} HTTP/1.1\r\nhost: ${new URL(origin).host}\r\nconnection: keep-alive\r\n`;
    this.#connection.send({ head, body: "{}" }, this);
    // A reused connection writes in an immediate, too, and has scheduled it first.
    if (blocksMs > 0) setImmediate(() => block(blocksMs));
  }

  resume(): void {
    this.#connection.resume();
  }

  close(): void {
    this.#connection.close();
  }

  onRequestStart(): void {
    this.#isSent = true;
  }

  onResponseStart({ status }: ResponseHead): void {
    this.#status = status;
  }

  onResponseData(bytes: Buffer): void {
    this.#bytes += bytes.length;
    this.#hash.update(bytes);
    this.#end = (this.#end + bytes.toString("latin1")).slice(-1_024);
    const { stopsAfter = Number.POSITIVE_INFINITY } = this.#order;
    if (this.#hasStopped || this.#bytes < stopsAfter) return;
    this.#hasStopped = true;
    this.#connection.pause();
    this.#report("stopped", "");
  }

  onResponseEnd(): void {
    this.#report("ended", this.#hash.digest("hex"));
  }

  onResponseError({ code, message }: Error & { code?: string }): void {
    this.#report("failed", "", { message, ...(code !== undefined && { code }) });
  }

  #report(kind: CallerReport["kind"], sha1: string, error: Pick<CallerReport, "code" | "message"> = {}): void {
    const report: CallerReport = {
      id: this.#order.id,
      kind,
      status: this.#status,
      bytes: this.#bytes,
      sha1,
      end: this.#end,
      isSent: this.#isSent,
      ...error,
    };
    process.send?.(report);
  }
}

function block(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

function poolOf(origin: string): Connections {
  const pool = pools.get(origin) ?? new Connections(origin, 20_000);
  pools.set(origin, pool);
  return pool;
}

process.on("message", (order: CallerCommand) => {
  if (order.kind !== "ask") return calls.get(order.id)?.[order.kind]();
  const call = new Call(order, poolOf(order.origin).take());
  calls.set(order.id, call);
  call.start();
});
