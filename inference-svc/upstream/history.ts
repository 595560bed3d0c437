/**
 * Calls of tools that a format does not know, as the calls of functions that they are to a model: what was done and what came back stays in
 * the conversation. What holds neither is declared lost.
 */
import type { InputItem } from "../turn/request.ts";
import { type JsonObject, objects, text } from "./json.ts";

export interface HostedCall {
  readonly callId: unknown;
  readonly name: string;
  readonly argumentsJson: string;
}

export interface HostedOutput {
  readonly callId: unknown;
  /** A string or parts, as in function_call_output. */
  readonly output: unknown;
}

const calls: Readonly<Record<string, (item: InputItem) => HostedCall>> = {
  apply_patch_call: (item) => callOf(item, "apply_patch", item.operation),
  shell_call: (item) => callOf(item, "shell", item.action),
  local_shell_call: (item) => callOf(item, "local_shell", item.action),
  computer_call: (item) => callOf(item, "computer", item.action ?? item.actions),
  code_interpreter_call: (item) => callOf(item, "code_interpreter", { code: item.code }),
  mcp_call: (item) => ({ ...callOf(item, text(item.name), undefined), argumentsJson: text(item.arguments) || "{}" }),
};

const outputs: Readonly<Record<string, (item: InputItem) => HostedOutput>> = {
  apply_patch_call_output: (item) => outputOf(item, [text(item.status), text(item.output)].filter(Boolean).join("\n")),
  shell_call_output: (item) => outputOf(item, jsonOf(item.output)),
  local_shell_call_output: (item) => outputOf(item, jsonOf(item.output)),
  computer_call_output: (item) => outputOf(item, [screenshot(item.output as JsonObject)]),
  // These bring their output along.
  code_interpreter_call: (item) => outputOf(item, logsOf(item)),
  mcp_call: (item) => outputOf(item, jsonOf(item.error ?? item.output)),
};

export const hostedCall = (item: InputItem): HostedCall | undefined => calls[item.type]?.(item);
export const hostedOutput = (item: InputItem): HostedOutput | undefined => outputs[item.type]?.(item);

const callOf = (item: InputItem, name: string, said: unknown): HostedCall => ({
  callId: item.call_id ?? item.id,
  name,
  argumentsJson: JSON.stringify(said ?? {}),
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

const losses: Readonly<Record<string, string>> = {
  web_search_call: "the format has no words for a search of the provider; what it found is in the answer after it",
  file_search_call: "the format has no words for a search of the provider; what it found is in the answer after it",
  image_generation_call: "the format takes no generated images back",
  mcp_list_tools: "the format knows no tool servers",
  mcp_approval_request: "the format knows no tool servers; request and answer are left out together",
  mcp_approval_response: "the format knows no tool servers; request and answer are left out together",
  tool_search_call: "the tools that were found are there from the beginning",
  context_compaction: "it holds nothing",
};

/** Why an item of that type is not told. */
export const lossOf = (type: string): string => losses[type] ?? `the format has no words for items of type ${type}`;
