/**
 * Who is asked next. One endpoint after the other in the order of the route; the only one of a model once more where that may help; whoever has only just said "too many requests" not before the time that was named.
 */
import type { Fault } from "@sluice/proto/runtime/fault.js";
import type { Patience } from "../turn/turn.ts";
import { isCallers, isKeys } from "./blame.ts";
import type { Endpoint } from "./catalog.ts";
import type { EndpointRecords } from "./endpoint-record.ts";

/** For each model. Attempts whose request was not looked at (no connection, or nothing left for the key) do not count. */
const mostAttempts = 3;
const mostEndpoints = 4;
/** With other keys, too. */
const mostAttemptsAtOne = 3;

/** Full jitter: those who failed together do not come back together. */
const leastPauseMs = 100;
const mostPauseMs = 500;
/** Nobody waits longer for the next attempt at a limit. */
const mostWaitMs = 10_000;
const waitJitterMs = 250;

/** Of the time that is left, what nobody but the last one may use up. */
const reservedShare = 0.2;

/** Why an endpoint is not to be asked now. */
export interface Rest {
  /** limited: too many requests, so that asking is in vain; refused: the house's keys are not taken. */
  readonly why: "limited" | "refused";
  /** By the clock of the records. */
  readonly until: number;
}

export interface Step {
  readonly endpoint: Endpoint;
  readonly pauseMs: number;
  /** What was before it; nothing: the first attempt of the request. What follows on a failure is counted by the budget. */
  readonly follows: "nothing" | "failure" | "refusal";
  readonly patience: Patience;
}

export interface WalkParts {
  readonly records: EndpointRecords;
  /** Undefined when it may be asked. */
  readonly rest: (endpoint: Endpoint) => Rest | undefined;
  /** By the clock of the records. */
  readonly deadline: number;
}

/** What was asked for one model. */
interface ModelTally {
  attempts: number;
  endpoints: number;
  refused: boolean;
}

export class Walk {
  readonly #endpoints: readonly Endpoint[];
  readonly #parts: WalkParts;
  readonly #reservedFrom: number;
  readonly #tries = new Map<Endpoint, number>();
  readonly #repeated = new Set<Endpoint>();
  readonly #models = new Map<string, ModelTally>();
  #again: Omit<Step, "patience"> | undefined;
  #waited = false;

  constructor(endpoints: readonly Endpoint[], parts: WalkParts) {
    this.#endpoints = endpoints;
    this.#parts = parts;
    const { deadline, records } = parts;
    const leftMs = deadline - records.now();
    this.#reservedFrom = leftMs === Number.POSITIVE_INFINITY ? deadline : deadline - reservedShare * leftMs;
  }

  /** Undefined when nobody is left. */
  next(): Step | undefined {
    const step = this.#again ?? this.#untried() ?? this.#lastResort() ?? this.#afterRest();
    this.#again = undefined;
    if (step === undefined) return undefined;
    const { endpoint } = step;
    const tries = this.#tries.get(endpoint) ?? 0;
    if (tries === 0) this.#tally(endpoint).endpoints++;
    this.#tries.set(endpoint, tries + 1);
    return { ...step, patience: this.#patience(endpoint) };
  }

  failed(endpoint: Endpoint, fault: Fault): void {
    const tally = this.#tally(endpoint);
    if (isCallers(fault)) tally.refused = true;
    if (!isKeys(fault) && fault.repeat !== "now") tally.attempts++;
    if (tally.refused || this.#tries.get(endpoint)! >= mostAttemptsAtOne) return;
    if (isKeys(fault)) {
      // Another key may be taken.
      if (this.#parts.rest(endpoint) === undefined) this.#again = { endpoint, pauseMs: 0, follows: "refusal" };
    } else if (fault.repeat !== undefined && !this.#repeated.has(endpoint)) this.#repeat(endpoint, fault);
  }

  /** Whole milliseconds until the first limit is over; undefined when there is none. */
  limitedMs(): number | undefined {
    const { records, rest } = this.#parts;
    const ends = this.#endpoints.map(rest).flatMap((found) => (found?.why === "limited" ? [found.until] : []));
    return ends.length === 0 ? undefined : Math.max(1, Math.ceil(Math.min(...ends) - records.now()));
  }

  #repeat(endpoint: Endpoint, fault: Fault): void {
    this.#repeated.add(endpoint);
    if (fault.repeat === "now") this.#again = { endpoint, pauseMs: 0, follows: "refusal" };
    else if (this.#mayRepeatLater(endpoint, fault)) {
      const pauseMs = leastPauseMs + Math.random() * (mostPauseMs - leastPauseMs);
      this.#again = { endpoint, pauseMs, follows: "failure" };
    }
  }

  /** Where a model has several endpoints, the others take the place of a repeat: nobody waits for the one that has just failed. */
  #mayRepeatLater(endpoint: Endpoint, { retryAfterMs }: Fault): boolean {
    const { records, deadline } = this.#parts;
    const now = records.now();
    return (
      !this.#endpoints.some((other) => other !== endpoint && other.model === endpoint.model) &&
      retryAfterMs <= mostPauseMs &&
      now + mostPauseMs < deadline &&
      records.of(endpoint).ejection.state(now) === "in use" &&
      this.#affordable(endpoint)
    );
  }

  #affordable(endpoint: Endpoint): boolean {
    const { records } = this.#parts;
    const { ejection, budget } = records.of(endpoint);
    const now = records.now();
    return budget.allows(ejection.state(now) === "in use", now);
  }

  #untried(): Omit<Step, "patience"> | undefined {
    return this.#first((endpoint) => this.#parts.rest(endpoint) === undefined);
  }

