/**
 * Reasons for a 400 of Google's generateContent, as a check of a request's body. Sources: https://ai.google.dev/gemini-api/docs/function-calling and
 * its errors "Please ensure that function call turn comes immediately after a user turn or after a function response turn", "Please ensure that the
 * number of function response parts is equal to the number of function call parts", "contents is not specified", "must have one initialized field".
 */
import { type BodyPart, checkToolNames, isBodyPart, bodyPartsOf, violationsOf } from "./violations.ts";

/** "Must start with a letter or an underscore ... underscores (_), dots (.) or dashes (-), with a maximum length of 64" (gemini-cli, issue 2966). */
const name = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/;

/** @returns each broken rule as "path: error"; empty for a valid body */
export function findGeminiViolations(body: BodyPart): readonly string[] {
  return violationsOf((report) => {
    const contents = bodyPartsOf(body.contents);
    if (contents.length === 0) report("contents", "is empty");
    if (bodyPartsOf(contents[0]?.parts).some(({ functionCall }) => functionCall !== undefined))
      report("contents", "begin with a call");
    let open = 0;
    for (const [index, { role, parts: all }] of contents.entries()) {
      const path = `contents.${index}`;
      const parts = bodyPartsOf(all);
      if (parts.length === 0) report(path, "has no parts");
      for (const part of parts)
        if (part.text === "" && part.thoughtSignature === undefined) report(path, "has an empty text");
      const results = parts.filter(({ functionResponse }) => functionResponse !== undefined);
      if (results.length !== open) report(path, `has ${results.length} results for ${open} calls`);
      if (parts.slice(0, results.length).some(({ functionResponse }) => functionResponse === undefined))
        report(path, "has something between its results");
      const calls = parts.flatMap(({ functionCall }) => (isBodyPart(functionCall) ? [functionCall] : []));
      for (const call of calls) if (!name.test(String(call.name))) report(path, `has a call of ${String(call.name)}`);
      if (calls.length > 0 && role !== "model") report(path, "has a call of the user");
      open = calls.length;
    }
    if (open > 0) report("contents", "end with a call");
    const { functionCallingConfig: calling } = (body.toolConfig ?? {}) as BodyPart;
    const chosen = isBodyPart(calling) ? (calling.allowedFunctionNames as readonly unknown[] | undefined) : undefined;
    const names = bodyPartsOf(body.tools).flatMap(({ functionDeclarations: each }) =>
      bodyPartsOf(each).map((tool) => tool.name),
    );
    checkToolNames(names, name, chosen?.[0], report);
  });
}
