/** Random ids from the kernel's randomness: base62 digits, and UUIDs. */
import { randomFillSync } from "node:crypto";
import { unitAt } from "../text/unit-at.ts";

/** Digits in the order of their values. */
export const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Pooled, because a system call for each digit would cost more than the rest of a request's bookkeeping. */
const pool = Buffer.allocUnsafe(4_096);
let used = pool.length;

const digitCodes = Buffer.from(base62);

function randomByte(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used]!;
  // Used bytes are cleared, because keys are made of them as well.
  pool[used++] = 0;
  return byte;
}

/** The code of a digit without bias: bytes from 248 on would favour the first eight digits. */
function randomDigit(): number {
  for (;;) {
    const byte = randomByte();
    if (byte < 248) return digitCodes[byte % 62]!;
  }
}

/** An id is made of bytes, since text concatenated digit by digit keeps an object for each digit. */
const text = Buffer.alloc(64);

/** @param prefix of ASCII */
function withDigits(prefix: string, count: number): string {
  const length = prefix.length + count;
  for (let at = 0; at < length; at++) text[at] = at < prefix.length ? unitAt(prefix, at) : randomDigit();
  const id = text.toString("latin1", 0, length);
  for (let at = prefix.length; at < length; at++) text[at] = 0;
  return id;
}

/** Random digits of log2(62) = 5.95 bits each, at most 64. */
export const randomBase62 = (length: number): string => withDigits("", length);

/** An id with 131 random bits. @param prefix kind of the id, with its separator */
export const newId = (prefix: string): string => withDigits(prefix, 22);

const hexCodes = Buffer.from("0123456789abcdef");
const hyphen = 0x2d;
/** Number of bytes of a UUID before each hyphen of its text. */
const groups: ReadonlySet<number> = new Set([4, 6, 8, 10]);
const uuidLength = 36;

/**
 * UUID version 7 (RFC 9562, 5.7): 48 bits of time in milliseconds, to sort by creation, and 74 random bits. Made of bytes as well: cutting and
 * concatenating the text of Node's `randomUUID` took a kilobyte.
 */
export function newUuid(): string {
  const time = Date.now();
  const high = Math.floor(time / 2 ** 32);
  let at = 0;
  for (let index = 0; index < 16; index++) {
    if (groups.has(index)) text[at++] = hyphen;
    const byte = uuidByte(index, high, time);
    text[at++] = hexCodes[byte >> 4]!;
    text[at++] = hexCodes[byte & 15]!;
  }
  return text.toString("latin1", 0, uuidLength);
}

/** @param high the upper 16 bits of the time */
function uuidByte(index: number, high: number, time: number): number {
  if (index < 2) return (high >>> (8 - 8 * index)) & 0xff;
  if (index < 6) return (time >>> (40 - 8 * index)) & 0xff;
  if (index === 6) return 0x70 | (randomByte() & 0x0f);
  return index === 8 ? 0x80 | (randomByte() & 0x3f) : randomByte();
}
