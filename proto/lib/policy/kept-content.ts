/** Decides whether a key's guardrails allow Sluice to keep prompts and answers. */
import { type Caller, type Guardrail, GuardrailMode } from "../../gen/sluice/admin/v1/access_service_pb.ts";

/**
 * Whether the guardrail restricts models to providers without retention, training or publication, so Sluice may
 * not keep content either.
 */
function forbidsKeeping({ mode, routingPolicy: policy }: Guardrail): boolean {
  if (mode === GuardrailMode.AUDIT || policy === undefined) return false;
  const { enforceZdrAnthropic, enforceZdrOpenai, enforceZdrGoogle, enforceZdrXai, enforceZdrOther } = policy;
  const enforced = [enforceZdrAnthropic, enforceZdrOpenai, enforceZdrGoogle, enforceZdrXai, enforceZdrOther];
  const { enablePaidModelTraining, enableFreeModelTraining, enableFreeModelPublication } = policy;
  const enabled = [enablePaidModelTraining, enableFreeModelTraining, enableFreeModelPublication];
  return [...enforced, ...Object.values(policy.enforceZdrGroups)].includes(true) || enabled.includes(false);
}

export const guardrailsForbidKeeping = ({ guardrail, workspaceGuardrails }: Caller): boolean =>
  (guardrail !== undefined && forbidsKeeping(guardrail)) || workspaceGuardrails.some(forbidsKeeping);
