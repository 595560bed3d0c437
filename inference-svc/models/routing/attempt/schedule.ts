/**
 * Decides which endpoint is tried next: endpoints in the order of the route, the only endpoint of a model once more if
 * that may help, and an endpoint with a rate limit not before the announced time.
 */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { type AttemptDeadline, noAttemptDeadline } from "../../../turn/scope.ts";
import { faultOwner, isRefusedBeforeCall } from "./fault-owner.ts";
import type { Endpoint } from "../catalog.ts";
import type { EndpointRecords } from "../records/endpoint-record.ts";

/** Maximum attempts per model. Attempts do not count if the request was not read (no connection, or a key without quota). */
const maxAttempts = 3;
const maxEndpoints = 4;
/** Maximum attempts per endpoint; attempts with other credentials count as well. */
const maxAttemptsPerEndpoint = 3;

/**
 * Minimum pause in milliseconds before an endpoint is called again. The pause is random from here up (full jitter), so
 * requests that failed together do not come back together.
 */
const minPauseMs = 100;
const maxPauseMs = 500;
/** Maximum milliseconds a request waits for the end of a rate limit. */
const maxWaitMs = 10_000;
const waitJitterMs = 250;

/** Share of the remaining time reserved for the last endpoint. */
const reservedShare = 0.2;

/** A time in which an endpoint is not called. */
export interface Cooldown {
  /**
   * Reason of the cooldown. `limited`: too many requests, so a call would be useless; `refused`: the provider does not
   * accept the operator's keys.
   */
  readonly why: "limited" | "refused";
  /** Time at which the cooldown ends, by the clock of the records. */
  readonly until: number;
}

export interface ScheduledAttempt {
  readonly endpoint: Endpoint;
  readonly pauseMs: number;
  /** The event before this attempt; `nothing` marks the first one of a request. An attempt after a failure counts against the retry budget. */
  readonly follows: "nothing" | "failure" | "refusal";
  readonly deadline: AttemptDeadline;
}

export interface ScheduleDeps {
  readonly records: EndpointRecords;
  /** Finds the cooldown of an endpoint; undefined when the endpoint may be called. */
  readonly cooldown: (endpoint: Endpoint) => Cooldown | undefined;
  /** Deadline of the turn by the clock of the records. */
  readonly deadline: number;
}

/** Number of attempts, and endpoints already tried, for one model. */
interface ModelTally {
  attempts: number;
  endpoints: number;
  refused: boolean;
}

export class AttemptSchedule {
  readonly #endpoints: readonly Endpoint[];
  readonly #parts: ScheduleDeps;
  readonly #reservedFrom: number;
  readonly #tries = new Map<Endpoint, number>();
  #repeated: Set<Endpoint> | undefined;
  readonly #models = new Map<string, ModelTally>();
  #again: Omit<ScheduledAttempt, "deadline"> | undefined;
  #waited = false;
  /** Whether an endpoint was called: after a refusal within Sluice, the next attempt is still the first one. */
  #hasCalled = false;

  constructor(endpoints: readonly Endpoint[], parts: ScheduleDeps) {
    this.#endpoints = endpoints;
    this.#parts = parts;
    const { deadline, records } = parts;
    const leftMs = deadline - records.now();
    this.#reservedFrom = leftMs === Number.POSITIVE_INFINITY ? deadline : deadline - reservedShare * leftMs;
  }

