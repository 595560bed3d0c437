/** Ids of what a provider left without one. */
import { randomBytes } from "node:crypto";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** 24 characters of base62 hold 142 bits. */
export function newId(prefix: "msg" | "rs" | "fc" | "call" | "item"): string {
  let id = `${prefix}_`;
  const length = id.length + 24;
  while (id.length < length) {
    for (const byte of randomBytes(32)) {
      // Of 64 values two are thrown away, so that all characters are equally likely.
      const character = alphabet[byte & 63];
      if (character !== undefined && id.length < length) id += character;
    }
  }
  return id;
}
