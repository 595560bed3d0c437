/** The routing metadata of an answer, wherever it is written. */

/** The member `service_metadata`, with a comma before it; under its second name as well. Nothing when there is none. */
export function serviceMetadataMembers(json: Uint8Array | undefined, alias: string | undefined): string {
  if (!json || json.length === 0) return "";
  const value = Buffer.from(json).toString();
  return `,"service_metadata":${value}${alias === undefined ? "" : `,"${alias}":${value}`}`;
}
