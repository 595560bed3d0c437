/**
 * Puts the signature of reasoning into `encrypted_content`, together with its format. Clients of OpenAI's format send
 * this field back, and many of them drop the fields `signature` and `format`, which OpenAI's format lacks.
 */
import { isPacked } from "../../../turn/parse/packed-thoughts.ts";
import type { InputItem } from "../../../turn/request.ts";
import { type JsonObject, text } from "../json.ts";

/** Content of the field. A signature belongs to visible or hidden reasoning; data is the whole reasoning in the provider's own encryption. */
type Sealed = { readonly signature: string } | { readonly data: string };

const seal = /^sluice:(?<format>[\w-]+):(?<kind>signature|data):(?<value>.+)$/s;

export const sealReasoning = (format: string, sealed: Sealed): string =>
  "data" in sealed ? `sluice:${format}:data:${sealed.data}` : `sluice:${format}:signature:${sealed.signature}`;

/**
 * Fields of a signed reasoning item at its end.
 * @param isRequested whether the client requested `encrypted_content`
 */
export const signedFields = (format: string, signature: string, isRequested: boolean): JsonObject => ({
  format,
  signature: signature || null,
  ...(isRequested && signature !== "" && { encrypted_content: sealReasoning(format, { signature }) }),
});

/**
 * The reasoning item with the signature taken out of `encrypted_content`. An item that still has its text next to a
 * copy in this field comes from an earlier step of the same turn.
 */
export function openReasoning(item: InputItem): InputItem {
  if (isPacked(item.encrypted_content)) return { ...item, encrypted_content: null };
  const { format, kind, value } = seal.exec(text(item.encrypted_content))?.groups ?? {};
  if (format === undefined) return item;
  return kind === "data"
    ? { ...item, format, encrypted_content: value }
    : { ...item, format, signature: value, encrypted_content: null };
}
