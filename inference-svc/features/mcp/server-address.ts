/** The MCP server of a request's `mcp` entry, and the credentials to call it with. */
import { problemOfField } from "@sluice/proto/config/mcp.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { Problems, invalid } from "@sluice/proto/lib/validation/problems.js";
import type { McpAddress, McpServers } from "./client.ts";
import { parseUrl } from "../../turn/url.ts";
import { serverNameOf, textIn } from "../../agent-loop/mcp-entry.ts";
import type { ToolSettings } from "../../agent-loop/tool.ts";

/** Finds the server of an entry. @throws Fault INVALID_REQUEST for a forbidden server */
export function findServer({ entry, path }: Pick<ToolSettings, "entry" | "path">, servers: McpServers): McpAddress {
  const url = textIn(entry["server_url"]);
  if (url !== undefined)
    return { url: allowedUrl(url, path, servers), fields: ownFields(entry, path), isOperators: false };
  const name = serverNameOf(entry);
  const known = name === undefined ? undefined : servers.find(name);
  if (name === undefined || known === undefined) throw unknownServer(entry, path);
  if (isObject(entry["headers"]))
    throw invalid(
      `${path}.headers`,
      `${name} is a server of the operator, whose headers are mcp.servers.${name}.headers`,
    );
  return { ...known, fields: { ...ownFields(entry, path), ...known.fields } };
}

function allowedUrl(text: string, path: string, servers: McpServers): string {
  const url = parseUrl(text);
  if (url === undefined) throw invalid(`${path}.server_url`, "must be a URL");
  if (!servers.allows(url))
    throw invalid(
      `${path}.server_url`,
      `${url.origin} is not among the MCP servers that may be called; the operator allows its origin in mcp.allow, or names the server in mcp.servers`,
    );
  return text;
}

function unknownServer(entry: JsonObject, path: string) {
  const [field] = ["connector_id", "tunnel_id", "server_label"].filter((each) => textIn(entry[each]) !== undefined);
  return invalid(
    `${path}.${field}`,
    `no MCP server of this service has this name; the operator names servers in mcp.servers, or give a server_url that mcp.allow lets pass`,
  );
}

/** The header fields the entry sets. @throws Fault INVALID_REQUEST for header fields not allowed in requests */
function ownFields(entry: JsonObject, path: string): Readonly<Record<string, string>> {
  const problems = new Problems();
  const fields: Record<string, string> = {};
  const given = isObject(entry["headers"]) ? entry["headers"] : {};
  for (const [name, value] of Object.entries(given)) {
    const problem = problemOfField(name, String(value));
    if (problem !== undefined) problems.add(`${path}.headers`, problem);
    fields[name.toLowerCase()] = String(value);
  }
  const token = textIn(entry["authorization"]);
  if (token !== undefined) {
    // A token without a scheme is an OAuth token; a value with a scheme stays unchanged.
    fields["authorization"] = /^[A-Za-z][\w-]* /.test(token) ? token : `Bearer ${token}`;
    if (problemOfField("authorization", token) !== undefined)
      problems.add(`${path}.authorization`, "has a value that no header field can have");
  }
  problems.throwIfAny();
  return fields;
}
