/** Judges what is said by the rules in words. Not there for callers without such rules for the output. */
import type { Judge } from "../../internal/judge.ts";
import type { Layer } from "../../turn/turn.ts";
import { settled } from "../output/layer.ts";
import { JudgedGate } from "./gate.ts";
import { judgedRules } from "./rules.ts";

/** @param judge undefined: the house has none, so that no rule can be judged by */
export const judgedOutput =
  (judge: Judge | undefined): Layer =>
  (next) =>
  async (request, scope) => {
    const rules = judgedRules(scope.caller, "output");
    if (rules.length === 0) return next(request, scope);
    const gate = new JudgedGate(judge, rules, { request, scope });
    return settled(gate.guard(await next(request, scope)));
  };
