/**
 * Reasons for a 400 of Bedrock's Converse API, as a check of a request's body. Sources: the API reference of Message, ContentBlock, ToolUseBlock,
 * ToolResultBlock and CachePointBlock (https://docs.aws.amazon.com/bedrock/latest/APIReference), and error texts in public reports.
 */
import { checkClaudeStrict, checkClaudeTool } from "./schemas.ts";
import { type BodyPart, checkToolNames, isBodyPart, bodyPartsOf, violationsOf } from "./violations.ts";

const form = /^[a-zA-Z0-9_-]{1,64}$/;

/** @returns each broken rule as "path: error"; empty for a valid body */
export function findConverseViolations(body: BodyPart): readonly string[] {
  return violationsOf((report) => {
    const messages = bodyPartsOf(body.messages);
    if (messages.length === 0) report("messages", "is empty");
    if (messages[0]?.role !== "user") report("messages", "do not begin with the user");
    let role: unknown;
    let open: readonly unknown[] = [];
    for (const [index, message] of messages.entries()) {
      const path = `messages.${index}`;
      if (message.role === role) report(path, "has the role of the message before");
      ({ role } = message);
      const blocks = bodyPartsOf(message.content);
      if (blocks.length === 0) report(path, "is empty");
      for (const { text } of blocks)
        if (typeof text === "string" && text.trim() === "") report(path, "has a blank text");
      const answered = blocks.flatMap(({ toolResult }) => (isBodyPart(toolResult) ? [toolResult.toolUseId] : []));
      if (new Set(answered).size < answered.length) report(path, "has two results of one call");
      for (const id of open) if (!answered.includes(id)) report(path, `has no result of ${String(id)}`);
      for (const id of answered)
        if (!open.includes(id)) report(path, `has a result of ${String(id)}, which was not called`);
      open = [];
      const calls = blocks.flatMap(({ toolUse }) => (isBodyPart(toolUse) ? [toolUse] : []));
      for (const { toolUseId, name } of calls) {
        if (!form.test(String(toolUseId))) report(path, `has a call with the id ${String(toolUseId)}`);
        if (!form.test(String(name))) report(path, `has a call of ${String(name)}`);
      }
      open = calls.map(({ toolUseId }) => toolUseId);
      if (new Set(open).size < open.length) report(path, "has one id twice");
    }
    if (open.length > 0) report("messages", "end with a call");
    const end = role === "assistant" ? bodyPartsOf(messages.at(-1)?.content).at(-1) : undefined;
    if (typeof end?.text === "string" && /\s$/.test(end.text))
      report("messages", "end with white space of the assistant");
    checkSchemas(body, report);
    const { tools, toolChoice } = (body.toolConfig ?? {}) as BodyPart;
    const names = bodyPartsOf(tools).flatMap(({ toolSpec }) => (isBodyPart(toolSpec) ? [toolSpec.name] : []));
    const chosen = isBodyPart(toolChoice) ? toolChoice.tool : undefined;
    checkToolNames(names, form, isBodyPart(chosen) ? chosen.name : undefined, report);
  });
}

function checkSchemas({ toolConfig, outputConfig }: BodyPart, report: (path: string, problem: string) => void): void {
  for (const { toolSpec } of bodyPartsOf(isBodyPart(toolConfig) ? toolConfig.tools : [])) {
    if (!isBodyPart(toolSpec)) continue;
    const { json } = toolSpec.inputSchema as { readonly json: BodyPart };
    checkClaudeTool(json, `toolConfig.${String(toolSpec.name)}`, report);
    if (toolSpec.strict === true) checkClaudeStrict(json, `toolConfig.${String(toolSpec.name)}`, report);
  }
  const { textFormat } = (outputConfig ?? {}) as { readonly textFormat?: BodyPart };
  const { jsonSchema } = (textFormat?.structure ?? {}) as { readonly jsonSchema?: { readonly schema: string } };
  if (jsonSchema) checkClaudeStrict(JSON.parse(jsonSchema.schema), "outputConfig.textFormat", report);
}
