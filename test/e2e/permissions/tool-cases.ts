/** Requests with each published tool at each published place for tools. */
import { toolFamilies } from "@sluice/gateway/contract/messages/tools.js";
import { nativeTools } from "@sluice/proto/contract/tools/native-tools.js";
import { serviceTools } from "@sluice/proto/contract/tools/service-tools.js";
import type { JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import {
  type SchemaField,
  leastText,
  leastValue,
  followReference,
  schemaFields,
  variantsOf,
} from "../../support/schema-walk.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface ToolCase {
  /** Label of the case: the place of the tool, and the tool's JSON. */
  readonly label: string;
  readonly place: string;
  readonly body: Fields;
  /** Name of the tool in `permissions.server_tools`; undefined for a tool run by the client. */
  readonly permission: string | undefined;
  /** Whether the case is one of many forms of the same tool. */
  readonly isForm: boolean;
}

/** A URL on which no server listens. */
export const mcpUrl = "http://127.0.0.1:9";

/** A prefix of tool types that the configuration file adds to `service:`. */
export const prefix = "acme:";

const published = followReference({ $ref: "#/components/schemas/Tool" })["anyOf"] as readonly JsonSchema[];
const renamed = (tool: Fields): Fields[] => {
  const type = String(tool["type"]);
  return type.startsWith("service:") ? [{ ...tool, type: type.replace("service:", prefix) }] : [];
};
/** Every published tool in each of its forms. */
const allForms: readonly Fields[] = published.flatMap(variantsOf);
/** Every published tool with each of its prefixes, and with each short setting that decides where it runs. */
const tools: readonly Fields[] = published.flatMap((schema) => {
  const whole = leastValue(schema) as Fields;
  const placed = variantsOf(schema).filter(({ environment }) => environment !== undefined);
  return [whole, ...renamed(whole), ...placed.filter(({ environment }) => isShort(environment))];
});

/** Whether an object has only a type and possibly an id. */
function isShort(value: unknown): boolean {
  return Object.keys(value as object).every((name) => name === "type" || name === "container_id");
}

/** Tools of the Messages format with types as long as those of Anthropic, and one with a type that Anthropic may publish later. */
const typedTools = (families: readonly string[]): readonly Fields[] =>
  families.map((family) => ({
    type: family.endsWith("_") ? `${family}20250305` : family,
    name: family.replace(/_$/, ""),
    ...(family === "mcp_toolset" && { mcp_server_name: leastText }),
  }));
const laterTypes = ["later_", "bash_code_", "memory_search_"];

const clientTypes =
  /^(?:function|custom|namespace|computer|computer_use_preview|local_shell|(?:service:)?(?:apply_patch|tool_search))$/;
const typedClientTypes = /^(?:bash|text_editor|computer|memory)_\d|^tool_search_tool_/;
const otherNames: Readonly<Record<string, string>> = { code_execution: "code_interpreter", mcp_toolset: "mcp" };

function permissionOf(tool: Fields): string | undefined {
  const type = String(tool["type"]).replace(prefix, "service:");
  if (clientTypes.test(type)) return undefined;
  const environment = tool["environment"] as { readonly type: string } | undefined;
  if (type === "shell" && (environment === undefined || environment.type === "local")) return undefined;
  const name = type.replace("service:", "");
  return name.startsWith("web_search") ? "web_search" : name;
}

function permissionOfTyped({ type }: Fields): string | undefined {
  if (typedClientTypes.test(String(type))) return undefined;
  const name = String(type).replace(/_\d{8}$/, "");
  return otherNames[name] ?? name;
}

/** Every name in `permissions.server_tools`. */
export const serverToolNames: readonly string[] = [
  ...new Set([...tools.map(permissionOf), ...typedTools([...toolFamilies, ...laterTypes]).map(permissionOfTyped)]),
].filter((name) => name !== undefined);

const panel = { analysis_models: [leastText], model: leastText };

