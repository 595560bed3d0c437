/** Entries of MCP servers as the parser leaves them, and the items that come of them. */
import type { HostedTool } from "@sluice/inference-svc/turn/request.js";

/** A server that is called without asking, unless the fields say otherwise. */
export const mcpTool = (fields: object): HostedTool => {
  const entry = { type: "mcp", server_label: "crm", require_approval: "never", ...fields };
  return { type: "hosted", kind: "mcp", spelling: "mcp", json: JSON.stringify(entry) };
};

export const echoCall = { name: "crm__echo", args: { text: "hello" } };
