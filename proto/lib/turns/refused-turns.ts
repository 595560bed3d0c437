/**
 * Bounds the records of refused turns, which cost their client nothing: a key gets a separate record for each of a few refusals a second. Further refusals
 * are counted, in one record a second for each kind. A killed process loses the counts of its last second.
 */
import { newId } from "../ids/id.ts";
import type { TurnFacts } from "./turn-facts.ts";

/** Maximum burst of separately recorded refusals of one key. */
const burst = 60;
/** Records per second after the burst is used up. */
const perSecond = 1;
const countMs = 1_000;
/** Maximum number of remembered pairs of key and kind of refusal. */
const maxRemembered = 10_000;

interface Allowance {
  records: number;
  /** performance.now() */
  at: number;
}

export interface RefusedTurnsDeps {
  readonly write: (turn: TurnFacts) => void;
  /** Whether records can be written now; while they cannot, refusals are counted. */
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

  /** Writes the counted refusals, if records can be written. */
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

  /** A key without recent refusals has its whole allowance again, so forgetting it changes nothing. */
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

/** The record for counted turns, without the fields in which single turns differ. */
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
