/** The guardrails that a request is under. */
import { type Caller, type Guardrail, GuardrailMode } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";

/** A guardrail, and by what the request is under it. */
export interface Applied {
  readonly guardrail: Guardrail;
  readonly scope: "api-key" | "workspace";
}

/** Of the workspace before the key's own. */
export const appliedTo = ({ guardrail, workspaceGuardrails }: Caller): readonly Applied[] => [
  ...workspaceGuardrails.map((shared) => ({ guardrail: shared, scope: "workspace" }) as const),
  ...(guardrail ? [{ guardrail, scope: "api-key" } as const] : []),
];

/** It reports what it would do, and does nothing. */
export const isAudit = ({ guardrail }: Applied): boolean => guardrail.mode === GuardrailMode.AUDIT;
