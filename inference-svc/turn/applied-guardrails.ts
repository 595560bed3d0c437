/** The guardrails that apply to a request. */
import {
  type Caller,
  type Guardrail,
  GuardrailMode,
  AppliesTo,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";

type Scope = "api-key" | "workspace" | "account";

/** A guardrail with the scope through which it applies: account, workspace or key. */
export interface AppliedGuardrail {
  readonly guardrail: Guardrail;
  readonly scope: Scope;
}

const known = new WeakMap<Caller, readonly AppliedGuardrail[]>();

/**
 * The guardrails for a caller: those of the account first, then those of the workspace, the additional ones of the key,
 * and the one assigned to the key. Each turn of a caller gets the same list object, by which results can be cached; a
 * policy change makes a new caller object.
 */
export function guardrailsFor(caller: Caller): readonly AppliedGuardrail[] {
  let applied = known.get(caller);
  if (applied === undefined) known.set(caller, (applied = list(caller)));
  return applied;
}

const list = ({ guardrail, workspaceGuardrails, furtherGuardrailIds }: Caller): readonly AppliedGuardrail[] => [
  ...workspaceGuardrails.map((other) => ({
    guardrail: other,
    scope: furtherGuardrailIds.includes(other.id) ? ("api-key" as const) : guardrailScope(other),
  })),
  ...(guardrail ? [{ guardrail, scope: "api-key" } as const] : []),
];

const guardrailScope = ({ accountDefault }: Guardrail): Scope => (accountDefault ? "account" : "workspace");

/** Whether the guardrail is in audit mode: it then reports what it would do, and does nothing. */
export const isAudit = ({ guardrail }: AppliedGuardrail): boolean => guardrail.mode === GuardrailMode.AUDIT;

export type ScannedSide = "input" | "output";

/** Whether the guardrail applies to this side, input or output. */
export function appliesToSide({ guardrail: { appliesTo } }: AppliedGuardrail, side: ScannedSide): boolean {
  if (side === "output") return appliesTo === AppliesTo.OUTPUT || appliesTo === AppliesTo.BOTH;
  return appliesTo !== AppliesTo.OUTPUT;
}

/** Whether the guardrail has content filters for this side, input or output. */
export const hasFiltersFor = (applied: AppliedGuardrail, side: ScannedSide): boolean =>
  applied.guardrail.contentFilters.length + applied.guardrail.contentFilterBuiltins.length > 0 &&
  appliesToSide(applied, side);

/** Whether the guardrail has any rule for requests. */
export const hasInputRules = (applied: AppliedGuardrail): boolean => {
  const { detectors, judgeRules } = applied.guardrail;
  return (
    hasFiltersFor(applied, "input") || (detectors.length + judgeRules.length > 0 && appliesToSide(applied, "input"))
  );
};
