/** Texts of which something was replaced, and where their annotations point to then. */
import { codePointLength } from "@sluice/proto/runtime/validation/text.js";

/** What is replaced, in UTF-16 units, and by what. Regions are in order and do not overlap. */
export interface Region {
  readonly start: number;
  readonly end: number;
  /** Empty when nothing stands there instead, or what stands in a region before it. */
  readonly placeholder: string;
}

/** The text with the regions replaced. */
export function replaced(text: string, regions: readonly Region[]): string {
  let result = "";
  let at = 0;
  for (const { start, end, placeholder } of regions) {
    result += text.slice(at, start) + placeholder;
    at = end;
  }
  return result + text.slice(at);
}

interface Pointing {
  readonly start_index: number;
  readonly end_index: number;
}

/**
 * Offsets are code points, before and after; undefined for what points at something that was replaced.
 * @param raw the text as it came, in whose UTF-16 units the regions are counted
 */
export function moved(annotation: unknown, raw: string, regions: readonly Region[]): unknown {
  if (regions.length === 0 || !points(annotation)) return annotation;
  const start = unitOf(raw, annotation.start_index);
  const end = unitOf(raw, annotation.end_index);
  if (regions.some((region) => region.start < end && start < region.end)) return undefined;
  return {
    ...annotation,
    start_index: annotation.start_index + shift(raw, start, regions),
    end_index: annotation.end_index + shift(raw, end, regions),
  };
}

/** Up to which code point of a text it points; 0 where it points at none. */
export const pointsAt = (annotation: unknown): number => (points(annotation) ? annotation.end_index : 0);

const points = (annotation: unknown): annotation is Pointing =>
  typeof (annotation as Partial<Pointing> | null)?.start_index === "number" &&
  typeof (annotation as Partial<Pointing>).end_index === "number";

function unitOf(text: string, codePoint: number): number {
  let unit = 0;
  for (let count = 0; count < codePoint && unit < text.length; count++) {
    unit += (text.codePointAt(unit) as number) > 0xffff ? 2 : 1;
  }
  return unit;
}

const shift = (raw: string, unit: number, regions: readonly Region[]): number =>
  regions
    .filter(({ end }) => end <= unit)
    .reduce(
      (sum, { start, end, placeholder }) => sum + codePointLength(placeholder) - codePointLength(raw.slice(start, end)),
      0,
    );
