/** Server and tools named by an `mcp` entry of a request. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { parseUrl } from "../turn/url.ts";

/** A text field of an entry. @returns undefined for an empty text and for other values */
export const textIn = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Name of the MCP server in the configuration file, for an entry without an address. */
export function serverNameOf(entry: JsonObject): string | undefined {
  if (textIn(entry["server_url"]) !== undefined || textIn(entry["tunnel_id"]) !== undefined) return undefined;
  return textIn(entry["connector_id"]) ?? textIn(entry["server_label"]);
}

/**
 * The server's name in permissions: the origin of the entry's address; without an address, the name of the configured
 * server or of the provider's.
 */
export function permittedServerName(entry: JsonObject): string {
  const url = textIn(entry["server_url"]);
  if (url !== undefined) return parseUrl(url)?.origin ?? url;
  return serverNameOf(entry) ?? textIn(entry["tunnel_id"]) ?? "";
}

/** Names of the tools the entry allows; undefined when it names none. */
export function namedTools({ allowed_tools: allowed }: JsonObject): readonly string[] | undefined {
  const names: unknown = isObject(allowed) ? allowed["tool_names"] : allowed;
  return Array.isArray(names) ? names.filter((name: unknown) => typeof name === "string") : undefined;
}
