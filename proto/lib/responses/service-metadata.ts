/** Writes the receipt (`service_metadata`) of an answer. */
import { textOf } from "../json/text.ts";

/** The member `service_metadata` with a comma before it, and again under its alias; an empty text without a receipt. */
export function serviceMetadataMembers(json: Uint8Array | undefined, alias: string | undefined): string {
  if (!json || json.length === 0) return "";
  const value = textOf(json);
  return `,"service_metadata":${value}${alias === undefined ? "" : `,"${alias}":${value}`}`;
}
