/** Converts places in a text, which services count in units of their language, to UTF-16 units. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import { DetectorUnavailable } from "./wire.ts";

export type OffsetUnit = NonNullable<DetectorSettings["offsets"]>;

/**
 * @returns a function that converts a place. It throws DetectorUnavailable for a place outside of the text, an empty
 * one, and one that begins or ends within a character
 */
export function placesIn(text: string, unit: OffsetUnit): (place: TextSpan) => TextSpan {
  const unitAt = unit === "utf16" ? undefined : unitsOf(text, unit);
  const at = (offset: number): number => {
    const found = unitAt === undefined ? offset : unitAt[offset];
    if (found === undefined || found < 0 || found > text.length || splitsCharacter(text, found))
      throw new DetectorUnavailable("a finding outside of the text");
    return found;
  };
  return ({ start, end }) => {
    const span = { start: at(start), end: at(end) };
    if (span.start >= span.end) throw new DetectorUnavailable("a finding without text");
    return span;
  };
}

/** Whether an index lies between the two halves of a surrogate pair. */
const splitsCharacter = (text: string, at: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1));

/**
 * UTF-16 index by the code point or byte at which a character begins, and by the end of the text. @returns undefined
 * when all indices are equal
 */
function unitsOf(text: string, unit: "code_points" | "bytes"): readonly (number | undefined)[] | undefined {
  if (unit === "code_points" ? !/[\ud800-\udbff]/.test(text) : !/[^\0-\x7f]/.test(text)) return undefined;
  const units: (number | undefined)[] = [];
  let index = 0;
  let offset = 0;
  for (const character of text) {
    units[offset] = index;
    index += character.length;
    offset += unit === "code_points" ? 1 : Buffer.byteLength(character);
  }
  units[offset] = index;
  return units;
}
