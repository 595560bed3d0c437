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
  /** Place of the tool and its JSON. */
  readonly label: string;
  readonly place: string;
  readonly body: Fields;
  /** Name of the tool in `permissions.server_tools`; undefined for a tool of the client. */
  readonly permission: string | undefined;
  /** One of many forms of the same tool. */
  readonly isForm: boolean;
}

/** An address at which no server listens. */
export const mcpUrl = "http://127.0.0.1:9";

/** A prefix of the configuration file beside `service:`. */
export const prefix = "acme:";

const published = followReference({ $ref: "#/components/schemas/Tool" })["anyOf"] as readonly JsonSchema[];
const renamed = (tool: Fields): Fields[] => {
  const type = String(tool["type"]);
  return type.startsWith("service:") ? [{ ...tool, type: type.replace("service:", prefix) }] : [];
};
/** Every published tool in every form. */
const allForms: readonly Fields[] = published.flatMap(variantsOf);
/** Every published tool, by each of its prefixes, and once with what may decide who runs it. */
const tools: readonly Fields[] = published.flatMap((schema) => {
  const whole = leastValue(schema) as Fields;
  const placed = variantsOf(schema).filter(({ environment }) => environment !== undefined);
  return [whole, ...renamed(whole), ...placed.filter(({ environment }) => isShort(environment))];
});

/** Whether the object has its kind and at most an id. */
function isShort(value: unknown): boolean {
  return Object.keys(value as object).every((name) => name === "type" || name === "container_id");
}

/** Tools of the Messages format, by types as long as those of Anthropic, and one that Anthropic may publish later. */
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

/** The value with a panel in each fusion, which has none by itself. */
function withPanels(value: unknown): unknown {
  if (Array.isArray(value)) return (value as unknown[]).map(withPanels);
  if (typeof value !== "object" || value === null) return value;
  const whole = Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withPanels(field)]));
  if (whole["id"] === "fusion") return { ...panel, ...whole };
  const isFusion = whole["type"] === "service:fusion" || whole["type"] === `${prefix}fusion`;
  return isFusion ? { ...whole, parameters: { ...panel, ...(whole["parameters"] as Fields) } } : whole;
}

/** Neighbours of an item in the input. */
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

/** Functions in the shape of their list, each with one of Anthropic's own tools. */
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

/** A toolset alone names no server. */
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
/** Lists of names, and of tools that a server has already shown. */
const otherLists = /^tool_choice|<mcp_list_tools>/;

/** Every request of a schema that carries a tool. */
export const toolCases = (schema: string): readonly ToolCase[] =>
  schemaFields(schema)
    .filter(({ name, path }) => carriers.test(name) && !otherLists.test(path))
    .flatMap((field) => casesIn(field, schema.startsWith("Messages")));

/** Names of fields, at any depth of requests, that may have to do with tools. */
export const toolFieldNames = (schemas: readonly string[]): readonly string[] =>
  [...new Set(schemas.flatMap((schema) => schemaFields(schema).map(({ name }) => name)))]
    .filter((name) => /tool|function|mcp|connector|skill|web_search/.test(name))
    .sort();

/** Types of tools in the contract, without which no case would cover them. */
export const contractTypes: readonly string[] = Object.keys({ ...nativeTools, ...serviceTools });
export const publishedTypes: readonly string[] = tools.map(({ type }) => String(type));
