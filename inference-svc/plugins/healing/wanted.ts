/** What an answer must be, by the format that was asked for. */
import type { TurnRequest } from "../../turn/request.ts";
import { type Wanted, anyObject } from "./ladder.ts";
import { Check } from "./schema.ts";

/** Undefined where any text will do. */
export function wantedOf({ textFormat }: TurnRequest): Wanted | undefined {
  if (textFormat?.type === "json_object") return anyObject;
  return textFormat?.type === "json_schema" ? ofSchema(JSON.parse(textFormat.schemaJson)) : undefined;
}

const ofSchema = (schema: unknown): Wanted => ({
  mode: "json_schema",
  pick: "last",
  fits: (value) => new Check(schema).fits(schema, value),
});
