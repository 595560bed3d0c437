/** Rejects inputs given as token ids for keys with input guardrails: without the model's tokenizer, token ids cannot be read. */
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { guardrailsFor, isAudit, hasInputRules } from "../../../turn/applied-guardrails.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";

/** Layer that refuses token ids where input guardrails apply. @throws Fault INVALID_REQUEST */
export const refuseTokens: Layer = requestLayer((request, { caller }) => {
  if (guardrailsFor(caller).some((one) => hasInputRules(one) && !isAudit(one)))
    throw invalid("input", "the guardrails of this API key cannot read token ids; send the texts");
  return request;
});
