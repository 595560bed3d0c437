/** States the required form of an answer in words, for endpoints that cannot enforce it. */
import type { SchemaFormat, TurnRequest } from "../turn/request.ts";

/**
 * The instruction for an answer in JSON. Vendors with a JSON mode answer 400 to a prompt without the word JSON
 * (https://api-docs.deepseek.com/guides/json_mode).
 */
export const jsonInstruction = "Answer with one JSON object and nothing else: no other words, and no code fence.";

/** The request with the answer's schema in the instructions, and only "a JSON object" as its format. */
export function instructSchema(request: TurnRequest, { description, schemaJson }: SchemaFormat): TurnRequest {
  const { instructions = "" } = request;
  const words = [
    ...(instructions.trim() === "" ? [] : [instructions, ""]),
    jsonInstruction,
    ...(description === undefined ? [] : [`What the object is: ${description}`]),
    // The schema null allows every object.
    ...(schemaJson === "null" ? [] : [`The object is valid by this JSON Schema: ${schemaJson}`]),
  ];
  return { ...request, instructions: words.join("\n"), textFormat: { type: "json_object", isInstructed: true } };
}
