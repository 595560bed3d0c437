/** Tools of the MCP server for administrators: every operation that reads records, as the contract describes it. */
import type { Operation } from "@sluice/proto/contract/operations/operation.js";
import { publishedParameters } from "@sluice/proto/contract/operations/operation.js";
import type { Components, JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import type { Route } from "../operation.ts";

export interface AdminTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: { readonly type: "object"; readonly [keyword: string]: unknown };
  readonly annotations: { readonly readOnlyHint: true; readonly openWorldHint: false };
}

/** Operations that are not offered as tools: a model must not read the prompts and answers of other people unasked. */
const withheld: ReadonlySet<string> = new Set(["getGenerationContent"]);

/** Routes of the operations offered as tools, by operation id; for an operation with several paths, the first path is used. */
export function toolRoutes(routes: readonly Route[]): ReadonlyMap<string, Route> {
  const readable = routes.filter(({ id, operation: { method, key } }) => {
    return method === "get" && key !== "inference" && !withheld.has(id);
  });
  return new Map(readable.toReversed().map((route) => [route.id, route]));
}

export function describeTool(id: string, operation: Operation): AdminTool {
  const components: Components = new Map();
  const parameters = publishedParameters(operation, components).filter((parameter) => parameter.in !== "header");
  const properties = parameters.map(({ name, description, schema }): [string, JsonSchema] => [
    name,
    { ...schema, description },
  ]);
  const required = parameters.filter((parameter) => parameter.required === true).map(({ name }) => name);
  return {
    name: id,
    title: operation.summary,
    description: operation.description,
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}
