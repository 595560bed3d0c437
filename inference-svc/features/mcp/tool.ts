/** The tool source `mcp`: tools of an MCP server, which Sluice lists and calls for models whose providers do not support MCP. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { McpServers } from "./client.ts";
import type { ItemEvent } from "../../turn/progress-buffer.ts";
import type { ToolReference } from "../../turn/request.ts";
import type { ToolSettings } from "../../agent-loop/tool.ts";
import type { OpenSource, SourceTool, ToolSource } from "../../agent-loop/tool-source.ts";
import { permittedServerName, serverNameOf } from "../../agent-loop/mcp-entry.ts";
import { findServer } from "./server-address.ts";
import { restoreMcpItems } from "./earlier-calls.ts";
import { modelName } from "./tool-names.ts";
import { McpServer } from "./server-tools.ts";
import { openObjectShape } from "./argument-shape.ts";

/** Maximum servers per request: each of them takes a connection and a wait for its tool list. */
const maxServers = 16;

export const mcp = (servers: McpServers): ToolSource => ({
  kinds: ["mcp"],
  hasEffect: true,
  items: { type: "mcp_call", idPrefix: "mcp_", failedStatus: "failed" },
  // A server of the configuration file is never left to a provider, which does not know it.
  takes: (entry, isNative) => isOperators(entry, servers) || !isNative(),
  open: (settings) => openSource(settings, servers),
  restore: restoreMcpItems,
});

function isOperators(entry: JsonObject, servers: McpServers): boolean {
  const name = serverNameOf(entry);
  return name !== undefined && (servers.find(name) !== undefined || typeof entry["connector_id"] !== "string");
}

/** Opens a server. @throws Fault INVALID_REQUEST for a forbidden server or a duplicate label */
function openSource(settings: ToolSettings, servers: McpServers): OpenSource {
  const { entry, path } = settings;
  const label = String(entry["server_label"]);
  const earlier = earlierLabels(settings);
  if (earlier.length >= maxServers) throw invalid(path, `at most ${maxServers} MCP servers`);
  if (earlier.includes(label)) throw invalid(`${path}.server_label`, `${label} is the label of an earlier server`);
  const server = new McpServer({
    label,
    entry,
    address: findServer(settings, servers),
    servers,
    input: settings.request.input,
    permits: permitsIn(settings),
  });
  return {
    label,
    placeholder: placeholderOf(label, settings),
    ...(!server.isKnown && { listing: listingItem(label) }),
    list: (signal) => server.list(signal),
    failed: (reason) => server.failed(reason),
    close: () => server.close(),
  };
}

/** Returns whether the key may use a tool of the server; undefined when it may use all. */
function permitsIn({ entry, scope: { permissions } }: ToolSettings): ((tool: string) => boolean) | undefined {
  if (permissions === undefined) return undefined;
  const server = permittedServerName(entry);
  return (tool) => permissions.allowsServerTool(server, tool);
}

/** Labels of the request's `mcp` entries in front of this one. */
const earlierLabels = ({ request, path }: ToolSettings): readonly unknown[] =>
  request.tools
    .slice(0, Number(path.split(".").at(-1)))
    .flatMap((tool) =>
      tool.type === "hosted" && tool.kind === "mcp" ? [(JSON.parse(tool.json) as JsonObject)["server_label"]] : [],
    );

const listingItem = (label: string): NonNullable<OpenSource["listing"]> => ({
  type: "mcp_list_tools",
  idPrefix: "mcpl_",
  begun: { server_label: label, tools: [], error: null },
  begin: [event("in_progress")],
  end: (hasFailed) => [event(hasFailed ? "failed" : "completed")],
});

const event = (step: string): ItemEvent => ({ name: `response.mcp_list_tools.${step}`, payload: {} });

/** The function that stands for the server's tools in a dry run, which calls no server. */
function placeholderOf(label: string, { entry, path }: ToolSettings): SourceTool {
  const isDeferred = entry["defer_loading"] === true;
  return {
    ownName: "",
    name: modelName(label, "tools"),
    isMeant: (reference: ToolReference) => reference["server_label"] === label,
    open: {
      description: `The tools of the MCP server ${label}, which are listed when the request runs.`,
      arguments: openObjectShape({ type: "object" }),
      ...(isDeferred && {
        notSent: [{ path: `${path}.defer_loading`, reason: "Sluice tells models of all tools of an MCP server" }],
      }),
      run: () => Promise.reject(new Error("the tools were not listed")),
      recall: () => ({ args: {}, output: "" }),
    },
  };
}
