/** Reasoning that goes back: what the family has signed. Its words need not (https://ai.google.dev/gemini-api/docs/thought-signatures). */
import type { InputItem } from "../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { wantsSignatures } from "./model.ts";
import type { Content } from "./thread.ts";

/** The `format` of reasoning that this family signs. */
export const thoughtFormat = "google-gemini-v1";

/** @returns "" for what the family cannot read */
export const signatureOf = (item: InputItem): string =>
  item.format === thoughtFormat ? text(item.signature) || text(item.encrypted_content) : "";

/** What the vendor names for calls that no model of the family has made, which have no signature. */
const unsigned = "skip_thought_signature_validator";

/** Of calls that were made together the first is signed. */
export function signCalls(contents: readonly Content[], target: Target): readonly Content[] {
  if (!wantsSignatures(target)) return contents;
  return contents.map((content) => {
    const first = content.parts.findIndex((part) => isObject(part.functionCall));
    const call = content.parts[first];
    if (call === undefined || call.thoughtSignature !== undefined) return content;
    const signed: JsonObject = { ...call, thoughtSignature: unsigned };
    return { ...content, parts: content.parts.with(first, signed) };
  });
}
