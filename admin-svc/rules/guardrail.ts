/** Checks the settings of a guardrail. */
import { uuidForm } from "@sluice/proto/lib/ids/uuid.js";
import type { GuardrailSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import { guardrailSettings } from "@sluice/proto/contract/records/guardrails.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { parseAmount } from "./amount.ts";
import { findPatternErrors } from "./patterns.ts";

/**
 * Whether a text has the form of a guardrail's id. Any other text names no guardrail, so the database is not queried.
 */
export const isGuardrailId = (id: string): boolean => uuidForm.test(id);

/** @throws Fault INVALID_REQUEST with every problem, with the field names of the HTTP interface */
export async function checkGuardrailSettings(settings: GuardrailSettings): Promise<void> {
  const { content_filters: filters = [] } = settings;
  throwProblems((problems) => {
    guardrailSettings.check(guardrailSettingsJson(settings), "", problems);
    if (effectOf(settings.limit_usd) !== effectOf(settings.reset_interval)) {
      problems.add("reset_interval", "goes together with limit_usd: both, or neither");
    }
  });
  // Patterns are compiled only after the check of shapes, which refuses overlong patterns.
  const complaints = await findPatternErrors(filters.map(({ pattern }) => pattern));
  throwProblems((problems) => {
    complaints.forEach((text, index) => text !== null && problems.add(`content_filters.${index}.pattern`, text));
  });
}

/** Effect of a change on a setting: undefined leaves the setting unchanged; null clears it. */
const effectOf = (value: string | null | undefined) => (typeof value === "string" ? "set" : value);

/** Converts settings to their HTTP form, which the checked shapes describe. */
export const guardrailSettingsJson = ({
  limit_usd: limit,
  routing_policy: policy,
  ...settings
}: GuardrailSettings) => ({
  ...settings,
  ...policy,
  ...(limit !== undefined && { limit_usd: limit === null ? null : parseAmount(limit) }),
});
