/** Bytes of the JSON syntax, and lookup tables over all bytes. */

export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const colon = 0x3a;
export const minusSign = 0x2d;
export const digitZero = 0x30;
export const digitNine = 0x39;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;

/** Builds a table with an entry for each byte, which is several times faster than comparisons or a Set. */
function buildTable(entry: (byte: number) => number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => entry(byte));
}

/** Bytes that a JSON string may contain unescaped. */
export const plainBytes = buildTable((byte) => Number(byte >= 0x20 && byte !== quote && byte !== backslash));
/** White space that JSON allows between tokens. */
export const spaceBytes = buildTable((byte) => Number(" \n\r\t".includes(String.fromCharCode(byte))));
/** Bytes that start or end a string, an object or an array. */
export const structuralBytes = buildTable((byte) => Number('"{}[]'.includes(String.fromCharCode(byte))));
/** Bytes allowed after a backslash, except `u`. */
export const escapeBytes = buildTable((byte) => Number('"\\/bfnrt'.includes(String.fromCharCode(byte))));
export const numberBytes = buildTable((byte) => Number("0123456789+-.eE".includes(String.fromCharCode(byte))));
/** Value of each hexadecimal digit; 255 for bytes that are none. */
export const hexDigits = buildTable((byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(digit) ? 255 : digit;
});
