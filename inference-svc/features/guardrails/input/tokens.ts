/** Rejects token ids from keys with input guardrails: token ids are unreadable without the model's tokenizer. */
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { appliedTo, isAudit, hasInputRules } from "../../../turn/applied-guardrails.ts";
import { onRequest } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";

/** @throws Fault INVALID_REQUEST */
export const refuseTokens: Layer = onRequest((request, { caller }) => {
  if (appliedTo(caller).some((one) => hasInputRules(one) && !isAudit(one)))
    throw invalid("input", "the guardrails of this API key cannot read token ids; send the texts");
  return request;
});
