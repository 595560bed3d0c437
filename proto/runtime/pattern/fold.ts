/** Characters that are one where case does not count. */

/**
 * The same for every character that JavaScript takes for the same with the flags i and u. Lower case of upper case brings together what has
 * several lower forms; what that changes into another letter (\u0131 into i) the engine itself denies.
 */
export function fold(code: number): number {
  const character = String.fromCodePoint(code);
  const upper = character.toUpperCase();
  for (const candidate of [upper.toLowerCase(), character.toLowerCase()]) {
    const folded = candidate.codePointAt(0) as number;
    if (folded === code) return code;
    if (candidate === String.fromCodePoint(folded) && same(character, folded)) return folded;
  }
  return code;
}

const same = (character: string, code: number): boolean =>
  new RegExp(`^\\u{${code.toString(16)}}$`, "iu").test(character);
