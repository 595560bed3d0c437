/**
 * Converts calls of hosted tools in the history to function calls, for formats without such tools. Calls and outputs
 * stay in the conversation; items that have neither become text or are reported as dropped.
 */
import { describeSearch } from "./search-history.ts";
import type { InputItem } from "../../../turn/request.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";

export interface HostedCall {
  readonly callId: unknown;
  readonly name: string;
  readonly argumentsJson: string;
}

export interface HostedOutput {
  readonly callId: unknown;
  /** The output: a text, or parts as in function_call_output. */
  readonly output: unknown;
}

const calls: Readonly<Record<string, (item: InputItem) => HostedCall>> = {
  apply_patch_call: (item) => callOf(item, "apply_patch", item.operation),
  shell_call: (item) => callOf(item, "shell", item.action),
  local_shell_call: (item) => callOf(item, "local_shell", item.action),
  computer_call: (item) => callOf(item, "computer", item.action ?? { actions: item.actions }),
  code_interpreter_call: (item) => callOf(item, "code_interpreter", { code: item.code }),
  mcp_call: (item) => ({ ...callOf(item, text(item.name), undefined), argumentsJson: text(item.arguments) || "{}" }),
};

const outputs: Readonly<Record<string, (item: InputItem) => HostedOutput>> = {
  apply_patch_call_output: (item) => outputOf(item, [text(item.status), text(item.output)].filter(Boolean).join("\n")),
  shell_call_output: (item) => outputOf(item, jsonOf(item.output)),
  local_shell_call_output: (item) => outputOf(item, jsonOf(item.output)),
  computer_call_output: (item) => outputOf(item, [screenshot(item.output as JsonObject)]),
  // Items of these types contain their output.
  code_interpreter_call: (item) => outputOf(item, logsOf(item)),
  mcp_call: (item) => outputOf(item, jsonOf(item.error ?? item.output)),
};

export const toFunctionCall = (item: InputItem): HostedCall | undefined => calls[item.type]?.(item);
export const toFunctionOutput = (item: InputItem): HostedOutput | undefined => outputs[item.type]?.(item);

const callOf = (item: InputItem, name: string, args: unknown): HostedCall => ({
  callId: item.call_id ?? item.id,
  name,
  argumentsJson: JSON.stringify(args ?? {}),
});

const outputOf = (item: InputItem, output: unknown): HostedOutput => ({ callId: item.call_id ?? item.id, output });

const jsonOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? ""));

const logsOf = (item: InputItem): string =>
  objects(item.outputs)
    .map((output) => text(output.logs))
    .filter((logs) => logs !== "")
    .join("\n");

const screenshot = (output: JsonObject | undefined): JsonObject => ({
  type: "input_image",
  image_url: output?.image_url,
});

/**
 * Fields of items that contain no words for a model. Guardrails scan neither ids nor encrypted or encoded data, so no
 * text may contain these.
 */
const omittedKeys: ReadonlySet<string> = new Set([
  "type",
  "id",
  "call_id",
  "status",
  "encrypted_content",
  "signature",
  "file_data",
  "imageB64",
  "screenshotB64",
]);

const isIncluded = (key: string, value: unknown): boolean =>
  !omittedKeys.has(key) && value !== null && !(typeof value === "string" && value.startsWith("data:"));

const toJson = (value: unknown): string =>
  JSON.stringify(value, (key, member: unknown) => (isIncluded(key, member) ? member : undefined));

/** Whether a text of an output names a tool the client's search has found. */
const isReference = (part: unknown): part is JsonObject => isObject(part) && typeof part.tool_reference === "string";

export interface FoundTools {
  /** Returns the name under which a tool of the request is sent. */
  readonly sentName: (name: string) => string;
  /** Whether the format has a reference for the tool this text names. */
  readonly refers?: (part: JsonObject) => boolean;
  /** Called with the place of each such text for which the format has no reference. */
  readonly onWords: (place: string, reason: string) => void;
}

/**
 * The output of a call with the sent names of the tools found, because a model calls a tool by the name it reads.
 * @param output a text, or parts as in a message
 */
export function nameFoundTools(output: unknown, { sentName, refers, onWords }: FoundTools): unknown {
  if (!Array.isArray(output) || !output.some(isReference)) return output;
  return output.map((part: unknown, index) => {
    if (!isReference(part) || refers?.(part) === true) return part;
    onWords(`${index}.tool_reference`, "the text names the tool");
    const name = text(part.tool_reference);
    const sent = sentName(name);
    return sent === name ? part : { ...part, text: text(part.text).replace(name, () => sent) };
  });
}

/** The fields of an item its text describes, by item type. */
const describedFields: Readonly<Record<string, (item: InputItem) => JsonObject>> = {
  file_search_call: ({ queries, results }) => ({ queries, results }),
  image_generation_call: ({ prompt, revised_prompt }) => ({ prompt, revised_prompt }),
  mcp_list_tools: ({ server_label, tools, error }) => ({
    server_label,
    tools: objects(tools).map(({ name, description }) => ({ name, description })),
    error,
  }),
  mcp_approval_request: ({ server_label, name, arguments: args }) => ({ server_label, name, arguments: args }),
  mcp_approval_response: ({ approve, reason }) => ({ approve, reason }),
  "service:image_generation": (item) => ({ ...item, result: undefined }),
};

/** A text for an item of a tool the format lacks. @returns undefined for other items */
export function toText(item: InputItem): string | undefined {
  const search = describeSearch(item);
  if (search !== undefined) return search;
  const prefix = item.type.indexOf(":");
  const described = describedFields[item.type]?.(item) ?? (prefix === -1 ? undefined : item);
  return described && `[${item.type.slice(prefix + 1)}] ${toJson(described)}`;
}

const droppedFields: Readonly<Record<string, string>> = {
  tool_search_call: "all tools are sent",
  context_compaction: "it holds nothing",
};

/** Why items of this type are dropped. */
export const dropReason = (type: string): string => droppedFields[type] ?? `the format has no items of type ${type}`;
