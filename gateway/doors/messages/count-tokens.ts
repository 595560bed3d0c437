/** Serves POST /messages/count_tokens. */
import { countTokensRequest } from "../../contract/messages/request.ts";
import type { EdgeContext } from "../../edge/http/context.ts";
import { writeJson } from "../../edge/http/errors.ts";
import { type CountTokensDeps, countTokens } from "../../edge/turns/count-tokens.ts";
import { nameFaultFields } from "../../edge/turns/field-names.ts";
import { parseMessages } from "./request.ts";

/** Answers with the number of tokens. @throws Fault */
export async function countMessage(parts: CountTokensDeps, context: EdgeContext): Promise<void> {
  const read = { headers: context.req.headers, sessionId: undefined, serviceMetadata: false };
  const tokens = await countTokens(parts, context, (body, members) => {
    const { request, names } = parseMessages(body, members, read, countTokensRequest);
    return { request, explain: (fault) => nameFaultFields(fault, names) };
  });
  writeJson(context.res, { input_tokens: tokens, estimated: true }, context);
}
