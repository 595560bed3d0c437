/** One MCP server in one turn: its tools as functions for the model, and their calls. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { McpFailure } from "./failure.ts";
import { paramFields } from "./param-fields.ts";
import type { McpAddress, McpServers } from "./client.ts";
import type { McpSession } from "./session.ts";
import type { InputItem, ToolReference } from "../../turn/request.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import type { Stage } from "../../turn/trace.ts";
import { type OpenTool, type ToolCall, type ToolResult, errorOutput } from "../../agent-loop/tool.ts";
import type { SourceList, SourceTool } from "../../agent-loop/tool-source.ts";
import { type McpTool, readTools, toListed } from "./tool-definitions.ts";
import { findListedTools } from "./earlier-calls.ts";
import { modelName } from "./tool-names.ts";
import { failureForModel, resultForModel, textOfResult } from "./tool-results.ts";
import { parseAllowedTools, parseApproval } from "./tool-selection.ts";
import { openObjectShape } from "./argument-shape.ts";

const listMs = 20_000;
const callMs = 60_000;
/** Maximum pages read of a tool list. */
const maxPages = 20;
/** Maximum listed tools, before `allowed_tools` selects among them. */
const maxListed = 2_000;

export interface ServerParts {
  readonly label: string;
  readonly entry: JsonObject;
  readonly address: McpAddress;
  readonly servers: McpServers;
  /** The conversation, which may contain the tool list of an earlier response. */
  readonly input: readonly InputItem[];
  /** Whether the key may use a tool; undefined for every tool. */
  readonly permits: ((tool: string) => boolean) | undefined;
}

export class McpServer {
  readonly #label: string;
  readonly #description: string;
  readonly #servers: McpServers;
  readonly #address: McpAddress;
  readonly #session: McpSession;
  readonly #known: readonly unknown[] | undefined;
  readonly #isAllowed: (tool: McpTool) => boolean;
  readonly #waits: (tool: McpTool) => boolean;

  constructor({ label, entry, address, servers, input, permits }: ServerParts) {
    const { server_description: description, allowed_tools: allowed, require_approval: approval } = entry;
    this.#label = label;
    this.#description = typeof description === "string" && description !== "" ? ` (${description})` : "";
    this.#servers = servers;
    this.#address = address;
    this.#session = servers.open(address);
    this.#known = findListedTools(input, label);
    const isNamed = parseAllowedTools(allowed);
    this.#isAllowed = permits ? (tool) => isNamed(tool) && permits(tool.name) : isNamed;
    this.#waits = parseApproval(approval);
  }

  /** Whether the history contains the server's tool list. */
  get isKnown(): boolean {
    return this.#known !== undefined;
  }

  close(): void {
    this.#session.close();
  }

  async list(signal: TurnSignal): Promise<SourceList> {
    try {
      const listed = this.#known ?? (await this.#servers.list(this.#address, signal, () => this.#listed(signal)));
      const tools = readTools(listed, this.#isAllowed);
      const item = { server_label: this.#label, tools: tools.map(toListed), error: null };
      const from = this.#known ? "history" : "server";
      return {
        tools: tools.map((tool) => this.#toolOf(tool)),
        item,
        hasFailed: false,
        stage: this.#stage(from, tools.length),
      };
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      return this.failed(error.message);
    }
  }

  failed(error: string): SourceList {
    const item = { server_label: this.#label, tools: [], error };
    return { tools: [], item, hasFailed: true, stage: this.#stage("failed", 0) };
  }

  async #listed(signal: TurnSignal): Promise<readonly unknown[]> {
    const listed: unknown[] = [];
    const endsAt = performance.now() + listMs;
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const params = cursor === undefined ? {} : { cursor: JSON.stringify(cursor) };
      const limitMs = Math.max(1, Math.round(endsAt - performance.now()));
      const { tools, nextCursor } = await this.#session.request("tools/list", params, { signal, limitMs });
      if (!Array.isArray(tools)) throw new McpFailure("the answer lists no tools");
      listed.push(...(tools as unknown[]));
      if (listed.length > maxListed) throw new McpFailure(`a list of more than ${maxListed} tools`);
      if (typeof nextCursor !== "string" || nextCursor === "") return listed;
      cursor = nextCursor;
    }
    throw new McpFailure(`a list of more than ${maxPages} pages`);
  }

  #stage(from: "server" | "history" | "failed", count: number): Stage {
    const summary = from === "failed" ? "The tools could not be listed" : `${count} tools`;
    return {
      type: "server_tools",
      name: "mcp",
      summary,
      data: { server_label: this.#label, listed: from, count },
    };
  }

  #toolOf(tool: McpTool): SourceTool {
    const { name } = tool;
    return {
      ownName: name,
      name: modelName(this.#label, name),
      isMeant: (reference: ToolReference) =>
        reference["server_label"] === this.#label && (reference.name ?? name) === name,
      open: this.#openTool(tool),
    };
  }

  #openTool(tool: McpTool): OpenTool {
    const { name, description = "", inputSchema } = tool;
    const blank = (json: string) => this.#item(name, json);
    return {
      description: `${description}\n\nA tool of the MCP server ${this.#label}${this.#description}.`.trim(),
      arguments: openObjectShape(inputSchema),
      blank,
      ending: ({ status }) => [
        { name: `response.mcp_call.${status === "completed" ? "completed" : "failed"}`, payload: {} },
      ],
      ...(this.#waits(tool) && { toApprovalRequest: (json: string) => this.#toApprovalRequest(name, json) }),
      run: (args, call) => this.#call(tool, args, call),
      recall: () => ({ args: {}, output: "" }),
    };
  }

  /** Fields of a call's item. */
  #item(name: string, json: string): JsonObject {
    return { server_label: this.#label, name, arguments: json, output: null, error: null, approval_request_id: null };
  }

  /** Fields of the approval request for a call. */
  #toApprovalRequest(name: string, json: string) {
    return {
      type: "mcp_approval_request",
      idPrefix: "mcpr_",
      fields: { server_label: this.#label, name, arguments: json },
    };
  }

  async #call({ name, inputSchema }: McpTool, args: JsonObject, call: ToolCall): Promise<ToolResult> {
    const { argumentsJson, signal } = call;
    call.sendProgress({ name: "response.mcp_call.in_progress", payload: {} });
    const item = this.#item(name, argumentsJson);
    try {
      const params = { name: JSON.stringify(name), arguments: argumentsJson };
      const limits = { signal, limitMs: callMs, fields: paramFields(inputSchema, args) };
      const result = await this.#servers.call(this.#address, call, (onSent) =>
        this.#session.request("tools/call", params, { ...limits, onSent }),
      );
      const text = textOfResult(result);
      if (result["isError"] === true)
        return { output: failureForModel(this.#label, name, text), item: { ...item, error: text }, failed: true };
      return { output: resultForModel(this.#label, name, text), item: { ...item, output: text } };
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      const { message, isQuoted } = error;
      const output = isQuoted ? failureForModel(this.#label, name, message) : errorOutput(message);
      return { output, item: { ...item, error: message }, failed: true };
    }
  }
}
