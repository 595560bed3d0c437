/** API keys made from a seed: real ones are made of the kernel's randomness. */
import { crc32 } from "node:zlib";
import { base62 } from "@sluice/proto/lib/ids/id.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import type { Random } from "../../../support/random.ts";

export interface ClientKey {
  readonly hash: string;
  readonly headers: { readonly authorization: string };
  /** The socket of its requests; the key is remembered there. */
  readonly connection: object;
}

export function drawKey(random: Random): ClientKey {
  const digits = Array.from({ length: 43 }, () => base62[random.below(base62.length)]);
  const body = `sk-sl-${digits.join("")}`;
  const key = body + checksum(body);
  return { hash: hashKey(key), headers: { authorization: `Bearer ${key}` }, connection: {} };
}

/** The last six digits of a key, as proto/lib/ids/key.ts has them. */
function checksum(body: string): string {
  let digits = "";
  for (let rest = crc32(body), place = 0; place < 6; place++, rest = Math.floor(rest / 62))
    digits = base62[rest % 62] + digits;
  return digits;
}
