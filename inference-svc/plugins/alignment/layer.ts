/** The plugin `alignment`: states rules to the model, and evaluates everything it says against them before, or while, it is delivered. */
import type { AlignmentPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { AlignmentSettings } from "@sluice/proto/runtime/house/alignment.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { Occasion, Route } from "../../internal/call.ts";
import type { Judge } from "../../internal/judge.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Layer } from "../../turn/turn.ts";
import { audited } from "./audit.ts";
import { enforced } from "./enforce.ts";
import { Evaluator, type Rule } from "./evaluator.ts";
import { type Evaluated, stageOf } from "./report.ts";
import { compile } from "./rules/compile.ts";
import { type Alignment, alignmentOf } from "./settings.ts";
import { instructed } from "./told.ts";

export interface AlignmentParts {
  readonly settings: AlignmentSettings;
  /** Undefined: the house has none, so that only rules of certain forms can be evaluated. */
  readonly judge: Judge | undefined;
  readonly route: Route;
  /** What every text is looked at by before a model reads it: what a retry adds is one. */
  readonly guards: readonly Layer[];
}

/** Not there for requests without the plugin. @throws Fault INVALID_REQUEST for rules that nobody may evaluate */
export const alignment =
  (parts: AlignmentParts): Layer =>
  (next) => {
    const enforce = enforced(next, parts.guards);
    const audit = audited(next);
    const under = async (plugin: AlignmentPlugin, request: TurnRequest, scope: Scope) => {
      const settings = alignmentOf(plugin);
      const rules = rulesOf(settings, request, parts.settings);
      check(settings, rules, parts, { request, scope });
      const evaluator = new Evaluator(rules, parts.judge, settings.threshold);
      const evaluated = () => evaluatedBy(settings, rules, parts.judge, evaluator);
      const sent = settings.instruct ? instructed(request, settings.rules) : request;
      if (scope.dryRun) {
        scope.trace.stages.push(stageOf([], evaluated()));
        return next(sent, scope);
      }
      const turn = { settings, evaluator, evaluated, request: sent, scope };
      return settings.mode === "audit" ? audit(turn) : enforce(turn);
    };
    return (request, scope) => {
      const plugin = request.plugins?.alignment;
      return plugin === undefined ? next(request, scope) : under(plugin, request, scope);
    };
  };

function rulesOf({ rules }: Alignment, { tools }: TurnRequest, { local_rules: isLocal }: AlignmentSettings): Rule[] {
  const names = new Set(
    tools.flatMap((tool) => (tool.type === "function" || tool.type === "custom" ? [tool.name] : [])),
  );
  return rules.map((text) => ({ text, local: isLocal ? compile(text, names) : undefined }));
}

/** @throws Fault INVALID_REQUEST */
function check(
  { mode }: Alignment,
  rules: readonly Rule[],
  { judge, settings, route }: AlignmentParts,
  occasion: Occasion,
): void {
  const judged = rules.flatMap(({ local }, index) => (local?.isTotal ? [] : [index]));
  if (judged.length === 0) return;
  const problems = new Problems();
  if (judged.length > settings.max_judged_rules) {
    const most = settings.max_judged_rules;
    problems.add(
      "plugins",
      `alignment: ${judged.length} rules need a judge, and this service allows ${most} in a request`,
    );
  } else if (judge === undefined) {
    if (mode === "audit") return;
    problems.add("plugins", `alignment: rule ${judged[0]} needs a judge, and this service has none`);
  } else {
    const reasons = judge.forbidden(route, occasion);
    if (reasons.length === 0) return;
    problems.add(
      "plugins",
      `alignment: its judge cannot keep to the data policy of this request: ${reasons.join(", ")}`,
    );
  }
  problems.throwIfAny();
}

function evaluatedBy(
  { mode }: Alignment,
  rules: readonly Rule[],
  judge: Judge | undefined,
  { spending, spentMs }: Evaluator,
): Evaluated {
  const localRules = rules.flatMap(({ local }, index) => (local ? [index] : []));
  const isAsked = judge !== undefined && rules.some(({ local }) => !local?.isTotal);
  return {
    mode,
    rules: rules.length,
    localRules,
    engines: [...(localRules.length > 0 ? ["local"] : []), ...(isAsked ? [`judge:${judge.model}`] : [])],
    calibration: isAsked ? judge.calibration : undefined,
    costPico: spending.pico,
    spentMs,
  };
}
