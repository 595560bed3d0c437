/** Items for MCP servers that a provider or Sluice calls. */
import { anyValue, array, described, nullable, object, string } from "../../lib/validation/shape.ts";
import { itemShape } from "./item.ts";

const mcpTool = object(
  {
    name: string(),
    input_schema: anyValue,
    description: nullable(string()),
    annotations: anyValue,
  },
  { required: ["name", "input_schema"] },
);

export const mcpListTools = itemShape(
  "mcp_list_tools",
  "Tools of an MCP server.",
  {
    server_label: described(string(), "Name of the server in the request."),
    tools: described(array(mcpTool), "Its tools."),
    error: described(anyValue, "Why they could not be listed."),
  },
  { required: ["server_label", "tools"] },
);

export const mcpApprovalRequest = itemShape(
  "mcp_approval_request",
  "A call of an MCP tool that waits for a yes.",
  { server_label: string(), name: string(), arguments: string() },
  { required: ["server_label", "name", "arguments"] },
);

export const mcpCall = itemShape(
  "mcp_call",
  "A call of an MCP tool.",
  {
    server_label: described(string(), "Name of the server in the request."),
    name: described(string(), "Name of the tool."),
    arguments: described(string(), "Arguments as JSON text."),
    output: described(nullable(string()), "What the tool answered."),
    error: described(anyValue, "Why it failed."),
    approval_request_id: nullable(string()),
  },
  {
    required: ["server_label", "name", "arguments"],
    status: ["in_progress", "calling", "completed", "incomplete", "failed"],
  },
);
