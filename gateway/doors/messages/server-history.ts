/** Converts calls of tools that clients do not run, with their results, to input items. */
import { wordId } from "@sluice/proto/lib/ids/foreign-id.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { isAnthropicSearch } from "@sluice/proto/contract/tools/tool-search.js";
import type { Block } from "./parts.ts";

const callPrefix = "srvtoolu_";

/** The id of a call in the Messages format, from which `toItemId` restores the item's id. */
export const toServerCallId = (itemId: string): string => `${callPrefix}${wordId(itemId)}`;

/** The item's id for a call. @param prefix prefix that providers expect in ids of this type of item */
function toItemId(callId: string, prefix: string): string {
  const id = callId.startsWith(callPrefix) ? callId.slice(callPrefix.length) : callId;
  return id.startsWith(prefix) ? id : `${prefix}${id}`;
}

/** Whether a block is the result of a call that a client does not run. */
export const isServerResult = ({ type }: Block): boolean => type.endsWith("_tool_result");

export const isServerCall = ({ type }: Block): boolean => type === "server_tool_use" || type === "mcp_tool_use";

/** @param result undefined for a call without a result */
export function toServerItem(call: Block, result: Block | undefined): JsonObject | undefined {
  if (call.type === "mcp_tool_use") return mcpCall(call, result);
  switch (call.name) {
    case "web_search":
      return webSearch(call, result);
    case "web_fetch":
      return webFetch(call, result);
    case "code_execution":
    case "bash_code_execution":
      return codeExecution(call, result);
    default:
      return isAnthropicSearch(call.name) ? toolSearch(call, result) : undefined;
  }
}

function toolSearch(call: Block, result: Block | undefined): JsonObject {
  const { query, pattern } = inputOf(call);
  const found: JsonObject = isObject(result?.content) ? result.content : {};
  const error = text(found["error_code"]);
  return {
    type: "service:tool_search",
    id: toItemId(call.id ?? "", "st_"),
    status: "completed",
    query: text(query) || text(pattern),
    tool: call.name,
    tool_references: objects(found["tool_references"]).map(({ tool_name: name }) => text(name)),
    ...(error !== "" && { error }),
  };
}

const inputOf = ({ input }: Block): JsonObject => (isObject(input) ? input : {});
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const objects = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

function webSearch(call: Block, result: Block | undefined): JsonObject {
  const query = text(inputOf(call)["query"]);
  const found = result?.content;
  const sources = objects(found).map(({ url }) => ({ type: "url", url: text(url) }));
  return {
    type: "web_search_call",
    id: toItemId(call.id ?? "", "ws_"),
    // A call without a result is one during which the provider paused.
    status: Array.isArray(found) ? "completed" : result === undefined ? "in_progress" : "failed",
    action: { type: "search", query, queries: [query], sources },
  };
}

function webFetch(call: Block, result: Block | undefined): JsonObject {
  const found: JsonObject = isObject(result?.content) ? result.content : {};
  const document: JsonObject = isObject(found["content"]) ? found["content"] : {};
  const source: JsonObject = isObject(document["source"]) ? document["source"] : {};
  const error = text(found["error_code"]);
  return {
    type: "service:web_fetch",
    id: toItemId(call.id ?? "", "wf_"),
    status: "completed",
    url: text(found["url"]) || text(inputOf(call)["url"]),
    title: text(document["title"]),
    content: source["type"] === "text" ? text(source["data"]) : "",
    ...(error !== "" && { error }),
  };
}

function codeExecution(call: Block, result: Block | undefined): JsonObject {
  const input = inputOf(call);
  const ran: JsonObject = isObject(result?.content) ? result.content : {};
  const logs = [text(ran["stdout"]), text(ran["stderr"])].filter((printed) => printed !== "").join("\n");
  return {
    type: "code_interpreter_call",
    id: toItemId(call.id ?? "", "ci_"),
    // A call without a result is one during which the provider paused.
    status: result === undefined ? "incomplete" : "completed",
    code: text(input["code"]) || text(input["command"]),
    container_id: "",
    outputs: [{ type: "logs", logs }],
  };
}

function mcpCall(call: Block, result: Block | undefined): JsonObject {
  const content = result?.content;
  const output =
    typeof content === "string"
      ? content
      : objects(content)
          .map((part) => text(part["text"]))
          .join("\n");
  return {
    type: "mcp_call",
    id: toItemId(call.id ?? "", "mcp_"),
    server_label: call.server_name ?? "",
    name: call.name,
    arguments: JSON.stringify(inputOf(call)),
    ...(result?.is_error === true ? { error: output } : { output }),
  };
}

/** Describes a call as text, for a call without a corresponding type of item. */
export function describeCall(call: Block, result: Block | undefined): string {
  const found = result === undefined ? "" : ` ${JSON.stringify(result.content ?? null)}`;
  return `[${call.name}] ${JSON.stringify(inputOf(call))}${found}`;
}
