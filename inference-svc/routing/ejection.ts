/**
 * Whether an endpoint is left alone because it fails. Five failures in a row, or more than half of the attempts of thirty seconds, eject it
 * for 30 s, and longer each time that it fails its trial. Ejected ones are asked after all others: none is ever left out, so that the last
 * one is asked whatever was seen of it.
 */
import { RollingCounts } from "./rolling-counts.ts";

const failuresInRow = 5;
const attemptsAtLeast = 20;
const failedShare = 0.5;
const slots = 30;
const slotMs = 1_000;

const ejectedMs = 30_000;
const longestMs = 300_000;
/** So that processes which saw the same outage do not come back together. */
const jitter = 0.2;
/** Whoever was to try it may be refused before: then the next one does. */
const claimMs = 5_000;

const wentWell = 0;
const failed = 1;

export type EndpointState = "in use" | "on trial" | "ejected";

/** How an attempt ended; what says nothing about the endpoint is neither. */
export type Ending = "well" | "failed" | "neither";

export class Ejection {
  #outcomes = new RollingCounts(2, slots, slotMs);
  #inRow = 0;
  /** How often in short succession. */
  #times = 0;
  #ejectedAt = 0;
  /** Undefined while in use. */
  #until: number | undefined;
  #backAt = Number.NEGATIVE_INFINITY;
  #trials = 0;
  #claimedAt = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds, here and everywhere */
  state(now: number): EndpointState {
    if (this.#until === undefined) return "in use";
    return now < this.#until ? "ejected" : "on trial";
  }

  /** Milliseconds until it is tried again; 0 when it may be. */
  leftMs(now: number): number {
    return Math.max(0, (this.#until ?? now) - now);
  }

  /** Something was heard of it within the last 30 seconds. */
  heard(now: number): boolean {
    return this.#outcomes.sum(now).some((count) => count > 0);
  }

  /** The last that was heard of it was a failure. */
  get failing(): boolean {
    return this.#inRow > 0 || this.#until !== undefined;
  }

  /** Whether the asker is to be the one who tries an endpoint on trial: one at a time. */
  claim(now: number): boolean {
    if (this.state(now) !== "on trial" || this.#trials > 0 || now - this.#claimedAt < claimMs) return false;
    this.#claimedAt = now;
    return true;
  }

  begin(now: number): WatchedAttempt {
    const trial = this.state(now) === "on trial";
    if (trial) this.#trials++;
    return new WatchedAttempt(this, now, trial);
  }

  /** For attempts: a trial is over. */
  leave(): void {
    this.#trials--;
  }

  /** For attempts: it answers. One that was asked before the ejection says nothing about now. */
  back(startedAt: number, now: number): void {
    if (this.#until === undefined || startedAt < this.#ejectedAt) return;
    this.#until = undefined;
    this.#backAt = now;
    this.#inRow = 0;
    this.#outcomes = new RollingCounts(2, slots, slotMs);
  }

  well(now: number): void {
    this.#inRow = 0;
    this.#outcomes.add(wentWell, now);
  }

  failed(trial: boolean, now: number): void {
    this.#inRow++;
    this.#outcomes.add(failed, now);
    if (this.state(now) === "on trial" && trial) this.#eject(this.#times + 1, now);
    else if (this.#until === undefined && this.#fails(now)) this.#eject(this.#faded(now) + 1, now);
  }

  #fails(now: number): boolean {
    const outcomes = this.#outcomes.sum(now);
    const failures = outcomes[failed]!;
    const all = failures + outcomes[wentWell]!;
    return this.#inRow >= failuresInRow || (all >= attemptsAtLeast && failures > failedShare * all);
  }

  /** Each 30 s in use take back one ejection. */
  #faded(now: number): number {
    return Math.max(0, this.#times - Math.floor((now - this.#backAt) / ejectedMs));
  }

  #eject(times: number, now: number): void {
    this.#times = Math.min(times, longestMs / ejectedMs);
    this.#ejectedAt = now;
    this.#claimedAt = Number.NEGATIVE_INFINITY;
    this.#until = now + Math.min(longestMs, ejectedMs * this.#times * (1 + jitter * Math.random()));
  }
}

/** One attempt at an endpoint; ends exactly once. */
export class WatchedAttempt {
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

  /** It has begun to answer. */
  committed(now: number): void {
    this.#leave();
    this.#ejection.back(this.startedAt, now);
  }

  end(how: Ending, now: number): void {
    this.#leave();
    if (how === "well") this.#ejection.well(now);
    else if (how === "failed") this.#ejection.failed(this.#trial, now);
  }

  #leave(): void {
    if (!this.#left) this.#ejection.leave();
    this.#left = true;
  }
}
