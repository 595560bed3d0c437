/**
 * Reasons for a 400 of OpenAI's Responses API, as a check of a request's body. Sources: https://platform.openai.com/docs/api-reference/responses and
 * its errors "Invalid 'input[0].id': ... Expected an ID that begins with 'msg'", "string too long. Expected a string with maximum length 64", "No
 * tool output found for function call", "No tool call found for function call output", "Invalid 'input[1].name': string does not match pattern".
 */
import { type BodyPart, checkToolNames, isBodyPart, bodyPartsOf, violationsOf } from "./violations.ts";

const prefixes: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  custom_tool_call: "ctc",
};
const name = /^[a-zA-Z0-9_-]{1,64}$/;
const maxIdLength = 64;

/** @returns each broken rule as "path: error"; empty for a valid body */
export function findResponsesViolations(body: BodyPart): readonly string[] {
  return violationsOf((report) => {
    const { tool_choice: choice } = body;
    const tools = [...bodyPartsOf(body.tools), ...bodyPartsOf(body.input).flatMap((item) => bodyPartsOf(item.tools))];
    const named = tools.filter((tool) => tool.name !== undefined);
    const chosen = isBodyPart(choice) && choice.namespace === undefined ? choice.name : undefined;
    checkToolNames(
      named.map((tool) => tool.name),
      name,
      chosen,
      report,
    );
    for (const namespace of named.filter(({ type }) => type === "namespace")) {
      const members = bodyPartsOf(namespace.tools).map((tool) => tool.name);
      checkToolNames(members, name, undefined, report);
    }
    const items = bodyPartsOf(body.input);
    if (items.length === 0) report("input", "is empty");
    const open = new Set<unknown>();
    for (const [index, { type, id, call_id: callId, name: called, namespace }] of items.entries()) {
      const path = `input.${index}`;
      const prefix = prefixes[String(type)];
      if (prefix !== undefined && typeof id === "string" && !id.startsWith(prefix)) report(path, `has the id ${id}`);
      if (String(callId).length > maxIdLength) report(path, "has a call id that is too long");
      if (type === "function_call" || type === "custom_tool_call") {
        for (const each of [called, namespace])
          if (typeof each === "string" && !name.test(each)) report(path, `is a call of ${each}`);
        open.add(callId);
      }
      if ((type === "function_call_output" || type === "custom_tool_call_output") && !open.delete(callId))
        report(path, `answers ${String(callId)}, which is not open`);
    }
    for (const callId of open) report("input", `has no output of ${String(callId)}`);
  });
}
