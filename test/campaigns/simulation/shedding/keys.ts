/** API keys derived from a seed; real keys come from the kernel's random numbers. */
import { crc32 } from "node:zlib";
import { base62 } from "@sluice/proto/lib/ids/id.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import type { Random } from "../../../support/random.ts";

export interface ClientKey {
  readonly hash: string;
  readonly headers: { readonly authorization: string };
  /** Stands for the socket of the key's requests, on which the gateway remembers the key. */
  readonly connection: object;
}

export function drawKey(random: Random): ClientKey {
  const digits = Array.from({ length: 43 }, () => base62[random.below(base62.length)]);
  const body = `sk-sl-${digits.join("")}`;
  const key = body + checksum(body);
  return { hash: hashKey(key), headers: { authorization: `Bearer ${key}` }, connection: {} };
}

/** The last six characters of a key, as proto/lib/ids/key.ts computes them. */
function checksum(body: string): string {
  let digits = "";
  for (let rest = crc32(body), place = 0; place < 6; place++, rest = Math.floor(rest / 62))
    digits = base62[rest % 62] + digits;
  return digits;
}
