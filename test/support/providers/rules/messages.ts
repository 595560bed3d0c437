/**
 * Reasons for a 400 of Anthropic's Messages API, as a check of a request's body. Sources: the pages "Prompt caching", "Mid-conversation system
 * messages", "Tool use" (define tools, handle tool calls), "Extended thinking", "Structured outputs" and "Errors" of
 * https://platform.claude.com/docs, and error texts in public reports.
 */
import { checkClaudeStrict, checkClaudeTool } from "./schemas.ts";
import { type BodyPart, checkToolNames, isBodyPart, bodyPartsOf, violationsOf } from "./violations.ts";

const maxMarks = 4;
const idForm = /^[a-zA-Z0-9_-]+$/;
const toolName = /^[a-zA-Z0-9_-]{1,128}$/;

/** @returns each broken rule as "path: error"; empty for a valid body */
export function findMessagesViolations(body: BodyPart): readonly string[] {
  return violationsOf((report) => {
    const messages = bodyPartsOf(body.messages);
    if (messages.length === 0) report("messages", "is empty");
    checkMarks(body, report);
    checkTexts(bodyPartsOf(body.system), "system", report);
    for (const [index, message] of messages.entries())
      checkTexts(bodyPartsOf(message.content), `messages.${index}`, report);
    checkCalls(messages, report);
    checkPrompts(messages, report);
    checkEnd(messages, report);
    for (const [index, tool] of bodyPartsOf(body.tools).entries()) checkTool(tool, `tools.${index}`, report);
    const names = bodyPartsOf(body.tools).map((tool) => tool.name);
    checkToolNames(names, toolName, isBodyPart(body.tool_choice) ? body.tool_choice.name : undefined, report);
    checkThinking(body, report);
    const { format } = (body.output_config ?? {}) as BodyPart;
    if (isBodyPart(format)) checkClaudeStrict(format.schema, "output_config.format.schema", report);
  });
}

type Report = (path: string, problem: string) => void;

function checkMarks(body: BodyPart, report: Report): void {
  const blocks = [
    ...bodyPartsOf(body.tools),
    ...bodyPartsOf(body.system),
    ...bodyPartsOf(body.messages).flatMap(({ content }) => bodyPartsOf(content)),
  ];
  const marked = blocks.filter(({ cache_control: mark }) => isBodyPart(mark));
  if (marked.length > maxMarks) report("cache_control", `${marked.length} marks`);
  let short = false;
  for (const { type, text, cache_control: mark } of marked) {
    if (String(type).endsWith("thinking")) report("cache_control", "stands on a thought");
    if (text === "") report("cache_control", "stands on an empty text");
    const long = (mark as BodyPart).ttl === "1h";
    if (short && long) report("cache_control", "a mark of 1h follows one of 5m");
    short ||= !long;
  }
  for (const { type, content } of blocks) {
    if (type !== "tool_result") continue;
    if (bodyPartsOf(content).some((inner) => inner.cache_control !== undefined))
      report("cache_control", "stands inside of a tool_result");
  }
}

function checkTexts(blocks: readonly BodyPart[], path: string, report: Report): void {
  for (const [index, { type, text }] of blocks.entries()) {
    if (type === "text" && String(text).trim() === "") report(`${path}.${index}`, "is a text of white space");
  }
}

/** Checks that each call has a unique id, and that its result is at the beginning of the next message. */
function checkCalls(messages: readonly BodyPart[], report: Report): void {
  const ids = new Set<unknown>();
  let open: readonly unknown[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    const blocks = bodyPartsOf(content);
    const path = `messages.${index}`;
    const results = blocks.filter(({ type }) => type === "tool_result");
    const answered = results.map(({ tool_use_id: id }) => id);
    if (role === "user") {
      for (const id of open) if (!answered.includes(id)) report(path, `has no result of the call ${String(id)}`);
      for (const id of answered)
        if (!open.includes(id)) report(path, `has a result of ${String(id)}, which the message before did not call`);
      if (new Set(answered).size < answered.length) report(path, "has two results of one call");
      if (blocks.slice(0, results.length).some(({ type }) => type !== "tool_result"))
        report(path, "has something before its results");
      open = [];
      continue;
    }
    if (role === "system") {
      if (open.length > 0) report(path, "stands between a call and its result");
      continue;
    }
    const calls = blocks.filter(({ type }) => type === "tool_use");
    open = calls.map(({ id }) => id);
    for (const { id, name, input } of calls) {
      if (!idForm.test(String(id))) report(path, `has a call with the id ${String(id)}`);
      if (ids.has(id)) report(path, `repeats the id ${String(id)}`);
      ids.add(id);
      if (!toolName.test(String(name))) report(path, `has a call of ${String(name)}`);
      if (!isBodyPart(input)) report(path, "has a call whose input is no object");
    }
  }
  if (open.length > 0) report("messages", "end with a call");
}

/** Checks that a system message within the conversation follows a user message, and precedes an assistant message or nothing. */
function checkPrompts(messages: readonly BodyPart[], report: Report): void {
  for (const [index, { role, content }] of messages.entries()) {
    if (role !== "system") continue;
    const path = `messages.${index}`;
    if (messages[index - 1]?.role !== "user") report(path, "does not follow a message of the user");
    if (index + 1 < messages.length && messages[index + 1]?.role !== "assistant")
      report(path, "stands before a message that is not the assistant's");
    if (bodyPartsOf(content).some(({ type }) => type !== "text")) report(path, "has something else than text");
  }
}

function checkEnd(messages: readonly BodyPart[], report: Report): void {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return;
  const end = bodyPartsOf(last.content).at(-1);
  if (end?.type === "text" && /\s$/.test(String(end.text))) report("messages", "end with white space of the assistant");
}

function checkTool(tool: BodyPart, path: string, report: Report): void {
  if (tool.input_schema === undefined) return;
  const schema = tool.input_schema as BodyPart;
  checkClaudeTool(schema, `${path}.input_schema`, report);
  if (tool.strict === true) checkClaudeStrict(schema, `${path}.input_schema`, report);
}

function checkThinking({ thinking, tool_choice: choice, max_tokens: limit }: BodyPart, report: Report): void {
  if (!isBodyPart(thinking) || thinking.type !== "enabled") return;
  const { budget_tokens: budget } = thinking;
  if (Number(budget) < 1_024) report("thinking.budget_tokens", "is below 1024");
  if (Number(budget) >= Number(limit)) report("thinking.budget_tokens", "is not below max_tokens");
  if (isBodyPart(choice) && (choice.type === "any" || choice.type === "tool"))
    report("tool_choice", "is forced beside thinking");
}
