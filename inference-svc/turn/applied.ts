/** The guardrails that a request is under. */
import { type Caller, type Guardrail, GuardrailMode } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";

type Scope = "api-key" | "workspace" | "account";

/** A guardrail, and by what the request is under it. */
export interface Applied {
  readonly guardrail: Guardrail;
  readonly scope: Scope;
}

/** Of the account, then of the workspace, then the key's own. */
export const appliedTo = ({ guardrail, workspaceGuardrails }: Caller): readonly Applied[] => [
  ...workspaceGuardrails.map((shared) => ({ guardrail: shared, scope: scopeOf(shared) })),
  ...(guardrail ? [{ guardrail, scope: "api-key" } as const] : []),
];

const scopeOf = ({ accountDefault }: Guardrail): Scope => (accountDefault ? "account" : "workspace");

/** It reports what it would do, and does nothing. */
export const isAudit = ({ guardrail }: Applied): boolean => guardrail.mode === GuardrailMode.AUDIT;
