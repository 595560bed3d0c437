/** Places that services give in units of their language, as UTF-16 units. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import { DetectorUnavailable } from "./wire.ts";

export type OffsetUnit = NonNullable<DetectorSettings["offsets"]>;

/** @returns converts a place; it throws DetectorUnavailable for one outside of the text, an empty one, and one within a character */
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

/** Whether a place lies between the two halves of a character beyond the basic plane. */
const splitsCharacter = (text: string, at: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, at - 1), at + 1));

/** UTF-16 index of each code point or byte that begins a character, and of the end; undefined when all indices are equal. */
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
