/** When the tools of a turn have run often enough: then the model answers with what it has. */
import type { StopCondition, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { totalCost } from "../../turn/usage.ts";
import type { Offer } from "../tool.ts";

/** Maximum and default of `max_tool_calls`. */
const maxSteps = 30;
/** Under conditions of the client's own, which may never hold. */
const maxTurns = 100;
/** Turns in a row in which no call gave anything. */
const maxFailedTurns = 2;
/** Kept for the last answer. */
const answerMs = 10_000;

/** Why no more tools are run. */
export type StopReason = StopCondition["type"] | "max_tool_calls" | "max_turns" | "errors" | "deadline";

/** The calls of one answer of the model. */
export interface CallsMade {
  /** Server tools that were called. */
  readonly offers: readonly Offer[];
  /** Names of the client's functions. */
  readonly functions: readonly string[];
}

/** 10^-12 USD. */
const picoPerDollar = 1e12;

export class Limits {
  readonly #conditions: readonly StopCondition[] | undefined;
  readonly #maxSteps: number;
  readonly #scope: Scope;
  readonly #inputCost: (request: TurnRequest) => bigint;
  #turns = 0;
  #failedTurns = 0;
  /** Calls until now. */
  steps = 0;

  /** @param inputCost of asking that once more, in 10^-12 USD; 0 when no price is known */
  constructor(request: TurnRequest, scope: Scope, inputCost: (request: TurnRequest) => bigint) {
    this.#conditions = request.stopServerToolsWhen;
    this.#maxSteps = this.#conditions ? Number.POSITIVE_INFINITY : (request.maxToolCalls ?? maxSteps);
    this.#scope = scope;
    this.#inputCost = inputCost;
  }

  /** How many more calls may be run. */
  get room(): number {
    return this.#maxSteps - this.steps;
  }

  get limit(): number {
    return this.#maxSteps;
  }

  /**
   * After the calls of a turn: why these were the last; undefined when there may be more.
   * @param allFailed none of them gave anything
   * @param following what the model would be asked next
   */
  after(calls: CallsMade, allFailed: boolean, following: TurnRequest): StopReason | undefined {
    this.#turns++;
    this.steps += calls.offers.length;
    this.#failedTurns = allFailed ? this.#failedTurns + 1 : 0;
    const held = this.#conditions?.find((condition) => this.#holds(condition, calls, following));
    if (held) return held.type;
    if (this.steps >= this.#maxSteps) return "max_tool_calls";
    // The last answer is a turn, too.
    if (this.#turns >= maxTurns - 1) return "max_turns";
    if (this.#failedTurns >= maxFailedTurns) return "errors";
    return performance.now() > this.#scope.deadline - answerMs ? "deadline" : undefined;
  }

  #holds(condition: StopCondition, calls: CallsMade, following: TurnRequest): boolean {
    const { usage } = this.#scope.trace;
    switch (condition.type) {
      case "step_count_is":
        return this.steps >= condition.step_count;
      case "has_tool_call":
        return calls.functions.includes(condition.tool_name) || calls.offers.some(isCalled(condition.tool_name));
      case "max_tokens_used":
        return usage !== undefined && usage.inputTokens + usage.outputTokens >= condition.max_tokens;
      case "max_cost": {
        const spent = usage?.cost ? totalCost(usage.cost) : 0n;
        // Before it is crossed: the next turn costs at least its input.
        return Number(spent + this.#inputCost(following)) >= condition.max_cost_in_dollars * picoPerDollar;
      }
      case "finish_reason_is":
        // Finish reasons after which the loop would go on; every other one ends the turn by itself.
        return condition.reason === "tool_calls";
    }
  }
}

/** Matches a tool by its type in either spelling, by the type without its prefix, or by the name that the model calls. */
const isCalled =
  (wanted: string) =>
  ({ tool: { kinds }, name, spelling }: Offer): boolean =>
    [...kinds, name, spelling, kinds[0].slice(kinds[0].indexOf(":") + 1)].includes(wanted);
