/** Converts items of tools that the client does not run to a call block and a result block. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { BlockJson } from "./block-json.ts";
import { searchInput } from "@sluice/proto/contract/tools/tool-search.js";
import { toServerCallId } from "./server-history.ts";

interface ServerCall {
  readonly name: string;
  readonly input: unknown;
  /** Type of the result block without `_tool_result`; by default, the name of the tool. */
  readonly kind?: string;
  readonly content: unknown;
}

const calls: Readonly<Record<string, (item: JsonObject) => ServerCall>> = {
  web_search_call: webSearch,
  "service:web_search": webSearch,
  "service:web_fetch": (item) => webFetch(item["url"], item),
  code_interpreter_call: codeExecution,
  "service:code_interpreter": codeExecution,
  "service:tool_search": toolSearch,
};

export function serverBlocks(item: JsonObject): readonly BlockJson[] {
  const type = String(item["type"]);
  const id = toServerCallId(String(item["id"]));
  if (type === "mcp_call") return mcpBlocks(item, id);
  const { name, input, kind = name, content } = calls[type]?.(item) ?? anyCall(type, item);
  const use = { json: JSON.stringify({ type: "server_tool_use", id, name }), inputJson: JSON.stringify(input) };
  if (isPaused(item)) return [use];
  return [use, { json: JSON.stringify({ type: `${kind}_tool_result`, tool_use_id: id, content }) }];
}

/** Whether the provider paused during a call, so that the call has no result yet. */
const isPaused = ({ type, status }: JsonObject): boolean =>
  status === "in_progress" || (type === "code_interpreter_call" && status === "incomplete");

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const objects = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const failed = ({ status, error }: JsonObject): boolean => status === "failed" || text(error) !== "";

function webSearch(item: JsonObject): ServerCall {
  const action: JsonObject = isObject(item["action"]) ? item["action"] : {};
  if (action["type"] === "open_page" || action["type"] === "find_in_page") return webFetch(action["url"], item);
  const results = objects(action["sources"]).map(({ url, title, page_age: age }) => ({
    type: "web_search_result",
    url,
    title: text(title) || url,
    encrypted_content: "",
    page_age: text(age) || null,
  }));
  const error = { type: "web_search_tool_result_error", error_code: "unavailable" };
  return { name: "web_search", input: { query: text(action["query"]) }, content: failed(item) ? error : results };
}

function webFetch(url: unknown, item: JsonObject): ServerCall {
  const name = "web_fetch";
  const input = { url: text(url) };
  if (failed(item)) {
    return { name, input, content: { type: "web_fetch_tool_result_error", error_code: "unavailable" } };
  }
  const document = {
    type: "document",
    source: { type: "text", media_type: "text/plain", data: text(item["content"]) },
    title: text(item["title"]),
  };
  return { name, input, content: { type: "web_fetch_result", url: input.url, content: document, retrieved_at: null } };
}

/** A tool search. Only a search by Anthropic names its tool; any other becomes a generic call. */
function toolSearch(item: JsonObject): ServerCall {
  const { tool, query, tool_references: found, error } = item;
  if (typeof tool !== "string") return anyCall("service:tool_search", item);
  const references = Array.isArray(found) ? found.map((name) => ({ type: "tool_reference", tool_name: name })) : [];
  const content =
    error === undefined
      ? { type: "tool_search_tool_search_result", tool_references: references }
      : { type: "tool_search_tool_result_error", error_code: error };
  return { name: tool, input: searchInput(tool, query), kind: "tool_search", content };
}

function codeExecution(item: JsonObject): ServerCall {
  const logs = objects(item["outputs"])
    .map((output) => text(output["logs"]))
    .filter((printed) => printed !== "");
  const stdout = logs.join("\n") || text(item["stdout"]);
  const code = { name: "code_execution", input: { code: text(item["code"]) } };
  if (stdout === "" && text(item["error"]) !== "") {
    return { ...code, content: { type: "code_execution_tool_result_error", error_code: "unavailable" } };
  }
  const stderr = text(item["stderr"]) || text(item["error"]);
  const result = { type: "code_execution_result", stdout, stderr, return_code: failed(item) ? 1 : 0, content: [] };
  return { ...code, content: result };
}

function mcpBlocks(item: JsonObject, id: string): readonly BlockJson[] {
  const { server_label: server, name, output, error } = item;
  const isError = error !== undefined && error !== null;
  const resultText = isError ? error : output;
  const content = [
    { type: "text", text: typeof resultText === "string" ? resultText : JSON.stringify(resultText ?? "") },
  ];
  return [
    {
      json: JSON.stringify({ type: "mcp_tool_use", id, name, server_name: server }),
      inputJson: text(item["arguments"]).trim() || "{}",
    },
    { json: JSON.stringify({ type: "mcp_tool_result", tool_use_id: id, is_error: isError, content }) },
  ];
}

const own: ReadonlySet<string> = new Set(["type", "id", "status"]);

/** A call of a tool without a counterpart in the Messages format: its result is the item itself. */
function anyCall(type: string, item: JsonObject): ServerCall {
  const name = type.replace(/^[a-z]+:/, "").replace(/_call$/, "");
  const content = Object.fromEntries(Object.entries(item).filter(([field]) => !own.has(field)));
  return { name, input: {}, content: { type: `${name}_result`, ...content } };
}
