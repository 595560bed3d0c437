/** Finds the URLs in a request a provider may load. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { ListMemo } from "../turn/parse/list-memo.ts";
import type { InputItem, Tool, TurnRequest } from "../turn/request.ts";

export interface PassedAddress {
  /** Path in the request, such as `input.0.content.1.image_url`. */
  readonly path: string;
  readonly text: string;
  readonly isMcp: boolean;
}

/**
 * Matches types of items with results of earlier searches and tools. Their addresses are only text for the model and
 * never loaded; pages of the operator's own network may be among them.
 */
const onlyRead =
  /^(?:reasoning|(?:web_search|file_search|function|custom_tool|computer|apply_patch|shell|local_shell|tool_search|mcp)_call|mcp_.*|service:.*)$/;

const addressField = /(?:^|_)(?:url|uri)s?$/;

/** Fields for base64 bytes; some providers also accept an address in them. */
const byteFields: ReadonlySet<string> = new Set(["file_data", "data", "result"]);

/** Whether a text begins like a URL. URL parsers ignore white space and control characters, some of them even within a scheme. */
const startsLikeAddress = (text: string): boolean =>
  // oxlint-disable-next-line no-control-regex
  /^(?:https?:|[a-z][a-z0-9+.-]*:(?:[/\\]|https?:))/i.test(text.slice(0, 64).replaceAll(/[\u0000-\u0020]/g, ""));

const isData = /^data:/i;

/** Tells whether a text in a field of this name is an address a provider loads. */
type Names = (field: string, text: string) => boolean;

const namesAddress: Names = (field, text) =>
  byteFields.has(field) ? startsLikeAddress(text) : addressField.test(field) && text !== "" && !isData.test(text);

/** Options of images differ between providers: any of them may be an address. */
const looksLikeAddress: Names = (_, text) => startsLikeAddress(text);

/** Adds the addresses within a value. @param name name of the field with the value */
function addAddresses(value: object, name: string, path: string, names: Names, found: PassedAddress[]): void {
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    const field = Array.isArray(value) ? name : key;
    if (typeof member === "string") {
      if (names(field, member)) found.push({ path: `${path}.${key}`, text: member, isMcp: field === "server_url" });
    } else if (typeof member === "object" && member !== null && isLoaded(field, member))
      addAddresses(member, field, `${path}.${key}`, names, found);
  }
}

/** Whether providers may load the addresses in a member: citations only name sources, and function schemas contain text for the model. */
const isLoaded = (field: string, member: object): boolean =>
  field !== "annotations" && !(field === "tools" && isObject(member) && ownCalls.has(member["type"] as string));

const ownCalls: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);

/** Addresses in the input, cached for the items a conversation repeats. */
const inItems = new ListMemo<readonly PassedAddress[]>([], (before, input, from) => {
  const found: PassedAddress[] = [];
  for (let index = from; index < input.length; index++) {
    const item = input[index] as InputItem;
    if (!onlyRead.test(item.type)) addAddresses(item, "", `input.${index}`, namesAddress, found);
  }
  return found.length === 0 ? before : [...before, ...found];
});

const ofTools = new WeakMap<readonly Tool[], readonly PassedAddress[]>();

/** Addresses in tools a provider may run. Requests with equal bytes share one list of tools, so the result is cached by the list. */
function inTools(tools: readonly Tool[]): readonly PassedAddress[] {
  if (tools.length === 0) return none;
  let found = ofTools.get(tools);
  if (found === undefined) {
    const all: PassedAddress[] = [];
    for (const [index, tool] of tools.entries()) {
      if (tool.type === "hosted")
        addAddresses(JSON.parse(tool.json) as object, "", `tools.${index}`, namesAddress, all);
    }
    ofTools.set(tools, (found = all));
  }
  return found;
}

const none: readonly PassedAddress[] = [];

export function findAddresses(request: TurnRequest): readonly PassedAddress[] {
  const { input, tools, imageConfigJson: options, extraFields } = request;
  const sent = inItems.of(input);
  const ofServers = inTools(tools);
  if (options === undefined && !extraFields) return ofServers.length === 0 ? sent : [...sent, ...ofServers];
  const named: PassedAddress[] = [];
  if (options !== undefined) addSettings(options, "image_config", named);
  for (const [name, json] of Object.entries(extraFields ?? {})) addSettings(json, name, named);
  return [...sent, ...ofServers, ...named];
}

function addSettings(json: string, path: string, found: PassedAddress[]): void {
  const value: unknown = JSON.parse(json);
  if (typeof value === "object" && value !== null) addAddresses(value, "", path, looksLikeAddress, found);
  else if (typeof value === "string" && looksLikeAddress("", value)) found.push({ path, text: value, isMcp: false });
}
