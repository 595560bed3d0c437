/** Calls a judge model within its time limits: with bounded concurrency, retries, a circuit breaker, and a cache of its answers. */
import { createHash } from "node:crypto";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { JudgeSettings } from "@sluice/proto/config/internal-models.js";
import { throwIfAborted } from "../../turn/abort.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import type { Turn } from "../../turn/turn.ts";
import { AnswerCache } from "./answer-cache.ts";
import { type CallContext, type InternalQuestion, type Reply, callModel } from "./internal-call.ts";
import { Circuit } from "../../turn/circuit.ts";
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";

export type JudgeClientSettings = Pick<
  JudgeSettings,
  "timeout_ms" | "total_ms" | "retries" | "max_concurrency" | "cache_ttl_s" | "max_calls_per_request"
>;

/** Why a judge gave no answer. failed: the model could not be called; malformed: its answer is unreadable; late: no answer in time. */
export type FailureKind = "failed" | "malformed" | "late";

/** A judge gave no verdict, with the reason. */
export class JudgeUnavailable extends Error {
  readonly kind: FailureKind;

  constructor(
    message: string,
    { lack = "failed", cause }: { readonly lack?: FailureKind; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.kind = lack;
  }
}

export interface JudgeClientDeps<Answer> {
  /** Calls the endpoints of a model directly, without layers. */
  readonly turn: Turn;
  readonly settings: JudgeClientSettings;
  /** Parses the model's answer. @returns undefined when it does not have the requested form */
  readonly read: (reply: Reply) => Answer | undefined;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
}

export class JudgeClient<Answer> {
  readonly #parts: JudgeClientDeps<Answer>;
  readonly #circuit: Circuit;
  readonly #slots: ConcurrencySlots;
  readonly #answers: AnswerCache<Answer>;

  constructor(parts: JudgeClientDeps<Answer>) {
    const { settings, now } = parts;
    this.#parts = parts;
    this.#circuit = new Circuit(now);
    this.#slots = new ConcurrencySlots(settings.max_concurrency);
    this.#answers = new AnswerCache(settings.cache_ttl_s * 1_000, now);
  }

  /**
   * @param key texts that identify the question: everything on which the answer depends
   * @param question makes the question; called only if a call is needed
   * @throws JudgeUnavailable; Fault when the turn is over, or when the key has to pay for the answer and cannot
   */
  async get(key: readonly string[], question: () => InternalQuestion, occasion: CallContext): Promise<Answer> {
    const { signal, caller } = occasion.scope;
    const digest = createHash("sha256")
      .update(JSON.stringify([...key, caller.workspaceId]))
      .digest("base64");
    try {
      return await this.#answers.get(digest, (until) => this.#requestVerdict(question, occasion, until), signal);
    } catch (error) {
      throwIfAborted(signal);
      if (isUnpaid(error)) throw error;
      throw error instanceof JudgeUnavailable ? error : new JudgeUnavailable("the judge failed", { cause: error });
    }
  }

  async #requestVerdict(question: () => InternalQuestion, occasion: CallContext, signal: TurnSignal): Promise<Answer> {
    if (this.#circuit.open) throw new JudgeUnavailable("the judge does not answer");
    const { total_ms, retries } = this.#parts.settings;
    const until = performance.now() + total_ms;
    let lack: FailureKind = "late";
    let cause: unknown;
    for (let left = retries; left >= 0 && performance.now() < until; left--) {
      throwIfAborted(signal);
      try {
        const found = this.#parts.read(await this.#once(question(), occasion, signal, until));
        this.#circuit.succeeded();
        if (found !== undefined) return found;
        lack = "malformed";
        cause = new Error("an answer of another form");
      } catch (error) {
        throwIfAborted(signal);
        if (error instanceof JudgeUnavailable || isUnpaid(error)) throw error;
        lack = isLate(error) ? "late" : "failed";
        cause = error;
        // A call the request's policy forbids is not the judge's failure, and does not open the circuit breaker.
        if (!isForbidden(error)) this.#circuit.failed();
        if (isOurs(error)) break;
      }
    }
    throw new JudgeUnavailable("the judge gave no verdict", { lack, cause });
  }

  async #once(question: InternalQuestion, occasion: CallContext, signal: TurnSignal, until: number): Promise<Reply> {
    const release = await this.#slots.take(until - performance.now());
    if (release === undefined) throw new JudgeUnavailable("too many questions wait", { lack: "late" });
    try {
      const { turn, settings } = this.#parts;
      const timeoutMs = Math.max(1, Math.min(settings.timeout_ms, until - performance.now()));
      return await callModel(turn, question, occasion, { signal, timeoutMs, charged: this.#isCharged(occasion) });
    } finally {
      release();
    }
  }

  /** Counts a call of the request. @returns whether its free calls are used up, so the key pays */
  #isCharged({ scope: { trace } }: CallContext): boolean {
    const calls = (trace.internalCalls.get(this) ?? 0) + 1;
    trace.internalCalls.set(this, calls);
    return calls > this.#parts.settings.max_calls_per_request;
  }
}

/** Whether the budget refused a call the key has to pay for. */
const isUnpaid = (error: unknown): error is Fault =>
  error instanceof Fault &&
  [FaultReason.PAYMENT_REQUIRED, FaultReason.BUDGET_HELD, FaultReason.GUARDRAIL_BLOCKED].includes(error.reason);

const isLate = (error: unknown): boolean =>
  error instanceof Fault && [FaultReason.DEADLINE_EXCEEDED, FaultReason.PROVIDER_TIMEOUT].includes(error.reason);

const isForbidden = (error: unknown): boolean =>
  error instanceof Fault && [FaultReason.NO_ENDPOINTS, FaultReason.PERMISSION_DENIED].includes(error.reason);

/** Whether the failure is the request's or Sluice's own, so another try would fail in the same way. */
const isOurs = (error: unknown): boolean =>
  error instanceof Fault &&
  [FaultReason.NO_ENDPOINTS, FaultReason.PERMISSION_DENIED, FaultReason.INVALID_REQUEST].includes(error.reason);
