/** Makes ids from the time and the kernel's random numbers, in base62 or as UUIDs. */
import { randomFillSync } from "node:crypto";
import { unitAt } from "../text/unit-at.ts";

/**
 * Digits in the order of their values, which is also the order of their character codes: texts of equal length sort by
 * value.
 */
export const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Random bytes read in advance: a system call for each digit would take longer than all other bookkeeping of a request.
 */
const pool = Buffer.allocUnsafe(4_096);
let used = pool.length;

const digitCodes = Buffer.from(base62);

function randomByte(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used]!;
  // Used random bytes are cleared, because keys are made of them too.
  pool[used++] = 0;
  return byte;
}

/**
 * The character code of a random digit. Bytes from 248 on are skipped, because they would favour the first eight
 * digits.
 */
function randomDigit(): number {
  for (;;) {
    const byte = randomByte();
    if (byte < 248) return digitCodes[byte % 62]!;
  }
}

/** Ids are made in a buffer, since text that is concatenated digit by digit keeps an object for each digit. */
const text = Buffer.alloc(64);

/** A text of random base62 digits, with log2(62) = 5.95 bits each. @param length at most 64 */
export function randomBase62(length: number): string {
  for (let at = 0; at < length; at++) text[at] = randomDigit();
  const digits = text.toString("latin1", 0, length);
  text.fill(0, 0, length);
  return digits;
}

/** Number of digits for a time, enough for the milliseconds of 6,900 years. */
const timeLength = 8;
const randomLength = 14;

/** Digits of the last time, reused for further ids of the same millisecond. */
const timeCodes = Buffer.alloc(timeLength);
let codedTime = Number.NaN;

/** The digits are computed in two halves, because division by 62 is cheap for 32-bit integers. */
const halfRange = 62 ** (timeLength / 2);

function codeTime(time: number): void {
  codedTime = time;
  let high = Math.floor(time / halfRange);
  let low = time - high * halfRange;
  for (let at = timeLength / 2 - 1; at >= 0; at--) {
    timeCodes[at] = digitCodes[high % 62]!;
    timeCodes[at + timeLength / 2] = digitCodes[low % 62]!;
    high = (high / 62) | 0;
    low = (low / 62) | 0;
  }
}

/**
 * Makes an id that sorts by the millisecond of its creation and has 83 random bits. New rows of the ledger are thus
 * inserted at the end of an index: with random ids, every row changed another page, and Postgres writes a changed page
 * completely to its log after each checkpoint.
 * @param prefix kind of the id, of ASCII, with its separator
 */
export function newId(prefix: string, time = Date.now()): string {
  if (time !== codedTime) codeTime(time);
  const start = prefix.length;
  for (let at = 0; at < start; at++) text[at] = unitAt(prefix, at);
  for (let at = 0; at < timeLength; at++) text[start + at] = timeCodes[at]!;
  const length = start + timeLength + randomLength;
  for (let at = start + timeLength; at < length; at++) text[at] = randomDigit();
  return text.toString("latin1", 0, length);
}

/** The time in an id of `newId`, in milliseconds since 1970; undefined for any other id. */
export function timeOfId(id: string, prefix: string): number | undefined {
  if (!id.startsWith(prefix) || id.length !== prefix.length + timeLength + randomLength) return undefined;
  let time = 0;
  for (let at = prefix.length; at < prefix.length + timeLength; at++) {
    const digit = base62.indexOf(id[at]!);
    if (digit === -1) return undefined;
    time = time * 62 + digit;
  }
  return time;
}

const hexCodes = Buffer.from("0123456789abcdef");
const hyphen = 0x2d;
/** Bit mask of the UUID bytes before which the text has a hyphen: 4, 6, 8 and 10. */
const groups = 0b101_0101_0000;
const uuidLength = 36;

/**
 * Makes a UUID of version 7 (RFC 9562, 5.7), which sorts by creation: 48 bits of time in milliseconds and 74 random
 * bits. It is made in a buffer, because cutting and concatenating the text of Node's `randomUUID` took a kilobyte.
 */
export function newUuid(): string {
  const time = Date.now();
  const high = Math.floor(time / 2 ** 32);
  let at = 0;
  for (let index = 0; index < 16; index++) {
    if ((groups >> index) & 1) text[at++] = hyphen;
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
