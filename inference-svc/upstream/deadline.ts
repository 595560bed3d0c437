/** How long each phase of an exchange may last. */
import type { Patience } from "../turn/turn.ts";

/** How long the figures are waited for after the finish reason. */
const figuresMs = 5_000;
/** How long the last bytes of an answer are waited for that has been read, so that its connection can be used again. */
const lingerMs = 1_000;

export interface Timeouts {
  readonly headers_ms: number;
  readonly first_event_ms: number;
  readonly idle_ms: number;
}

type Phase = "connection" | "headers" | "first event" | "event" | "figures" | "close";

/** One timer for all phases. */
export class Deadline {
  readonly #timeouts: Timeouts;
  readonly #patience: Patience;
  readonly #passed: () => void;
  phase: Phase = "connection";
  #timer: NodeJS.Timeout | undefined;
  /** performance.now() at which the phase has lasted too long. */
  #dueMs = Number.POSITIVE_INFINITY;
  /** performance.now() by which a first event must be there, if others are to be asked in time. */
  #patientUntilMs = Number.POSITIVE_INFINITY;
  /** When the timer fires: it may be earlier than what is due, and then looks again. */
  #firesMs = Number.POSITIVE_INFINITY;

  constructor(timeouts: Timeouts, patience: Patience, passed: () => void) {
    this.#timeouts = timeouts;
    this.#patience = patience;
    this.#passed = passed;
  }

  /** From here on others are waiting to be asked. */
  begin(): void {
    this.#patientUntilMs = performance.now() + this.#patience.withinMs;
    this.enter("connection");
  }

  /** Begins the phase, or begins it again: once an event, so a timer that fires early enough is left as it is. */
  enter(phase: Phase): void {
    this.phase = phase;
    const dueMs = performance.now() + this.#limitMs();
    this.#dueMs = this.#waitsForFirst ? Math.min(dueMs, this.#patientUntilMs) : dueMs;
    if (this.#dueMs < this.#firesMs) this.#arm();
  }

  /** Until a phase begins. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#firesMs = Number.POSITIVE_INFINITY;
  }

  /** Never later than an event that comes next would need it: so one timer serves a quick answer from its beginning to its end. */
  #arm(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const waitMs = Math.ceil(Math.min(this.#dueMs - now, this.#timeouts.idle_ms));
    this.#firesMs = now + waitMs;
    this.#timer = setTimeout(this.#look, waitMs);
  }

  readonly #look = (): void => {
    this.#firesMs = Number.POSITIVE_INFINITY;
    if (performance.now() < this.#dueMs) this.#arm();
    else this.#passed();
  };

  get #waitsForFirst(): boolean {
    return this.phase === "connection" || this.phase === "headers" || this.phase === "first event";
  }

  #limitMs(): number {
    const { headers_ms, first_event_ms, idle_ms } = this.#timeouts;
    switch (this.phase) {
      case "connection":
        // undici's own.
        return Number.POSITIVE_INFINITY;
      case "headers":
        return headers_ms;
      case "first event":
        return this.#patience.last ? Number.POSITIVE_INFINITY : first_event_ms;
      case "event":
        return idle_ms;
      case "figures":
        return Math.min(figuresMs, idle_ms);
      case "close":
        return lingerMs;
    }
  }
}
