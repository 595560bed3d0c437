/** Simulated endpoints of providers: the time they take, and whether they answer. */
import type { Endpoint } from "@sluice/inference-svc/models/routing/catalog.js";
import type { Router } from "@sluice/inference-svc/models/routing/choose/router.js";
import { Answer, type Batch, type NextBatch, type Turn } from "@sluice/inference-svc/turn/turn.js";
import { providerFault, providerTimeout } from "@sluice/inference-svc/models/upstream/failure.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Random } from "../../support/random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/**
 * - `well`: answers; one call in a thousand fails.
 * - `refusing`: answers 503 to everything, soon.
 * - `silent`: takes calls and never answers.
 * - `brownout`: answers 503 to three calls in ten, and takes five times as long for the others.
 */
export type ProviderHealth = "well" | "refusing" | "silent" | "brownout";

const failedShare: Readonly<Record<ProviderHealth, number>> = { well: 0.001, refusing: 1, silent: 1, brownout: 0.3 };
/** Mean milliseconds until the first event. */
const answerMs = 300;
const leastAnswerMs = 100;
const refusalMs = 20;
const brownoutFactor = 5;
/** `timeouts.headers_ms` of the providers. The default of five minutes is for models that reason long before their first word. */
export const headersTimeoutMs = 10_000;

const usage = { inputTokens: 300, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 100, reasoningTokens: 0 };
const whole: Batch = [{ type: "end", outcome: { status: "completed", serviceTier: "default", usage } }];

/** An answer that is decided when it begins, and delivered later. */
class LateAnswer extends Answer {
  #result: Batch | Fault | "end" | undefined;
  #wake = () => {};

  arrive(result: Batch | Fault): void {
    this.#result = result;
    this.#wake();
  }

  override next(wake: () => void): NextBatch {
    const result = this.#result;
    this.#wake = wake;
    if (result === undefined) return "pending";
    if (result instanceof Error) throw result;
    this.#result = "end";
    return result;
  }

  override close(): undefined {}
}

/** The provider of one endpoint, which all replicas share. */
export class SimulatedProvider {
  health: ProviderHealth = "well";
  /** Number of calls in each tenth of a second since the start. */
  readonly calls: number[] = [];
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #startMs: number;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
    this.#startMs = time.now;
  }

  /** The turn that a replica runs to call this endpoint. */
  turnFor(endpoint: Endpoint, router: Router): Turn {
    return (_, scope) => {
      const tenth = Math.floor((this.#time.now - this.#startMs) / 100);
      this.calls[tenth] = (this.calls[tenth] ?? 0) + 1;
      const answer = new LateAnswer();
      const fails = this.#random.chance(failedShare[this.health]);
      const fault = fails ? this.#fault() : undefined;
      this.#time.after(this.#takesMs(fails, scope.attempt.withinMs), () => {
        if (fault === undefined) router.noteAnswer(endpoint, scope, usage);
        answer.arrive(fault ?? whole);
      });
      return answer;
    };
  }

  #fault(): Fault {
    return this.health === "silent"
      ? providerTimeout("headers")
      : providerFault({ status: 503 }).with({ repeat: "later" });
  }

  #takesMs(fails: boolean, withinMs: number): number {
    if (this.health === "silent") return Math.min(headersTimeoutMs, withinMs);
    if (fails) return this.#random.exponential(refusalMs);
    const ms = leastAnswerMs + this.#random.exponential(answerMs - leastAnswerMs);
    return this.health === "brownout" ? ms * brownoutFactor : ms;
  }
}
