/** Converts tools of the Messages format to tools of the contract. */
import { type ToolFamily, findToolFamily } from "../../contract/messages/tools.ts";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { type ByteSpan, memberOf, withMembers } from "@sluice/proto/lib/json/span.js";
import { type ClientTool, clientTools } from "./client-tools.ts";

/** A tool after the check of its shape. */
export interface MessagesTool {
  readonly type?: string | null;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly strict?: boolean | null;
  readonly defer_loading?: boolean | null;
  readonly cache_control?: JsonObject | null;
  readonly max_uses?: number | null;
  readonly max_content_tokens?: number | null;
  readonly allowed_domains?: readonly string[] | null;
  readonly blocked_domains?: readonly string[] | null;
  readonly citations?: JsonObject | null;
  readonly user_location?: JsonObject | null;
  readonly display_width_px?: number | null;
  readonly display_height_px?: number | null;
  readonly mcp_server_name?: string | null;
}

export interface McpServer {
  readonly name: string;
  readonly url: string;
  readonly authorization_token?: string | null;
  readonly tool_configuration?: {
    readonly enabled?: boolean | null;
    readonly allowed_tools?: readonly string[] | null;
  } | null;
}

export interface ToolChoice {
  readonly type: "auto" | "any" | "tool" | "none";
  readonly name?: string;
  readonly disable_parallel_tool_use?: boolean | null;
}

const familyOf = ({ type }: MessagesTool): ToolFamily | undefined =>
  typeof type === "string" && type !== "custom" ? findToolFamily(type) : undefined;

/** Whether the tool has a type of Anthropic and is run by the client. */
export function isClientTool(tool: MessagesTool): boolean {
  const family = familyOf(tool);
  return family !== undefined && clientTools[family] !== undefined;
}

/** Whether the tool is a function described by the client. */
export const isFunction = (tool: MessagesTool): boolean => familyOf(tool) === undefined;

/** Whether the tool has a type of Anthropic and is not run by the client. */
export const isHosted = (tool: MessagesTool): boolean => familyOf(tool) !== undefined && !isClientTool(tool);

/**
 * Converts a tool for the turn.  @param span place of the tool in the body  @param container id of the code container  @returns undefined for an
 * entry that only configures another tool
 */
export function toTool(
  tool: MessagesTool,
  body: Buffer,
  span: ByteSpan,
  deferred: boolean,
  container: string | undefined,
): string | undefined {
  const family = familyOf(tool);
  if (family === undefined) return toFunction(tool, schemaJson(body, span), deferred);
  const client = clientTools[family];
  return client ? toClientFunction(tool, client, typedJson(body, span)) : toServerTool(family, tool, container);
}

function schemaJson(body: Buffer, tool: ByteSpan): string {
  const { start, end } = memberOf(body, tool.start, "input_schema") as ByteSpan;
  return body.toString("utf8", start, end);
}

/** The tool as the client wrote it, without its cache mark and deferral, which are stored separately. */
function typedJson(body: Buffer, tool: ByteSpan): string {
  return withMembers(body.toString("utf8", tool.start, tool.end), {
    cache_control: undefined,
    defer_loading: undefined,
  });
}

const markMember = ({ cache_control: mark }: MessagesTool): string =>
  mark ? `,"cache_control":${JSON.stringify(mark)}` : "";

function toFunction(tool: MessagesTool, schema: string, deferred: boolean): string {
  const { name, description, strict } = tool;
  return (
    `{"type":"function","name":${JSON.stringify(name)}` +
    (description ? `,"description":${JSON.stringify(description)}` : "") +
    `,"parameters":${schema}` +
    (strict === true ? ',"strict":true' : "") +
    markMember(tool) +
    (deferred ? ',"defer_loading":true}' : "}")
  );
}

/**
 * The tool as a function, with its schema for models not trained on the tool. Calls have the same form either way.  @param typed JSON of the tool as
 * the client wrote it
 */
function toClientFunction(tool: MessagesTool, { name, description, parameters }: ClientTool, typed: string): string {
  const { display_width_px: width, display_height_px: height } = tool;
  const screen = width && height ? ` The screen has ${width} by ${height} pixels.` : "";
  const head = { type: "function", name: tool.name ?? name, description: description + screen, parameters };
  return `${JSON.stringify(head).slice(0, -1)}${markMember(tool)},"anthropic_tool":${typed}}`;
}

function toServerTool(family: ToolFamily, tool: MessagesTool, container: string | undefined): string | undefined {
  const { max_uses, max_content_tokens } = tool;
  const allowed = filled(tool.allowed_domains);
  const blocked = filled(tool.blocked_domains);
  const common = { max_uses: max_uses ?? undefined };
  switch (family) {
    case "web_search_":
      return JSON.stringify({
        type: "web_search",
        ...versionOf(tool),
        ...common,
        ...((allowed ?? blocked) && { filters: { allowed_domains: allowed, blocked_domains: blocked } }),
        ...(tool.user_location && { user_location: { ...tool.user_location, type: "approximate" } }),
      });
    case "web_fetch_": {
      const limits = { ...common, max_content_tokens: max_content_tokens ?? undefined };
      return JSON.stringify({
        type: "service:web_fetch",
        ...versionOf(tool),
        ...(tool.citations && { citations: tool.citations }),
        parameters: { ...limits, allowed_domains: allowed, blocked_domains: blocked },
      });
    }
    case "code_execution_":
      return JSON.stringify({
        type: "code_interpreter",
        ...versionOf(tool),
        container: container ?? { type: "auto" },
      });
    case "tool_search_tool_regex":
    case "tool_search_tool_bm25":
      return JSON.stringify({ type: "service:tool_search", ...versionOf(tool) });
    default:
      return undefined;
  }
}

/** The tool's version as named by the client. It is sent to Anthropic, where later versions can do more. */
const versionOf = ({ type }: MessagesTool): JsonObject => ({ anthropic_type: type });

const filled = (domains: readonly string[] | null | undefined): readonly string[] | undefined =>
  domains && domains.length > 0 ? domains : undefined;

export function toMcp({ name, url, authorization_token: token, tool_configuration: configuration }: McpServer): string {
  const allowed = configuration?.allowed_tools;
  return JSON.stringify({
    type: "mcp",
    server_label: name,
    server_url: url,
    ...(token && { authorization: token }),
    ...(allowed && { allowed_tools: allowed }),
    require_approval: "never",
  });
}

const types: Readonly<Partial<Record<ToolFamily, string>>> = {
  web_search_: "web_search",
  web_fetch_: "service:web_fetch",
  code_execution_: "code_interpreter",
  tool_search_tool_regex: "service:tool_search",
  tool_search_tool_bm25: "service:tool_search",
};

/** Converts the tool choice. @returns undefined for an absent choice */
export function toToolChoice(
  choice: ToolChoice | null | undefined,
  tools: readonly MessagesTool[],
): string | JsonObject | undefined {
  if (!choice) return undefined;
  switch (choice.type) {
    case "any":
      return "required";
    case "tool": {
      const named = tools.find(({ name }) => name === choice.name);
      const family = typeof named?.type === "string" ? findToolFamily(named.type) : undefined;
      const type = family && types[family];
      return type === undefined ? { type: "function", name: choice.name } : { type };
    }
    default:
      return choice.type;
  }
}
