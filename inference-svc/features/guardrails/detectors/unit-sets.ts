/** Sets of UTF-16 units as lookup tables, since detectors test every unit of a text. */

export type UnitSet = Uint8Array;

/** Builds a set from ranges such as `a-z`; any other part adds each of its units. */
export function unitSet(...parts: readonly string[]): UnitSet {
  const table = new Uint8Array(0x1_0000);
  for (const part of parts) {
    const range = part.length === 3 && part[1] === "-";
    if (range) table.fill(1, part.charCodeAt(0), part.charCodeAt(2) + 1);
    else for (let i = 0; i < part.length; i++) table[part.charCodeAt(i)] = 1;
  }
  return table;
}

/** The set with further members. */
export function extendSet(members: UnitSet, ...parts: readonly string[]): UnitSet {
  const more = unitSet(...parts);
  return members.map((member, unit) => (member === 1 || more[unit] === 1 ? 1 : 0));
}

/** Ranges of accented Latin, Greek and Cyrillic letters: the alphabets with capitals. */
const accented = ["À-Ö", "Ø-ö", "ø-ɏ", "Ͱ-Ͽ", "Ѐ-ӿ", "Ḁ-ỿ"] as const;

export const digits = unitSet("0-9");
export const asciiLetters = unitSet("a-z", "A-Z");
export const letters = unitSet("a-z", "A-Z", ...accented);
/** UTF-16 units that may not stand directly before or after a number or name. */
export const wordUnits = unitSet("a-z", "A-Z", "0-9", "_", ...accented);

/** Capital letters: letters that differ from their own lower case. */
export const capitals = letters.map((member, unit) => {
  const letter = String.fromCharCode(unit);
  return member === 1 && letter !== letter.toLowerCase() ? 1 : 0;
});
