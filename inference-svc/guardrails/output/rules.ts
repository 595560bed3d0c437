/** The rules that look at what comes back, of all guardrails that a key is under. */
import {
  AppliesTo,
  type BuiltinFilter,
  type Caller,
  type ContentFilter,
  ErrorPolicy,
  FilterAction,
  type Guardrail,
  GuardrailMode,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { type Finder, pieceLengthOf } from "@sluice/proto/runtime/pattern/finder.js";
import { detectors } from "../detectors/registry.ts";
import { patternOf } from "../patterns.ts";

/** Whose rule it is. */
export interface Owner {
  readonly id: string;
  readonly scope: "api-key" | "workspace";
  /** It only reports. */
  readonly audit: boolean;
  /** What its rules could not look at passes, on record. */
  readonly failsOpen: boolean;
}

export interface Rule {
  /** Label, else the pattern: shown to the client. */
  readonly name: string;
  readonly action: "block" | "redact" | "flag";
  readonly finder: Finder;
  /** What stands in the place of what is redacted. */
  readonly placeholder: string;
  /** As the receipt names it. */
  readonly engine: string;
  readonly owner: Owner;
  /** Of matches as long as each other, the one of the lower rank says what stands there. */
  readonly rank: number;
}

type Unranked = Omit<Rule, "rank">;

export interface Rules {
  /** They change what is delivered. */
  readonly enforced: readonly Rule[];
  /** They only report. */
  readonly reporting: readonly Rule[];
}

/** Of nothing when no guardrail looks at the output. @throws Fault UNAVAILABLE: a rule that cannot be applied is never skipped */
export function outputRules({ guardrail, workspaceGuardrails }: Caller): readonly Rule[] {
  const rules = [
    ...(guardrail ? rulesOf(guardrail, "api-key") : []),
    ...workspaceGuardrails.flatMap((each) => rulesOf(each, "workspace")),
  ];
  return rules.map((rule, rank) => ({ ...rule, rank }));
}

function rulesOf(guardrail: Guardrail, scope: Owner["scope"]): readonly Unranked[] {
  const { id, appliesTo, mode, onError } = guardrail;
  if (appliesTo !== AppliesTo.OUTPUT && appliesTo !== AppliesTo.BOTH) return [];
  const owner = {
    id,
    scope,
    audit: mode === GuardrailMode.AUDIT,
    failsOpen: onError === ErrorPolicy.OPEN,
  };
  return [
    ...guardrail.contentFilters.map((filter) => ofPattern(filter, owner)),
    ...guardrail.contentFilterBuiltins.map((filter) => ofDetector(filter, owner)),
  ];
}

const ofPattern = (filter: ContentFilter, owner: Owner): Unranked => ({
  name: filter.label || filter.pattern,
  action: actionOf(filter),
  finder: finderOf(filter, owner),
  placeholder: filter.label || "[REDACTED]",
  engine: "regex",
  owner,
});

function finderOf({ pattern }: ContentFilter, { audit, failsOpen }: Owner): Finder {
  try {
    return patternOf(pattern);
  } catch (error) {
    if (!audit && !failsOpen) throw error;
    // Whoever looks with it puts the failure on record.
    return {
      open() {
        throw error;
      },
    };
  }
}

function ofDetector(filter: BuiltinFilter, owner: Owner): Unranked {
  const detector = detectors.find(({ slug }) => slug === filter.slug);
  if (!detector) throw notApplicable(new Error(`detector ${filter.slug}`));
  const { slug, finder, placeholder, engine } = detector;
  return { name: slug, action: actionOf(filter), finder, placeholder, engine, owner };
}

/** An action of a newer admin-svc is not ours to guess. */
function actionOf({ action }: ContentFilter | BuiltinFilter): Rule["action"] {
  switch (action) {
    case FilterAction.BLOCK:
      return "block";
    case FilterAction.REDACT:
      return "redact";
    case FilterAction.FLAG:
      return "flag";
    default:
      throw notApplicable(new Error(`filter action ${action}`));
  }
}

/** The text was not looked at, so nobody gets it; not a hit, so that an outage is not taken for one. */
export const notApplicable = (cause: unknown): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "The key's guardrail cannot be applied", {
    origin: FaultOrigin.INFERENCE,
    shouldRetry: false,
    cause,
  });

export function divided(rules: readonly Rule[]): Rules {
  const enforces = ({ action, owner }: Rule) => action !== "flag" && !owner.audit;
  return { enforced: rules.filter(enforces), reporting: rules.filter((rule) => !enforces(rule)) };
}

/** UTF-16 units that all of them together can read without others waiting for long. */
export function jointPieceLength(rules: readonly Rule[]): number {
  const share = rules.reduce((sum, { finder }) => sum + 1 / pieceLengthOf(finder), 0);
  return Math.max(1, Math.floor(1 / share));
}
