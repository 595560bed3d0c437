/** The form of JSON that the request requires of the answer. */
import type { TurnRequest } from "../../turn/request.ts";
import { type WantedJson, anyObject } from "./ladder.ts";
import { SchemaChecker } from "../../content/json-schema/schema.ts";

/** @returns undefined when the request allows any text */
export function findWantedJson({ textFormat }: TurnRequest): WantedJson | undefined {
  if (textFormat?.type === "json_object") return anyObject;
  return textFormat?.type === "json_schema" ? ofSchema(JSON.parse(textFormat.schemaJson)) : undefined;
}

const ofSchema = (schema: unknown): WantedJson => ({
  mode: "json_schema",
  pick: "last",
  fits: (value) => new SchemaChecker(schema).fits(schema, value),
});