/** Adds a panel to each fusion in the value, since the shortest one has none. */
function withPanels(value: unknown): unknown {
  if (Array.isArray(value)) return (value as unknown[]).map(withPanels);
  if (typeof value !== "object" || value === null) return value;
  const whole = Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withPanels(field)]));
  if (whole["id"] === "fusion") return { ...panel, ...whole };
  const isFusion = whole["type"] === "service:fusion" || whole["type"] === `${prefix}fusion`;
  return isFusion ? { ...whole, parameters: { ...panel, ...(whole["parameters"] as Fields) } } : whole;
}

/** Puts the items that an item requires before and after it in the input. */
export const withNeighbours = (given: Fields): Fields => {
  const body = withPanels(given) as Fields;
  const { input, plugins } = body;
  if (plugins !== undefined) return { ...body, model: "service/fusion" };
  if (!Array.isArray(input)) return body;
  const call = { type: "tool_search_call", call_id: leastText, arguments: { query: "q" }, execution: "client" };
  const isFound = (input as readonly Fields[]).some(({ type }) => type === "tool_search_output");
  return { ...body, input: [{ role: "user", content: "Hi" }, ...(isFound ? [call] : []), ...(input as unknown[])] };
};

const caseOf = (
  { path, put }: SchemaField,
  tool: unknown,
  permission: string | undefined,
  isForm = false,
): ToolCase => ({
  label: `${path} ${JSON.stringify(tool)}`,
  place: path,
  body: withNeighbours(put(tool)),
  permission,
  isForm,
});

/** The cases of one field for tools: functions in the form of its list, and Anthropic's own tools. */
const casesIn = (field: SchemaField, isMessages: boolean): readonly ToolCase[] => {
  switch (field.name) {
    case "anthropic_tool":
      return typedTools([...toolFamilies, ...laterTypes]).map((tool) => caseOf(field, tool, permissionOfTyped(tool)));
    case "web_search_options":
      return variantsOf(field.schema).map((value) => caseOf(field, value, "web_search"));
    case "mcp_servers":
      return [caseOf(field, [{ type: "url", name: leastText, url: mcpUrl }], "mcp")];
    case "functions":
      return typedTools(toolFamilies).map((tool) =>
        caseOf(field, [{ name: "look", parameters: {}, anthropic_tool: tool }], permissionOfTyped(tool)),
      );
    default:
      return isMessages && field.path === "tools"
        ? typedTools(messagesFamilies).map((tool) => caseOf(field, [tool], permissionOfTyped(tool)))
        : listCases(field);
  }
};

/** A toolset by itself names no server, so it is left out. */
const messagesFamilies = toolFamilies.filter((family) => family !== "mcp_toolset");

const listCases = (field: SchemaField): readonly ToolCase[] => {
  const isOfService = /\.parameters\.|^plugins/.test(field.path);
  const forms = field.path === "tools" ? allForms : [];
  return [
    ...tools.map((tool) => caseOf(field, [tool], permissionOf(tool))),
    ...forms.map((tool) => caseOf(field, [tool], permissionOf(tool), true)),
  ].filter(({ permission }) => permission !== undefined || !isOfService);
};

const carriers = /^(?:tools|functions|anthropic_tool|web_search_options|mcp_servers)$/;
/** Fields whose lists contain names, or tools that a server has already listed. */
const otherLists = /^tool_choice|<mcp_list_tools>/;

/** Every request of a schema that contains a tool. */
export const toolCases = (schema: string): readonly ToolCase[] =>
  schemaFields(schema)
    .filter(({ name, path }) => carriers.test(name) && !otherLists.test(path))
    .flatMap((field) => casesIn(field, schema.startsWith("Messages")));

/** Names of fields, at any depth of requests, that may have to do with tools. */
export const toolFieldNames = (schemas: readonly string[]): readonly string[] =>
  [...new Set(schemas.flatMap((schema) => schemaFields(schema).map(({ name }) => name)))]
    .filter((name) => /tool|function|mcp|connector|skill|web_search/.test(name))
    .sort();

/** Types of tools in the contract; a case must cover each of them. */
export const contractTypes: readonly string[] = Object.keys({ ...nativeTools, ...serviceTools });
export const publishedTypes: readonly string[] = tools.map(({ type }) => String(type));
