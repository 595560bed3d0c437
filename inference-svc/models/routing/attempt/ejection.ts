/**
 * Ejects an endpoint after repeated failures. Five failures in a row, or failures of more than half of the attempts of
 * thirty seconds, eject it for 30 s, and for longer each time its trial fails. Ejected endpoints are tried after all
 * others and never left out, so a request still has somewhere to go when every endpoint fails.
 *
 * News from other processes are only hints: they make the next request a trial here, too, and the outcome of the trial
 * decides. A process with a broken network can thus cost the others one request each, and never an endpoint.
 */
import { RollingCounts } from "../records/rolling-counts.ts";
import { Uptime } from "../records/uptime.ts";

const failuresInRow = 5;
const attemptsAtLeast = 20;
const failedShare = 0.5;
const slots = 30;
const slotMs = 1_000;

const ejectedMs = 30_000;
const maxEjectedMs = 300_000;
/** Random share of the ejection time, so processes that saw the same outage do not try again at the same moment. */
const jitter = 0.2;
/** Milliseconds after which a hint expires if no request has tried the endpoint. */
const newsLifetimeMs = 30_000;
/** Milliseconds for which a trial is reserved. The request that reserved it may be refused before; then another request makes the trial. */
const claimMs = 5_000;

const wentWell = 0;
const failed = 1;

export type EndpointState = "in use" | "on trial" | "ejected";

/** How an attempt ended; `neither` tells nothing about the endpoint. */
export type AttemptEnd = "well" | "failed" | "neither";

export class Ejection {
  /** Outcomes of every attempt in this process, including those that already led to an ejection. */
  readonly uptime = new Uptime();
  #outcomes = new RollingCounts(2, slots, slotMs);
  #inRow = 0;
  /** Number of ejections in short succession. */
  #times = 0;
  #ejectedAt = 0;
  /** Time at which the ejection ends; undefined while the endpoint is in use. */
  #until: number | undefined;
  /** Time at which another process's hint about failures expires; undefined without a hint, and after failures in this process. */
  #heardUntil: number | undefined;
  #backAt = Number.NEGATIVE_INFINITY;
  #trials = 0;
  #claimedAt = Number.NEGATIVE_INFINITY;
  readonly #changed: (failing: boolean) => void;

  /** @param changed called when attempts of this process show that the endpoint fails, or that it answers again */
  constructor(changed: (failing: boolean) => void = () => {}) {
    this.#changed = changed;
  }

  /** @param now time in milliseconds, as in all methods */
  state(now: number): EndpointState {
    if (this.#until === undefined) return "in use";
    if (this.#heardUntil !== undefined && now >= this.#heardUntil) return this.#forget();
    return now < this.#until ? "ejected" : "on trial";
  }

  /** Milliseconds until the next trial; 0 when it may begin. */
  remainingMs(now: number): number {
    return Math.max(0, (this.#until ?? now) - now);
  }

  /** Whether the last attempt failed. */
  get failing(): boolean {
    return this.#inRow > 0 || this.#until !== undefined;
  }

  /** Notes a hint of another process, after which a trial is due here. */
  noteNews(failing: boolean, now: number): void {
    if (this.state(now) === "in use") {
      if (!failing) return;
      this.#ejectedAt = now;
      this.#heardUntil = now + newsLifetimeMs;
    } else if (!failing && this.#heardUntil !== undefined) return void this.#forget();
    else if (failing) return;
    this.#claimedAt = Number.NEGATIVE_INFINITY;
    this.#until = now;
  }

  /** Reserves the trial of an endpoint for the caller. Only one trial runs at a time. @returns false when another request makes it */
  claim(now: number): boolean {
    if (this.state(now) !== "on trial" || this.#trials > 0 || now - this.#claimedAt < claimMs) return false;
    this.#claimedAt = now;
    return true;
  }

  begin(now: number): ObservedAttempt {
    const trial = this.state(now) === "on trial";
    if (trial) this.#trials++;
    return new ObservedAttempt(this, now, trial);
  }

  /** Called by attempts when the trial they made is over. */
  endTrial(): void {
    this.#trials--;
  }

  /** Called by attempts when the endpoint answers. An attempt that began before the ejection tells nothing about the present. */
  recover(startedAt: number, now: number): void {
    if (this.#until === undefined || startedAt < this.#ejectedAt) return;
    this.#inRow = 0;
    this.#outcomes = new RollingCounts(2, slots, slotMs);
    // The end of a hint that proved wrong is not announced to other processes.
    if (this.#heardUntil !== undefined) return void this.#forget();
    this.#until = undefined;
    this.#backAt = now;
    this.#changed(false);
  }

  #forget(): EndpointState {
    this.#until = undefined;
    this.#heardUntil = undefined;
    return "in use";
  }

  succeeded(now: number): void {
    this.#inRow = 0;
    this.#outcomes.add(wentWell, now);
    this.uptime.add(true, now);
  }

  failed(trial: boolean, now: number): void {
    this.#inRow++;
    this.#outcomes.add(failed, now);
    this.uptime.add(false, now);
    if (this.state(now) === "on trial" && trial) this.#eject(this.#times + 1, now);
    else if (this.#until === undefined && this.#fails(now)) this.#eject(this.#faded(now) + 1, now);
  }

  #fails(now: number): boolean {
    const outcomes = this.#outcomes.sum(now);
    const failures = outcomes[failed]!;
    const all = failures + outcomes[wentWell]!;
    return this.#inRow >= failuresInRow || (all >= attemptsAtLeast && failures > failedShare * all);
  }

  /** The number of ejections, less one for each 30 s in which the endpoint was in use since the last. */
  #faded(now: number): number {
    return Math.max(0, this.#times - Math.floor((now - this.#backAt) / ejectedMs));
  }

  #eject(times: number, now: number): void {
    this.#times = Math.min(times, maxEjectedMs / ejectedMs);
    this.#ejectedAt = now;
    this.#claimedAt = Number.NEGATIVE_INFINITY;
    this.#heardUntil = undefined;
    this.#until = now + Math.min(maxEjectedMs, ejectedMs * this.#times * (1 + jitter * Math.random()));
    this.#changed(true);
  }
}

/** An attempt at an endpoint, whose outcome is reported exactly once. */
export class ObservedAttempt {
  readonly #ejection: Ejection;
  readonly startedAt: number;
  readonly #trial: boolean;
  #left: boolean;

  constructor(ejection: Ejection, startedAt: number, trial: boolean) {
    this.#ejection = ejection;
    this.startedAt = startedAt;
    this.#trial = trial;
    this.#left = !trial;
  }

  /** Notes that the endpoint has begun to answer. */
  committed(now: number): void {
    this.#leave();
    this.#ejection.recover(this.startedAt, now);
  }

  end(how: AttemptEnd, now: number): void {
    this.#leave();
    if (how === "well") this.#ejection.succeeded(now);
    else if (how === "failed") this.#ejection.failed(this.#trial, now);
  }

  #leave(): void {
    if (!this.#left) this.#ejection.endTrial();
    this.#left = true;
  }
}
