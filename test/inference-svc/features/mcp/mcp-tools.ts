/** Entries of MCP servers as parsed, and their resulting items. */
import type { HostedTool } from "@sluice/inference-svc/turn/request.js";

/** A server called without approval, unless the fields change it. */
export const mcpTool = (fields: object): HostedTool => {
  const entry = { type: "mcp", server_label: "crm", require_approval: "never", ...fields };
  return { type: "hosted", kind: "mcp", spelling: "mcp", json: JSON.stringify(entry) };
};

export const echoCall = { name: "crm__echo", args: { text: "hello" } };
