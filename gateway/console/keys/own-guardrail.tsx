/** A field to choose the guardrail assigned to this key. */
import { hasRole } from "../api/session.ts";
import type { Guardrail } from "../guardrails/data.ts";
import { SelectField } from "../parts/field.tsx";

interface GuardrailProps {
  readonly guardrails: readonly Guardrail[];
  /** Id of the guardrail; empty without one. */
  readonly value: string;
  readonly onValue: (id: string) => void;
}

export const OwnGuardrail = ({ guardrails, ...bound }: GuardrailProps) => (
  <SelectField
    {...bound}
    label="Guardrail"
    options={[["", "None"], ...guardrails.map(({ id, name }) => [id, name] as const)]}
    disabled={!hasRole("admin")}
  />
);
