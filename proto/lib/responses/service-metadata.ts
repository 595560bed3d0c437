/** Writes the receipt of an answer. */
import { textOf } from "../json/text.ts";

/** The member `service_metadata` with a leading comma, and again under its alias; an empty text without a receipt. */
export function serviceMetadataMembers(json: Uint8Array | undefined, alias: string | undefined): string {
  if (!json || json.length === 0) return "";
  const value = textOf(json);
  return `,"service_metadata":${value}${alias === undefined ? "" : `,"${alias}":${value}`}`;
}