  /** Whoever refused the house's keys a moment ago may take them now: better than to ask nobody. */
  #lastResort(): Omit<Step, "patience"> | undefined {
    return this.#first((endpoint) => this.#parts.rest(endpoint)?.why === "refused");
  }

  #first(admits: (endpoint: Endpoint) => boolean): Omit<Step, "patience"> | undefined {
    const first = this.#tries.size === 0;
    const endpoint = this.#endpoints.find(
      (each) => !this.#tries.has(each) && this.#open(each) && admits(each) && (first || this.#affordable(each)),
    );
    return endpoint && { endpoint, pauseMs: 0, follows: first ? "nothing" : "failure" };
  }

  /** Once, when everybody else was asked: the limit that ends first. */
  #afterRest(): Omit<Step, "patience"> | undefined {
    if (this.#waited) return undefined;
    this.#waited = true;
    const { records, rest, deadline } = this.#parts;
    let soonest: { readonly endpoint: Endpoint; readonly until: number } | undefined;
    for (const endpoint of this.#endpoints) {
      const found = this.#open(endpoint) ? rest(endpoint) : undefined;
      if (found?.why === "limited" && found.until < (soonest?.until ?? Number.POSITIVE_INFINITY)) {
        soonest = { endpoint, until: found.until };
      }
    }
    const now = records.now();
    if (soonest === undefined || soonest.until - now > mostWaitMs) return undefined;
    const pauseMs = soonest.until - now + Math.random() * waitJitterMs;
    if (now + pauseMs >= deadline) return undefined;
    return { endpoint: soonest.endpoint, pauseMs, follows: this.#tries.size === 0 ? "nothing" : "refusal" };
  }

  #patience(endpoint: Endpoint): Patience {
    const withinMs = this.#reservedFrom - this.#parts.records.now();
    const last = withinMs <= 0 || !this.#endpoints.some((other) => other !== endpoint && this.#follows(other));
    return last ? { withinMs: Number.POSITIVE_INFINITY, last } : { withinMs, last };
  }

  /** Whether it could be asked after another one and can be expected to answer. */
  #follows(endpoint: Endpoint): boolean {
    const { records, rest } = this.#parts;
    if (this.#tries.has(endpoint) || !this.#open(endpoint) || rest(endpoint)) return false;
    return records.find(endpoint)?.ejection.state(records.now()) !== "ejected";
  }

  /** Whether anything may still be asked for its model there. */
  #open(endpoint: Endpoint): boolean {
    const { attempts, endpoints, refused } = this.#tally(endpoint);
    if (refused || attempts >= mostAttempts) return false;
    const tries = this.#tries.get(endpoint) ?? 0;
    return tries === 0 ? endpoints < mostEndpoints : tries < mostAttemptsAtOne;
  }

  #tally({ model }: Endpoint): ModelTally {
    let tally = this.#models.get(model);
    if (tally === undefined) this.#models.set(model, (tally = { attempts: 0, endpoints: 0, refused: false }));
    return tally;
  }
}
