/** Judges what is said by the rules in words. Not there for callers without such rules for the output. */
import type { Judge } from "../../internal/judge.ts";
import { TurnAbort } from "../../turn/signal.ts";
import type { Layer } from "../../turn/turn.ts";
import { settled } from "../output/layer.ts";
import { JudgedGate } from "./gate.ts";
import { judgedRules } from "./rules.ts";

/** What is said after a block nobody wants. */
const blocked = new Error("blocked by a rule");

/** @param judge undefined: the house has none, so that no rule can be judged by */
export const judgedOutput =
  (judge: Judge | undefined): Layer =>
  (next) =>
  async (request, scope) => {
    const rules = judgedRules(scope.caller, "output");
    if (rules.length === 0) return next(request, scope);
    // A signal of its own: the provider is stopped while the turn goes on to its end.
    const signal = new TurnAbort();
    const follow = () => signal.abort(scope.signal.reason);
    scope.signal.addEventListener("abort", follow);
    if (scope.signal.aborted) follow();
    const gate = new JudgedGate(judge, rules, { request, scope }, () => signal.abort(blocked));
    return settled(gate.guard(await next(request, { ...scope, signal })));
  };
