/** Limits of the agent loop. At a limit, the model is called once more to answer with the results so far. */
import type { StopCondition, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { totalCost } from "../../turn/usage.ts";
import type { Offer } from "../tool.ts";

/** Maximum and default of `max_tool_calls`. */
const maxSteps = 30;
/** Hard cap when `stop_server_tools_when` replaces `max_tool_calls`: the client's conditions may never become true. */
const maxTurns = 100;
/** Maximum consecutive answers of the model without a successful call. */
const maxFailedTurns = 2;
/** Milliseconds reserved for the model's last answer. */
const answerMs = 10_000;

/** Why the loop stopped running tools. */
export type StopReason = StopCondition["type"] | "max_tool_calls" | "max_turns" | "errors" | "deadline";

/** The calls of one answer of the model. */
export interface AnswerCalls {
  /** Called server tools. */
  readonly offers: readonly Offer[];
  /** Names of the client's functions. */
  readonly functions: readonly string[];
}

/** Picodollars per dollar: costs are counted in 10^-12 USD. */
const picoPerDollar = 1e12;

export class Limits {
  readonly #conditions: readonly StopCondition[] | undefined;
  readonly #maxSteps: number;
  readonly #scope: Scope;
  readonly #inputCost: (request: TurnRequest) => bigint;
  #turns = 0;
  #failedTurns = 0;
  /** Tool calls run so far in this turn. */
  steps = 0;

  /** @param inputCost cost of the input alone of a further request, in 10^-12 USD; 0 when no price is known */
  constructor(request: TurnRequest, scope: Scope, inputCost: (request: TurnRequest) => bigint) {
    this.#conditions = request.stopServerToolsWhen;
    this.#maxSteps = this.#conditions ? Number.POSITIVE_INFINITY : (request.maxToolCalls ?? maxSteps);
    this.#scope = scope;
    this.#inputCost = inputCost;
  }

  /** Number of tool calls still allowed. */
  get room(): number {
    return this.#maxSteps - this.steps;
  }

  get limit(): number {
    return this.#maxSteps;
  }

  /**
   * Counts the calls of one answer.
   * @param allFailed whether every call failed
   * @param following the next request to the model
   * @returns why the loop must stop; undefined when it may go on
   */
  after(calls: AnswerCalls, allFailed: boolean, following: TurnRequest): StopReason | undefined {
    this.#turns++;
    this.steps += calls.offers.length;
    this.#failedTurns = allFailed ? this.#failedTurns + 1 : 0;
    const held = this.#conditions?.find((condition) => this.#holds(condition, calls, following));
    if (held) return held.type;
    if (this.steps >= this.#maxSteps) return "max_tool_calls";
    // The last answer counts as a turn, too.
    if (this.#turns >= maxTurns - 1) return "max_turns";
    if (this.#failedTurns >= maxFailedTurns) return "errors";
    return performance.now() > this.#scope.deadline - answerMs ? "deadline" : undefined;
  }

  #holds(condition: StopCondition, calls: AnswerCalls, following: TurnRequest): boolean {
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
        // Stops before the limit is crossed: the next turn costs at least its input.
        return Number(spent + this.#inputCost(following)) >= condition.max_cost_in_dollars * picoPerDollar;
      }
      case "finish_reason_is":
        // The loop continues only after the finish reason tool_calls; every other one ends the turn anyway.
        return condition.reason === "tool_calls";
    }
  }
}

/** Whether a call matches a tool named by its type in either spelling, by the type without its prefix, or by its function name. */
const isCalled =
  (wanted: string) =>
  ({ tool: { kinds }, name, spelling }: Offer): boolean =>
    [...kinds, name, spelling, kinds[0].slice(kinds[0].indexOf(":") + 1)].includes(wanted);
