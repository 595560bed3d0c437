import { describe, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { KeyKind, hashKey, kindOfKey, mintKey } from "@sluice/proto/lib/ids/key.js";

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** CRC-32 (IEEE) by its definition, a bit at a time, as six base62 digits. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  let value = (crc ^ 0xffffffff) >>> 0;
  let text62 = "";
  for (let n = 0; n < 6; n++, value = Math.floor(value / 62)) text62 = digits[value % 62] + text62;
  return text62;
}

describe("keys and ids", () => {
  test.each([
    [KeyKind.INFERENCE, "sk-sl-"],
    [KeyKind.MANAGEMENT, "mk-sl-"],
  ] as const)(
    "of the kind %s have a prefix, 43 random digits and a checksum of everything before it",
    (kind, prefix) => {
      const key = mintKey(kind);
      expect(key).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{49}$`));
      expect(key.slice(-6)).toBe(checksum(key.slice(0, -6)));
      expect(kindOfKey(key)).toBe(kind);
      expect(hashKey(key)).toBe(createHash("sha256").update(key).digest("hex"));
    },
  );

  test("have every change of one character of a key detected before any lookup", () => {
    const key = mintKey(KeyKind.INFERENCE);
    for (let at = 0; at < key.length; at++) {
      const other = digits[(digits.indexOf(key[at] as string) + 1) % 62] as string;
      expect(kindOfKey(key.slice(0, at) + other + key.slice(at + 1))).toBeUndefined();
    }
    expect(kindOfKey(`mk${key.slice(2)}`)).toBeUndefined();
    for (const wrong of ["", key.slice(1), `${key}0`, ` ${key}`, key.toUpperCase(), hashKey(key)]) {
      expect(kindOfKey(wrong)).toBeUndefined();
    }
  });

  test("are never equal, and all random digits are equally likely", () => {
    const counts = new Map<string, number>();
    const seen = new Set<string>();
    for (let n = 0; n < 8_000; n++) {
      const id = newId("");
      expect(id).toMatch(/^[0-9A-Za-z]{22}$/);
      seen.add(id);
      for (const digit of id.slice(8)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    }
    expect(seen.size).toBe(8_000);
    const expected = (8_000 * 14) / 62;
    // Six standard deviations of a fair digit: one in a hundred million runs is further off.
    const bound = 6 * Math.sqrt(expected);
    expect(counts.size).toBe(62);
    for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(bound);
  });

  test("are sorted by their milliseconds if they are ids", () => {
    // Both sides of a carry into each digit, a time of today, and the last time that fits.
    const carries = Array.from({ length: 7 }, (_, at) => [62 ** (at + 1) - 1, 62 ** (at + 1)]).flat();
    const times = [...carries, 1_796_000_000_000, 62 ** 8 - 1].toSorted((a, b) => a - b);
    const ids = times.map((time) => newId("gen-", time));
    expect(ids.toSorted()).toEqual(ids);
    const value = (id: string) =>
      id
        .slice(4, 12)
        .split("")
        .reduce((sum, digit) => 62 * sum + digits.indexOf(digit), 0);
    expect(ids.map(value)).toEqual(times);
  });
});
