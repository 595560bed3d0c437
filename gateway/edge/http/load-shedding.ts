/** Refuses turns while the process is overloaded. Administration and probes are never refused. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Cors } from "@sluice/proto/lib/http1/cors.js";
import type { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import type { Pressure } from "@sluice/proto/lib/load/pressure.js";
import { findKeyHash } from "./auth.ts";
import type { FaultForm } from "./errors.ts";
import { type RefusalDecision, refuseEarly } from "./early-refusal.ts";
import { refuseOverload } from "./shed.ts";

export interface SheddingDeps {
  readonly pressure: Pick<Pressure, "overloaded" | "refuses">;
  readonly pool: {
    /** Whether the waiting turns of a key use up its share of the turns sent to inference-svc. */
    hasItsShareWaiting(keyHash: string): boolean;
  };
  readonly cors: Cors | undefined;
  readonly lifecycle: Lifecycle;
}

export class LoadShedding implements RefusalDecision {
  readonly #parts: SheddingDeps;

  constructor(parts: SheddingDeps) {
    this.#parts = parts;
  }

  /**
   * Whether turns are refused by load. False while the gateway drains: Node must then write the answers, since they announce the end of the
   * connection.
   */
  get overloaded(): boolean {
    return this.#parts.pressure.overloaded && !this.#parts.lifecycle.draining;
  }

  /** Whether a turn is refused. When the queue is full, a key is refused only if its share is used up; a client without a key has no share. */
  refuses(request: IncomingMessage): boolean {
    const { pressure, pool } = this.#parts;
    if (!pressure.overloaded) return false;
    const keyHash = findKeyHash(request);
    return pressure.refuses(keyHash === undefined || pool.hasItsShareWaiting(keyHash));
  }

  /** Refuses a turn, with CORS headers so that pages of other origins can read the answer. */
  refuse(request: IncomingMessage, response: ServerResponse, form: FaultForm): void {
    if (request.headers.origin !== undefined) this.#parts.cors?.(request, response);
    refuseEarly(request, this);
    refuseOverload(request, response, form);
  }
}
