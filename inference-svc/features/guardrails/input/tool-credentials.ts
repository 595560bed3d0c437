/** Credentials in a request's entry for a tool server. Only that server may read them, and a provider that calls it. */
import { membersOf, withMembers } from "@sluice/proto/lib/json/span.js";
import type { Tool } from "../../../turn/request.ts";

const secretFields: ReadonlySet<string> = new Set(["authorization", "headers"]);

export interface SplitEntry {
  /** The JSON of the entry without the credentials. */
  readonly shown: string;
  /** Puts the credentials into a changed JSON of the entry. */
  readonly join: (json: string) => string;
}

export function splitCredentials(tool: Tool): SplitEntry {
  const whole = { shown: tool.json, join: (json: string) => json };
  if (tool.type !== "hosted" || tool.kind !== "mcp") return whole;
  const bytes = Buffer.from(tool.json);
  const secrets = membersOf(bytes).filter(({ key }) => secretFields.has(key));
  if (secrets.length === 0) return whole;
  const values = secrets.map(({ key, start, end }) => [key, bytes.toString("utf8", start, end)] as const);
  const none = Object.fromEntries(values.map(([key]) => [key, undefined]));
  return {
    shown: withMembers(tool.json, none),
    join: (json) => withMembers(json, Object.fromEntries(values)),
  };
}
