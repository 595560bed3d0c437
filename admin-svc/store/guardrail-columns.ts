/** Between the settings of a guardrail and the columns that hold them. */
import type { GuardrailSettings } from "@sluice/proto/contract/guardrail-record.js";
import { type GuardrailSettingName, unsetGuardrail } from "@sluice/proto/contract/guardrails.js";
import type { RoutingPolicyChange } from "@sluice/proto/contract/routing-policy.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Selectable, Updateable } from "kysely";
import type { GuardrailsTable } from "./database.ts";

export type GuardrailRow = Selectable<GuardrailsTable>;

/** A guardrail with its settings; times are left out where only what is enforced is read. */
export type EnforcedGuardrail = Omit<GuardrailRow, "created_at" | "updated_at">;

/** Every other setting stands in the column of its own name. */
const renamed = { reset_interval: "limit_reset" } as const;

/** Columns of the settings that are named; lists are stored as JSON. */
export function changedColumns(change: GuardrailSettings): Updateable<GuardrailsTable> {
  const columns: Record<string, unknown> = {};
  for (const name of Object.keys(unsetGuardrail) as GuardrailSettingName[]) {
    const value = change[name];
    if (value === undefined) continue;
    const column = name === "reset_interval" ? renamed.reset_interval : name;
    columns[column] = Array.isArray(value) ? JSON.stringify(value) : value;
  }
  return columns;
}

/** The column of the routing policy, which keeps only the fields that are set. */
export const policyColumn = (policy: RoutingPolicyChange): string =>
  JSON.stringify(Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== null)));

/** A row by the names of the settings. */
export const storedGuardrail = ({ limit_reset, ...row }: EnforcedGuardrail): JsonObject => ({
  ...row,
  reset_interval: limit_reset,
});
