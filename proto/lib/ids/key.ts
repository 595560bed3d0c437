/**
 * API keys: the prefix `sk-sl-` or `mk-sl-`, 43 random base62 characters, and the CRC-32 of the preceding text as 6
 * base62 digits.
 */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { KeyKind } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { base62, randomBase62 } from "./id.ts";

export { KeyKind };

const randomLength = 43; // 43 x log2(62) = 256 bits
const form = /^[sm]k-sl-[0-9A-Za-z]{49}$/;

const prefixes = { [KeyKind.INFERENCE]: "sk-sl-", [KeyKind.MANAGEMENT]: "mk-sl-" } as const;

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let i = 0; i < 6; i++) {
    digits = base62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Creates a key. Its text is shown to the user once and never stored. */
export function mintKey(kind: keyof typeof prefixes): string {
  const body = prefixes[kind] + randomBase62(randomLength);
  return body + checksum(body);
}

/**
 * Kind of a well-formed key; undefined when form or checksum is wrong. It needs no I/O, so guessed keys never reach the
 * database.
 */
export function kindOfKey(key: string): KeyKind.INFERENCE | KeyKind.MANAGEMENT | undefined {
  if (!form.test(key) || checksum(key.slice(0, -6)) !== key.slice(-6)) return undefined;
  return key.startsWith("sk") ? KeyKind.INFERENCE : KeyKind.MANAGEMENT;
}

/** SHA-256 of the key's text in lower-case hexadecimal, under which a key is stored and addressed. */
export function hashKey(key: string): string {
  return hash("sha256", key, "hex");
}
