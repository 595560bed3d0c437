/**
 * Puts the signature of reasoning into `encrypted_content`, together with its format. Clients of OpenAI's format send this field back, and
 * many of them drop the fields `signature` and `format`, which are missing in OpenAI's format.
 */
import { isPacked } from "../../../turn/parse/packed-thoughts.ts";
import type { InputItem } from "../../../turn/request.ts";
import { type JsonObject, text } from "../json.ts";

/** A signature belongs to visible or hidden reasoning; data is the whole reasoning in the provider's own encryption. */
type Sealed = { readonly signature: string } | { readonly data: string };

const seal = /^sluice:(?<format>[\w-]+):(?<kind>signature|data):(?<value>.+)$/s;

export const sealReasoning = (format: string, sealed: Sealed): string =>
  "data" in sealed ? `sluice:${format}:data:${sealed.data}` : `sluice:${format}:signature:${sealed.signature}`;

/**
 * The final fields of a signed reasoning item.
 * @param isAsked whether the client requested `encrypted_content`
 */
export const signedFields = (format: string, signature: string, isRequested: boolean): JsonObject => ({
  format,
  signature: signature || null,
  ...(isRequested && signature !== "" && { encrypted_content: sealReasoning(format, { signature }) }),
});

/** The reasoning item before it was sealed. A packed copy is next to its text here: it comes from an earlier step of the same turn. */
export function openReasoning(item: InputItem): InputItem {
  if (isPacked(item.encrypted_content)) return { ...item, encrypted_content: null };
  const { format, kind, value } = seal.exec(text(item.encrypted_content))?.groups ?? {};
  if (format === undefined) return item;
  return kind === "data"
    ? { ...item, format, encrypted_content: value }
    : { ...item, format, signature: value, encrypted_content: null };
}
