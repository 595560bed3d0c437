/** Names that nobody can guess or meet twice: base62 digits from the kernel's randomness. */
import { randomFillSync, randomUUID } from "node:crypto";

/** In the order of their values. */
export const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Asking the kernel for each digit would cost more than the rest of a request's bookkeeping. */
const pool = Buffer.allocUnsafe(4_096);
let used = pool.length;

/** A digit without bias: bytes from 248 on would favour the first eight. */
function randomDigit(): string {
  for (;;) {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const byte = pool[used] as number;
    // What was given out is not left lying in memory: keys are made of it too.
    pool[used++] = 0;
    if (byte < 248) return base62[byte % 62] as string;
  }
}

/** Each digit holds log2(62) = 5.95 bits. */
export function randomBase62(length: number): string {
  let digits = "";
  for (let i = 0; i < length; i++) digits += randomDigit();
  return digits;
}

/** 131 bits. @param prefix says what the name is of, its separator included */
export const newId = (prefix: string): string => prefix + randomBase62(22);

/** UUID version 7 (RFC 9562, 5.7): 48 bits of time in milliseconds, so that they sort as they were made, and 74 random ones. */
export function newUuid(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
