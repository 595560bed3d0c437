/** What a guardrail may be made of. */
import type { GuardrailSettings } from "@sluice/proto/contract/guardrail-record.js";
import { guardrailSettings } from "@sluice/proto/contract/guardrails.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { amountOf } from "./amount.ts";
import { complaintsAbout } from "./patterns.ts";

const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Any other text names no guardrail, so the database is not asked. */
export const isGuardrailId = (id: string): boolean => form.test(id);

/** @throws Fault INVALID_REQUEST with every problem, under the names of the JSON form */
export async function checkGuardrailSettings(settings: GuardrailSettings): Promise<void> {
  const { content_filters: filters = [] } = settings;
  checked((problems) => {
    guardrailSettings.check(givenForm(settings), "", problems);
    if (whatBecomesOf(settings.limit_usd) !== whatBecomesOf(settings.reset_interval)) {
      problems.add("reset_interval", "goes together with limit_usd: both, or neither");
    }
  });
  // What is not even a text of the right length is not compiled.
  const complaints = await complaintsAbout(filters.map(({ pattern }) => pattern));
  checked((problems) => {
    complaints.forEach((text, index) => text !== null && problems.add(`content_filters.${index}.pattern`, text));
  });
}

/** Undefined: it stays; null: it is cleared. */
const whatBecomesOf = (value: string | null | undefined) => (typeof value === "string" ? "set" : value);

/** Settings in the form in which they are given over HTTP, for which the shape is written. */
const givenForm = ({ limit_usd: limit, routing_policy: policy, ...settings }: GuardrailSettings) => ({
  ...settings,
  ...policy,
  ...(limit !== undefined && { limit_usd: limit === null ? null : amountOf(limit) }),
});
