/** Private keys in their PEM armour (RFC 7468), also within a JSON string, where lines end in `\n`. */
import type { Window } from "../candidates.ts";
import { units } from "../units.ts";

/** 8,192 bits of RSA take 6,400 units with their armour. */
export const longestPrivateKey = 8_192;

const begin = "-----BEGIN ";
const kind = units("A-Z", "0-9", " ");
const longestKind = 40;
/** Base64, ends of lines, the headers of encrypted keys. */
const body = units("a-z", "A-Z", "0-9", "+/=\\ \r\n\t:,");

/** End of a key that starts here. One that never ends is a key as far as it looks like one. */
export function privateKeyAt(text: Window, start: number): number | undefined {
  if (!text.says(start, begin)) return undefined;
  const name = start + begin.length;
  const armour = text.run(name, kind, longestKind);
  if (!text.says(armour, "-----") || !/PRIVATE KEY(?: BLOCK)?$/.test(text.slice(name, armour))) return undefined;
  let end = armour + 5;
  for (;;) {
    end = text.run(end, body, longestPrivateKey);
    if (text.says(end, "-----END ")) return endOfArmour(text, end + 9);
    // A dash in a header: DEK-Info.
    if (text.at(end) !== 0x2d || text.at(end + 1) === 0x2d) return end;
    end++;
  }
}

function endOfArmour(text: Window, name: number): number {
  const armour = text.run(name, kind, longestKind);
  return text.says(armour, "-----") ? armour + 5 : armour;
}
