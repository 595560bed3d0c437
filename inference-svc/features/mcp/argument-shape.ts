/**
 * The shape of a tool's arguments for which an MCP server gives a schema: the schema is passed on to models unchanged,
 * and the server checks the arguments.
 */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { type JsonSchema, type ObjectShape, object } from "@sluice/proto/lib/validation/shape.js";

export const openObjectShape = (schema: JsonSchema): ObjectShape => ({
  ...object({}),
  check: (value, path, problems) => {
    if (!isObject(value)) problems.add(path, "must be an object");
  },
  schema: () => schema,
});
