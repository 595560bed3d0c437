/**
 * Ids made by clients and providers. They only distinguish things and pair calls with results. An id that could be free text is replaced by a hash, so
 * equal ids stay equal and pairs stay pairs.
 */
import { createHash } from "node:crypto";

/**
 * Letters, digits and the signs of UUIDs, base64, paths and joined ids: Moonshot has `functions.name:0`, clients join `call_1|fc_1`, Google has
 * `files/a`. The longest of 5,000 recorded ids has 83 characters.
 */
const plain = /^[\w.:=+/|-]{1,128}$/;

/** Prefixes by which providers mark the kind of an id. */
const kind = /^(?:call|fc|ctc|msg|rs|ws|fs|ci|ig|cu|mcp|mcpl|mcpr|cmp|toolu|srvtoolu|tooluse)_/;

const digest = (id: string): string => createHash("sha256").update(id).digest("base64url").slice(0, 22);

/** The id itself, or its prefix and a 22-character hash when it is not a plain word of at most 128 characters. */
export const plainId = (id: string): string =>
  id === "" || plain.test(id) ? id : `${kind.exec(id)?.[0] ?? "id_"}${digest(id)}`;

export const isPlainId = (id: string): boolean => plain.test(id);

/** Whether a text may be encrypted content, which is base64 or similar and, unlike prose, has no white space. */
const opaque = /^[\w.:=+/|~-]*$/;
export const isOpaque = (sealed: string): boolean => opaque.test(sealed);

const word = /^[\w-]+$/;

/** Converts an id for wire formats that only allow letters, digits, _ and -. Different ids stay different. */
export function wordId(id: string): string {
  if (word.test(id)) return id;
  return `${id.replaceAll(/[^\w-]/g, "_")}_${createHash("sha256").update(id).digest("hex").slice(0, 8)}`;
}
