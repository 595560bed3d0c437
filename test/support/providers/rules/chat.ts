/**
 * Reasons for a 400 of servers of chat completions, as a check of a request's body. Sources: OpenAI's reference
 * (https://platform.openai.com/docs/api-reference/chat/create) and its errors "An assistant message with 'tool_calls' must be followed by tool
 * messages", "messages with role 'tool' must be a response to a preceding message with 'tool_calls'", "string too long. Expected a string with
 * maximum length 40"; Mistral's errors "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9" and "Unexpected role 'user' after role
 * 'tool'" (zed-industries/zed issues 37021 and 53034); Cohere's reference (https://docs.cohere.com/reference/chat), whose messages pair calls and
 * results in the same way; "System message must be at the beginning" and "No user query found in
 * messages" of templates of Qwen (vllm-project/vllm issue 41114); "The function.arguments parameter of the code model must be in JSON format" of
 * DashScope (HKUDS/nanobot issue 1487), the same of vLLM (vllm-project/vllm issue 43995) and SGLang (sgl-project/sglang pull request 28035).
 */
import { type BodyPart, checkToolNames, isBodyPart, bodyPartsOf, violationsOf } from "./violations.ts";

interface Limits {
  readonly id: RegExp;
  readonly name: RegExp;
  /** Whether a user message may directly follow the result of a tool. */
  readonly promptsAfterResults: boolean;
  /** Whether the arguments of calls may be any text. */
  readonly anyArguments?: true;
  /** Whether only the first message may have the role `system`, and the role `developer` is unknown. */
  readonly oneSystemMessage?: boolean;
  /** Whether there must be a message other than system messages. */
  readonly needsQuestion?: boolean;
}

const name = /^[a-zA-Z0-9_-]{1,64}$/;

export const openAiLimits: Limits = { id: /^.{1,40}$/s, name, promptsAfterResults: true, anyArguments: true };
/** Rules of a server for an open model with a strict template. */
export const templateLimits: Limits = {
  id: /^.+$/s,
  name,
  promptsAfterResults: true,
  oneSystemMessage: true,
  needsQuestion: true,
};
export const mistralLimits: Limits = { id: /^[a-zA-Z0-9]{9}$/, name, promptsAfterResults: false };
/** "tool names can only contain certain characters (A-Za-z0-9_) and can't begin with a digit" (langflow-ai/langflow, issue 5465). */
const cohereName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
export const cohereLimits: Limits = { id: /^.+$/s, name: cohereName, promptsAfterResults: true, needsQuestion: true };

const nameOf = (entry: unknown): unknown => {
  const { function: called, custom } = isBodyPart(entry) ? entry : {};
  return [called, custom].find(isBodyPart)?.name;
};

function hasObject({ function: called }: BodyPart): boolean {
  try {
    return isBodyPart(JSON.parse(String(isBodyPart(called) ? called.arguments : "{}")));
  } catch {
    return false;
  }
}

/** @returns each broken rule as "path: error"; empty for a valid body */
export function findChatViolations(body: BodyPart, limits: Limits): readonly string[] {
  return violationsOf((report) => {
    const messages = bodyPartsOf(body.messages);
    if (messages.length === 0) report("messages", "is empty");
    if (limits.needsQuestion && messages.every(({ role }) => role === "system"))
      report("messages", "has none besides those of the system");
    checkToolNames(bodyPartsOf(body.tools).map(nameOf), limits.name, nameOf(body.tool_choice), report);
    let open: readonly unknown[] = [];
    let before: unknown;
    for (const [index, message] of messages.entries()) {
      const path = `messages.${index}`;
      const { role, tool_call_id: answered } = message;
      if (role === "tool") {
        if (!open.includes(answered)) report(path, `answers ${String(answered)}, which is not open`);
        open = open.filter((id) => id !== answered);
      } else if (open.length > 0) report(path, `stands before the results of ${open.join(", ")}`);
      if (role !== "assistant" && role !== "tool" && before === "tool" && !limits.promptsAfterResults)
        report(path, "is a prompt right behind the result of a tool");
      if (limits.oneSystemMessage && (role === "developer" || (role === "system" && index > 0)))
        report(path, "is a message of the system after the beginning");
      before = role;
      if (role !== "assistant") continue;
      const calls = bodyPartsOf(message.tool_calls);
      open = calls.map(({ id }) => id);
      if (new Set(open).size < open.length) report(path, "has one id twice");
      for (const call of calls) {
        if (!limits.id.test(String(call.id))) report(path, `has a call with the id ${String(call.id)}`);
        if (!limits.anyArguments && !hasObject(call))
          report(path, 'has "function.arguments" that are not in JSON format');
        const calledName = String(nameOf(call));
        if (!limits.name.test(calledName)) report(path, `has a call of ${calledName}`);
      }
    }
    if (open.length > 0) report("messages", "end with a call");
  });
}
