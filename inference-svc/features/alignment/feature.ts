/** The plugin `alignment`: states rules to the model, and evaluates each answer against them before or while it is delivered. */
import type { AlignmentSettings } from "@sluice/proto/config/alignment.js";
import { modes } from "@sluice/proto/lib/policy/guardrail-words.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { CallContext } from "../../models/internal-calls/internal-call.ts";
import { JudgeProfile } from "../../models/internal-calls/judge.ts";
import { Spending } from "../../models/internal-calls/internal-spending.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Turn } from "../../turn/turn.ts";
import { auditLayer } from "./audit.ts";
import { enforceLayer } from "./enforce.ts";
import { Evaluator, type Rule, judgeTask } from "./evaluator.ts";
import { type Evaluated, buildAlignmentStage } from "./report.ts";
import { compileRule } from "./rules/compile.ts";
import { type Alignment, alignmentOf } from "./settings.ts";
import { withRuleInstructions } from "./instructions.ts";
import type { CallingFeature, DryKit } from "../kit.ts";
import { applies } from "../applies.ts";

export const alignment: CallingFeature = {
  id: "alignment",
  applies: applies.alignment,
  layer(kit) {
    const role = kit.roles.alignment_judge;
    const judge = role && kit.judge(role, judgeOptions);
    return (next) => {
      const enforce = enforceLayer(next, kit.guards);
      const audit = auditLayer(next);
      return underRules(kit, judge, next, ({ settings, rules, evaluatedBy }, request, scope) => {
        const evaluator = new Evaluator(rules, judge, settings.threshold);
        const turn = { settings, evaluator, evaluated: () => evaluatedBy(evaluator), request, scope };
        return modes.of(settings.mode).acts ? enforce(turn) : audit(turn);
      });
    };
  },
  dryRun(kit) {
    const role = kit.roles.alignment_judge;
    const judge = role && new JudgeProfile(role, judgeOptions);
    return (next) =>
      underRules(kit, judge, next, ({ evaluatedBy }, request, scope) => {
        scope.trace.stages.push(buildAlignmentStage([], evaluatedBy(nothingSpent)));
        return next(request, scope);
      });
  },
  texts: ({ alignment: settings }) =>
    (settings?.rules ?? []).map((text, index) => ({
      text,
      replace: (plugins, redacted) =>
        plugins.alignment
          ? { ...plugins, alignment: { ...plugins.alignment, rules: plugins.alignment.rules.with(index, redacted) } }
          : plugins,
    })),
};

const judgeOptions = { task: judgeTask };

/** Cost and time of the evaluations so far. */
type Spent = Pick<Evaluator, "spending" | "spentMs">;

const nothingSpent: Spent = { spending: new Spending(), spentMs: 0 };

/** The plugin's validated settings for one request. */
interface Checked {
  readonly settings: Alignment;
  readonly rules: readonly Rule[];
  /** Makes the evaluation entry of the receipt from the cost and time spent so far. */
  readonly evaluatedBy: (spent: Spent) => Evaluated;
}

type RunUnderRules = (checked: Checked, request: TurnRequest, scope: Scope) => ReturnType<Turn>;

/** Applies the plugin to a turn. @throws Fault INVALID_REQUEST for rules that need a missing or forbidden judge */
const underRules =
  (kit: DryKit, judge: JudgeProfile | undefined, next: Turn, run: RunUnderRules): Turn =>
  (request, scope) => {
    const plugin = request.plugins?.alignment;
    if (plugin === undefined) return next(request, scope);
    const settings = alignmentOf(plugin);
    const rules = rulesOf(settings, request, kit.alignment);
    check(settings, rules, judge, kit, { request, scope });
    const sent = settings.instruct ? withRuleInstructions(request, settings.rules) : request;
    return run({ settings, rules, evaluatedBy: (spent) => evaluatedOf(settings, rules, judge, spent) }, sent, scope);
  };

function rulesOf({ rules }: Alignment, { tools }: TurnRequest, { local_rules: isLocal }: AlignmentSettings): Rule[] {
  const names = new Set(
    tools.flatMap((tool) => (tool.type === "function" || tool.type === "custom" ? [tool.name] : [])),
  );
  return rules.map((text) => ({ text, local: isLocal ? compileRule(text, names) : undefined }));
}

/** Validates the plugin's settings. @throws Fault INVALID_REQUEST */
function check(
  { mode }: Alignment,
  rules: readonly Rule[],
  judge: JudgeProfile | undefined,
  { alignment: { max_judged_rules: max }, router }: Pick<DryKit, "alignment" | "router">,
  context: CallContext,
): void {
  const judged = rules.flatMap(({ local }, index) => (local?.isTotal ? [] : [index]));
  if (judged.length === 0) return;
  const problems = new Problems();
  if (judged.length > max) {
    problems.add(
      "plugins",
      `alignment: ${judged.length} rules need a judge, and this service allows ${max} in a request (alignment.max_judged_rules)`,
    );
  } else if (judge === undefined) {
    if (!modes.of(mode).acts) return;
    problems.add(
      "plugins",
      `alignment: rule ${judged[0]} needs a judge, and this service has none; its operator sets internal_models.alignment_judge`,
    );
  } else {
    const reasons = judge.forbidden((request, scope) => router.route(request, scope), context);
    if (reasons.length === 0) return;
    problems.add(
      "plugins",
      `alignment: its judge cannot keep to the data policy of this request: ${reasons.join(", ")}`,
    );
  }
  problems.throwIfAny();
}

function evaluatedOf(
  { mode }: Alignment,
  rules: readonly Rule[],
  judge: JudgeProfile | undefined,
  { spending, spentMs }: Spent,
): Evaluated {
  const localRules = rules.flatMap(({ local }, index) => (local ? [index] : []));
  const isRequested = judge !== undefined && rules.some(({ local }) => !local?.isTotal);
  return {
    mode,
    rules: rules.length,
    localRules,
    engines: [...(localRules.length > 0 ? ["local"] : []), ...(isRequested ? [`judge:${judge.model}`] : [])],
    calibration: isRequested ? judge.calibration : undefined,
    costPico: spending.pico,
    spentMs,
  };
}
