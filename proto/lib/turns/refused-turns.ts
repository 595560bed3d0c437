/**
 * Limits the records of refused turns, which cost their client nothing. The first refusals of a key get a record each,
 * up to a burst and then one a second. Further refusals are only counted, in one record a second for each kind. A
 * killed process loses the counts of its last second.
 */
import { newId } from "../ids/id.ts";
import type { TurnFacts } from "./turn-facts.ts";

/** Maximum number of refusals of a key in a burst that get a record each. */
const burst = 60;
/** Separate records per second after a burst. */
const perSecond = 1;
const countMs = 1_000;
/** Maximum number of remembered pairs of key and kind of refusal. */
const maxRemembered = 10_000;

interface Allowance {
  records: number;
  /** Time of the last refusal by performance.now(). */
  at: number;
}

export interface RefusedTurnsDeps {
  readonly write: (turn: TurnFacts) => void;
  /** Whether records can be written at the moment; while they cannot, refusals are counted. */
  readonly hasRoom: () => boolean;
}

export class RefusedTurns {
  readonly #parts: RefusedTurnsDeps;
  readonly #allowances = new Map<string, Allowance>();
  #counted = new Map<string, TurnFacts>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: RefusedTurnsDeps) {
    this.#parts = parts;
  }

  note(turn: TurnFacts): void {
    if (this.#parts.hasRoom() && this.#allows(turn.keyHash)) this.#parts.write(turn);
    else this.#count(turn);
  }

  /** Writes records for the counted refusals, if records can be written. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#counted.size === 0) return;
    if (!this.#parts.hasRoom()) return this.#flushLater();
    const counted = this.#counted;
    this.#counted = new Map();
    for (const turn of counted.values()) this.#parts.write(turn);
  }

  #allows(keyHash: string): boolean {
    const now = performance.now();
    const known = this.#allowances.get(keyHash);
    const records = known ? Math.min(burst, known.records + ((now - known.at) / 1_000) * perSecond) : burst;
    const allowed = records >= 1;
    this.#allowances.delete(keyHash);
    this.#allowances.set(keyHash, { records: allowed ? records - 1 : records, at: now });
    if (this.#allowances.size > maxRemembered) this.#forgetOldest();
    return allowed;
  }

  /** Forgetting a key without recent refusals changes nothing, because its whole burst is available again. */
  #forgetOldest(): void {
    const [oldest] = this.#allowances.keys();
    if (oldest !== undefined) this.#allowances.delete(oldest);
  }

  #count(turn: TurnFacts): void {
    const { keyHash, httpStatus, errorType, providerError, providerCode, guardrailId, rule, door } = turn;
    const kind = JSON.stringify([keyHash, httpStatus, errorType, providerError, providerCode, guardrailId, rule, door]);
    const known = this.#counted.get(kind);
    if (known) known.count++;
    else if (this.#counted.size < maxRemembered) this.#counted.set(kind, countOf(turn));
    this.#flushLater();
  }

  #flushLater(): void {
    this.#timer ??= setTimeout(() => this.flush(), countMs).unref();
  }
}

/** The record for several counted turns, without the fields in which single turns differ. */
const countOf = ({ workspaceId, keyHash, openedAtMs, door, operation, outcome, ...failure }: TurnFacts): TurnFacts => ({
  generationId: newId("gen-"),
  requestId: "",
  workspaceId,
  keyHash,
  openedAtMs,
  durationMs: 0,
  door,
  operation,
  model: "",
  outcome,
  httpStatus: failure.httpStatus,
  errorType: failure.errorType,
  providerError: failure.providerError,
  providerCode: failure.providerCode,
  guardrailId: failure.guardrailId,
  guardrailAction: failure.guardrailAction,
  rule: failure.rule,
  streamed: false,
  traceId: "",
  tags: "",
  count: 1,
});
