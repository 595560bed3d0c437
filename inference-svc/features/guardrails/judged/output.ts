/** Judges answers by guardrail rules in words. Nothing is judged for callers without such rules. */
import type { Judge } from "../../../models/internal-calls/judge.ts";
import { toGeneratedAnswer, holdUntilCommit } from "../../../turn/answer-kinds.ts";
import { StoppableAnswer } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";
import { JudgeGuard } from "./judge-guard.ts";
import { buildJudgedRules } from "./rules.ts";

/** @param judge undefined when the configuration file names no judge model: no rule then has a verdict */
export const judgedOutput =
  (judge: Judge | undefined): Layer =>
  (next) =>
  (request, scope) => {
    const rules = buildJudgedRules(scope.caller, "output");
    if (rules.length === 0) return next(request, scope);
    const answer = new StoppableAnswer((inner) => next(request, inner), scope);
    return holdUntilCommit(toGeneratedAnswer(new JudgeGuard(judge, rules, { request, scope }).guard(answer)));
  };
