/** Converts between the settings of a guardrail and its database columns. */
import type { GuardrailSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import { type GuardrailSettingName, unsetGuardrail } from "@sluice/proto/contract/records/guardrails.js";
import type { RoutingPolicyChange } from "@sluice/proto/contract/records/routing-policy.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { Selectable, Updateable } from "kysely";
import type { GuardrailsTable } from "./tables/administration.ts";

export type GuardrailRow = Selectable<GuardrailsTable>;

/** A guardrail with its settings; the times of creation and change are left out where only enforcement matters. */
export type EnforcedGuardrail = Omit<GuardrailRow, "created_at" | "updated_at">;

/** Database column of a setting. */
export const columnOf = (name: GuardrailSettingName): string => (name === "reset_interval" ? "limit_reset" : name);

/** Columns for the settings of a change; lists are stored as JSON. */
export function changedColumns(change: GuardrailSettings): Updateable<GuardrailsTable> {
  const columns: Record<string, unknown> = {};
  for (const name of Object.keys(unsetGuardrail) as GuardrailSettingName[]) {
    const value = change[name];
    if (value === undefined) continue;
    columns[columnOf(name)] = Array.isArray(value) ? JSON.stringify(value) : value;
  }
  return columns;
}

/** Value of the column for the routing policy, with only the fields that are set. */
export const policyColumn = (policy: RoutingPolicyChange): string =>
  JSON.stringify(Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== null)));

/** Renames the columns of a row to the names of the settings. */
export const storedGuardrail = ({ limit_reset, ...row }: EnforcedGuardrail): JsonObject => ({
  ...row,
  reset_interval: limit_reset,
});
