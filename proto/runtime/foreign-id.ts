/**
 * Ids that clients and providers made. They only tell things apart and pair calls with results, so that one which could be a text is replaced:
 * the same id always by the same one, and pairs stay pairs.
 */
import { createHash } from "node:crypto";

/**
 * Letters, digits and the signs of UUIDs, base64, paths and joined ids: Moonshot has `functions.name:0`, clients join `call_1|fc_1`, Google has
 * `files/a`. The longest of 5,000 recorded ids has 83 characters.
 */
const plain = /^[\w.:=+/|-]{1,128}$/;

/** Kinds that providers tell by the beginning of an id. */
const kind = /^(?:call|fc|ctc|msg|rs|ws|fs|ci|ig|cu|mcp|mcpl|mcpr|cmp|toolu|srvtoolu|tooluse)_/;

const digest = (id: string): string => createHash("sha256").update(id).digest("base64url").slice(0, 22);

/** The id as it is, or one of 22 characters in the place of an id that is no plain word of at most 128 characters. */
export const plainId = (id: string): string =>
  id === "" || plain.test(id) ? id : `${kind.exec(id)?.[0] ?? "id_"}${digest(id)}`;

export const isPlainId = (id: string): boolean => plain.test(id);

/** Sealed content is base64 or the like: it has no white space, as texts do. */
const opaque = /^[\w.:=+/|~-]*$/;
export const isOpaque = (sealed: string): boolean => opaque.test(sealed);

const word = /^[\w-]+$/;

/** An id of letters, digits, _ and - for formats that know no others. Different ids stay different. */
export function wordId(id: string): string {
  if (word.test(id)) return id;
  return `${id.replaceAll(/[^\w-]/g, "_")}_${createHash("sha256").update(id).digest("hex").slice(0, 8)}`;
}
