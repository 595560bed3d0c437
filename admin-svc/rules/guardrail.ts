/** Checks the settings of a guardrail. */
import type { GuardrailSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import { guardrailSettings } from "@sluice/proto/contract/records/guardrails.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { parseAmount } from "./amount.ts";
import { findPatternErrors } from "./patterns.ts";

const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A text of another form names no guardrail, so no query is made for it. */
export const isGuardrailId = (id: string): boolean => form.test(id);

/** @throws Fault INVALID_REQUEST with every problem, under the names of the JSON form */
export async function checkGuardrailSettings(settings: GuardrailSettings): Promise<void> {
  const { content_filters: filters = [] } = settings;
  throwProblems((problems) => {
    guardrailSettings.check(guardrailSettingsJson(settings), "", problems);
    if (effectOf(settings.limit_usd) !== effectOf(settings.reset_interval)) {
      problems.add("reset_interval", "goes together with limit_usd: both, or neither");
    }
  });
  // Patterns are compiled only after the check above, which refuses overlong texts.
  const complaints = await findPatternErrors(filters.map(({ pattern }) => pattern));
  throwProblems((problems) => {
    complaints.forEach((text, index) => text !== null && problems.add(`content_filters.${index}.pattern`, text));
  });
}

/** Undefined leaves a setting unchanged; null clears it. */
const effectOf = (value: string | null | undefined) => (typeof value === "string" ? "set" : value);

/** Settings in their HTTP form, as needed by the shape. */
export const guardrailSettingsJson = ({
  limit_usd: limit,
  routing_policy: policy,
  ...settings
}: GuardrailSettings) => ({
  ...settings,
  ...policy,
  ...(limit !== undefined && { limit_usd: limit === null ? null : parseAmount(limit) }),
});
