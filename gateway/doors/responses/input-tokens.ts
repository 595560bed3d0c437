/** Serves POST /responses/input_tokens. */
import type { EdgeContext } from "../../edge/http/context.ts";
import { writeJson } from "../../edge/http/errors.ts";
import { type CountTokensDeps, countTokens } from "../../edge/turns/count-tokens.ts";
import { parseRequest } from "./request.ts";

/** Answers with the number of tokens. @throws Fault */
export async function countInput(parts: CountTokensDeps, context: EdgeContext): Promise<void> {
  const tokens = await countTokens(parts, context, (body, members) =>
    parseRequest(body, members, { serviceMetadata: false }),
  );
  writeJson(context.res, { object: "response.input_tokens", input_tokens: tokens, estimated: true }, context);
}