  /** The next attempt. @returns undefined when no endpoint is left */
  next(): ScheduledAttempt | undefined {
    const step = this.#again ?? this.#untried() ?? this.#lastResort() ?? this.#afterRest();
    this.#again = undefined;
    if (step === undefined) return undefined;
    const { endpoint, pauseMs, follows } = step;
    const tries = this.#tries.get(endpoint) ?? 0;
    if (tries === 0) this.#tally(endpoint).endpoints++;
    this.#tries.set(endpoint, tries + 1);
    return { endpoint, pauseMs, follows, deadline: this.#deadline(endpoint) };
  }

  failed(endpoint: Endpoint, fault: Fault): void {
    const tally = this.#tally(endpoint);
    const owner = faultOwner(fault);
    if (!isRefusedBeforeCall(fault)) this.#hasCalled = true;
    if (owner === "caller") tally.refused = true;
    if (owner !== "credential" && fault.repeat !== "now") tally.attempts++;
    if (tally.refused || this.#tries.get(endpoint)! >= maxAttemptsPerEndpoint) return;
    if (owner === "credential") {
      // The provider may accept another one of the operator's keys.
      if (this.#parts.cooldown(endpoint) === undefined) this.#again = { endpoint, pauseMs: 0, follows: "refusal" };
    } else if (fault.repeat !== undefined && this.#repeated?.has(endpoint) !== true) this.#repeat(endpoint, fault);
  }

  /** Milliseconds until the first rate limit ends, rounded up; undefined when there is none. */
  limitedMs(): number | undefined {
    const { records, cooldown: rest } = this.#parts;
    const ends = this.#endpoints.map(rest).flatMap((found) => (found?.why === "limited" ? [found.until] : []));
    return ends.length === 0 ? undefined : Math.max(1, Math.ceil(Math.min(...ends) - records.now()));
  }

  /** Whether every endpoint is ejected for repeated failures. */
  allEjected(): boolean {
    const { records } = this.#parts;
    return this.#endpoints.every((each) => records.find(each)?.ejection.state(records.now()) === "ejected");
  }

  #repeat(endpoint: Endpoint, fault: Fault): void {
    (this.#repeated ??= new Set()).add(endpoint);
    if (fault.repeat === "now") this.#again = { endpoint, pauseMs: 0, follows: "refusal" };
    else if (this.#mayRepeatLater(endpoint, fault)) {
      const pauseMs = minPauseMs + Math.random() * (maxPauseMs - minPauseMs);
      this.#again = { endpoint, pauseMs, follows: "failure" };
    }
  }

  /**
   * Whether an endpoint may be called once more after a pause. If its model has other endpoints, they are tried
   * instead.
   */
  #mayRepeatLater(endpoint: Endpoint, { retryAfterMs }: Fault): boolean {
    const { records, deadline } = this.#parts;
    const now = records.now();
    return (
      !this.#endpoints.some((other) => other !== endpoint && other.model === endpoint.model) &&
      retryAfterMs <= maxPauseMs &&
      now + maxPauseMs < deadline &&
      records.get(endpoint).ejection.state(now) === "in use" &&
      this.#affordable(endpoint)
    );
  }

  #affordable(endpoint: Endpoint): boolean {
    const { records } = this.#parts;
    const { ejection, budget } = records.get(endpoint);
    const now = records.now();
    return budget.allows(ejection.state(now) === "in use", now);
  }

  #untried(): Omit<ScheduledAttempt, "deadline"> | undefined {
    return this.#first((endpoint) => this.#parts.cooldown(endpoint) === undefined);
  }

  /**
   * An endpoint not yet tried that refused the operator's keys a moment ago. It may accept them now, so calling it is
   * better than no attempt.
   */
  #lastResort(): Omit<ScheduledAttempt, "deadline"> | undefined {
    return this.#first((endpoint) => this.#parts.cooldown(endpoint)?.why === "refused");
  }

  #first(admits: (endpoint: Endpoint) => boolean): Omit<ScheduledAttempt, "deadline"> | undefined {
    const first = !this.#hasCalled;
    const endpoint = this.#endpoints.find(
      (each) => !this.#tries.has(each) && this.#open(each) && admits(each) && (first || this.#affordable(each)),
    );
    return endpoint && { endpoint, pauseMs: 0, follows: first ? "nothing" : "failure" };
  }

  /** The endpoint whose rate limit ends first, waited for once after all other endpoints were tried. */
  #afterRest(): Omit<ScheduledAttempt, "deadline"> | undefined {
    if (this.#waited) return undefined;
    this.#waited = true;
    const { records, cooldown: rest, deadline } = this.#parts;
    let soonest: { readonly endpoint: Endpoint; readonly until: number } | undefined;
    for (const endpoint of this.#endpoints) {
      const found = this.#open(endpoint) ? rest(endpoint) : undefined;
      if (found?.why === "limited" && found.until < (soonest?.until ?? Number.POSITIVE_INFINITY)) {
        soonest = { endpoint, until: found.until };
      }
    }
    const now = records.now();
    if (soonest === undefined || soonest.until - now > maxWaitMs) return undefined;
    const pauseMs = soonest.until - now + Math.random() * waitJitterMs;
    if (now + pauseMs >= deadline) return undefined;
    return { endpoint: soonest.endpoint, pauseMs, follows: this.#hasCalled ? "refusal" : "nothing" };
  }

  #deadline(endpoint: Endpoint): AttemptDeadline {
    const withinMs = this.#reservedFrom - this.#parts.records.now();
    const isOnly = this.#endpoints.length === 1;
    const last =
      withinMs <= 0 || isOnly || !this.#endpoints.some((other) => other !== endpoint && this.#follows(other));
    return last ? noAttemptDeadline : { withinMs, last };
  }

  /** Whether another endpoint that is likely to answer could be tried after this one. */
  #follows(endpoint: Endpoint): boolean {
    const { records, cooldown: rest } = this.#parts;
    if (this.#tries.has(endpoint) || !this.#open(endpoint) || rest(endpoint)) return false;
    return records.find(endpoint)?.ejection.state(records.now()) !== "ejected";
  }

  /** Whether the limits of the model allow another attempt at an endpoint. */
  #open(endpoint: Endpoint): boolean {
    const { attempts, endpoints, refused } = this.#tally(endpoint);
    if (refused || attempts >= maxAttempts) return false;
    const tries = this.#tries.get(endpoint) ?? 0;
    return tries === 0 ? endpoints < maxEndpoints : tries < maxAttemptsPerEndpoint;
  }

  #tally({ model }: Endpoint): ModelTally {
    let tally = this.#models.get(model);
    if (tally === undefined) this.#models.set(model, (tally = { attempts: 0, endpoints: 0, refused: false }));
    return tally;
  }
}
