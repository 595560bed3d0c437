/** Time limits for the phases of an HTTP exchange. */
import { type WheelTimer, timeLimits } from "@sluice/proto/lib/time/timer-wheel.js";
import type { AttemptDeadline } from "../../../turn/scope.ts";

/** Maximum milliseconds to wait for the usage after the finish reason. */
const figuresMs = 5_000;
/** Maximum milliseconds to wait for the last bytes of a finished answer, so its connection can be used again. */
const lingerMs = 1_000;

export interface Timeouts {
  readonly headers_ms: number;
  readonly first_event_ms: number;
  readonly idle_ms: number;
}

export type Phase = "connection" | "headers" | "first event" | "event" | "figures" | "close";

export interface DeadlineWatcher {
  /** Called when the time limit of the phase has passed. */
  expired(phase: Phase): void;
}

const look = (deadline: Deadline): void => deadline.look();

/** The deadline of the current phase; a single timer serves all phases. */
export class Deadline {
  readonly #timeouts: Timeouts;
  readonly #attempt: AttemptDeadline;
  readonly #watcher: DeadlineWatcher;
  phase: Phase = "connection";
  #timer: WheelTimer | undefined;
  /** performance.now() at which the time of the phase is over. */
  #dueMs = Number.POSITIVE_INFINITY;
  /** Latest performance.now() for the first event with which there is time for a fallback. */
  #firstEventDueMs = Number.POSITIVE_INFINITY;
  /** performance.now() of the timer's next call. It may be before the deadline; then the timer is set again. */
  #firesMs = Number.POSITIVE_INFINITY;

  constructor(timeouts: Timeouts, attempt: AttemptDeadline, watcher: DeadlineWatcher) {
    this.#timeouts = timeouts;
    this.#attempt = attempt;
    this.#watcher = watcher;
  }

  /** Starts the time limit of the attempt. */
  begin(): void {
    this.#firstEventDueMs = performance.now() + this.#attempt.withinMs;
    this.enter("connection");
  }

  /** Begins or restarts a phase. Called for every event, so a timer that fires early enough stays as it is. */
  enter(phase: Phase): void {
    this.phase = phase;
    const dueMs = performance.now() + this.#limitMs();
    const waitsForFirst = phase === "connection" || phase === "headers" || phase === "first event";
    this.#dueMs = waitsForFirst ? Math.min(dueMs, this.#firstEventDueMs) : dueMs;
    if (this.#dueMs < this.#firesMs) this.#arm();
  }

  /** Stops the timer until the next phase. */
  stop(): void {
    this.#timer?.stop();
    this.#firesMs = Number.POSITIVE_INFINITY;
  }

  /**
   * Sets the timer so it fires within the idle timeout at the latest: one timer then serves a quick answer from its
   * beginning to its end.
   */
  #arm(): void {
    this.#timer?.stop();
    const now = performance.now();
    const waitMs = Math.min(this.#dueMs - now, this.#timeouts.idle_ms);
    this.#firesMs = now + waitMs;
    this.#timer = timeLimits.start(waitMs, look, this);
  }

  /** Called by the timer, possibly before the deadline. */
  look(): void {
    this.#firesMs = Number.POSITIVE_INFINITY;
    if (performance.now() < this.#dueMs) this.#arm();
    else this.#watcher.expired(this.phase);
  }

  #limitMs(): number {
    const { headers_ms, first_event_ms, idle_ms } = this.#timeouts;
    switch (this.phase) {
      case "connection":
        // The connection itself limits this phase.
        return Number.POSITIVE_INFINITY;
      case "headers":
        return headers_ms;
      case "first event":
        return this.#attempt.last ? Number.POSITIVE_INFINITY : first_event_ms;
      case "event":
        return idle_ms;
      case "figures":
        return Math.min(figuresMs, idle_ms);
      case "close":
        return lingerMs;
    }
  }
}
