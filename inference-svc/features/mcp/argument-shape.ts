/** Arguments with a schema from a server: the schema is passed on unchanged, and the server checks the arguments. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { type JsonSchema, type ObjectShape, object } from "@sluice/proto/lib/validation/shape.js";

export const openObjectShape = (schema: JsonSchema): ObjectShape => ({
  ...object({}),
  check: (value, path, problems) => {
    if (!isObject(value)) problems.add(path, "must be an object");
  },
  schema: () => schema,
});
