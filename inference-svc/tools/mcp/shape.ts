/** Arguments whose schema a server gives: the schema reaches the model as it is, and the server checks the arguments. */
import { isObject } from "@sluice/proto/runtime/validation/fields.js";
import { type JsonSchema, type ObjectShape, object } from "@sluice/proto/runtime/validation/shape.js";

export const openObjectShape = (schema: JsonSchema): ObjectShape => ({
  ...object({}),
  check: (value, path, problems) => {
    if (!isObject(value)) problems.add(path, "must be an object");
  },
  schema: () => schema,
});
