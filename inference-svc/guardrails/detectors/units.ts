/** Sets of UTF-16 units, as tables: what a candidate is made of is asked for every unit of a text. */

export type Units = Uint8Array;

/** From ranges such as `a-z`; anything that is not three units with a dash between is taken unit by unit. */
export function units(...parts: readonly string[]): Units {
  const table = new Uint8Array(0x1_0000);
  for (const part of parts) {
    const range = part.length === 3 && part[1] === "-";
    if (range) table.fill(1, part.charCodeAt(0), part.charCodeAt(2) + 1);
    else for (let i = 0; i < part.length; i++) table[part.charCodeAt(i)] = 1;
  }
  return table;
}

/** A set with further members. */
export function including(members: Units, ...parts: readonly string[]): Units {
  const more = units(...parts);
  return members.map((member, unit) => (member === 1 || more[unit] === 1 ? 1 : 0));
}

/** Latin with its accents, Greek and Cyrillic: alphabets that have capitals. */
const accented = ["À-Ö", "Ø-ö", "ø-ɏ", "Ͱ-Ͽ", "Ѐ-ӿ", "Ḁ-ỿ"] as const;

export const digits = units("0-9");
export const asciiLetters = units("a-z", "A-Z");
export const letters = units("a-z", "A-Z", ...accented);
/** What a number or a name cannot be cut out of. */
export const wordUnits = units("a-z", "A-Z", "0-9", "_", ...accented);

/** Letters that are not their own lower case. */
export const capitals = letters.map((member, unit) => {
  const letter = String.fromCharCode(unit);
  return member === 1 && letter !== letter.toLowerCase() ? 1 : 0;
});
