/** Replaces regions of a text, and moves annotations with the words to which they refer. */
import { codePointLength } from "@sluice/proto/lib/validation/text.js";

/** A region to be replaced, in UTF-16 units. Regions are in order and do not overlap. */
export interface Region {
  readonly start: number;
  readonly end: number;
  /** Text that replaces the region; empty to remove it, or when the text of an earlier region replaces both. */
  readonly placeholder: string;
}

export function replaceRegions(text: string, regions: readonly Region[]): string {
  let result = "";
  let at = 0;
  for (const { start, end, placeholder } of regions) {
    result += text.slice(at, start) + placeholder;
    at = end;
  }
  return result + text.slice(at);
}

interface TextAnnotation {
  readonly start_index: number;
  readonly end_index: number;
}

/** A citation at a single offset, without a range. */
interface FileCitation {
  readonly type: "file_citation";
  readonly index: number;
}

/**
 * The annotation with its offsets in the text after the replacements, in code points.
 * @param raw the text before the replacements; regions count its UTF-16 units
 * @returns undefined when the annotation refers to replaced words
 */
export function moveAnnotation(annotation: unknown, raw: string, regions: readonly Region[]): unknown {
  if (regions.length === 0) return annotation;
  if (isFileCitation(annotation)) return moveFileCitation(annotation, raw, regions);
  if (!isTextAnnotation(annotation)) return annotation;
  const start = toUnitOffset(raw, annotation.start_index);
  const end = toUnitOffset(raw, annotation.end_index);
  if (regions.some((region) => region.start < end && start < region.end)) return undefined;
  return {
    ...annotation,
    start_index: annotation.start_index + shift(raw, start, regions),
    end_index: annotation.end_index + shift(raw, end, regions),
  };
}

function moveFileCitation(citation: FileCitation, raw: string, regions: readonly Region[]): unknown {
  const unit = toUnitOffset(raw, citation.index);
  if (regions.some(({ start, end }) => start <= unit && unit < end)) return undefined;
  return { ...citation, index: citation.index + shift(raw, unit, regions) };
}

/** The offset of an annotation's end in code points; 0 for an annotation without a place in the text. */
export function annotationEnd(annotation: unknown): number {
  if (isFileCitation(annotation)) return annotation.index;
  return isTextAnnotation(annotation) ? annotation.end_index : 0;
}

const isFileCitation = (annotation: unknown): annotation is FileCitation =>
  (annotation as Partial<FileCitation> | null)?.type === "file_citation" &&
  typeof (annotation as Partial<FileCitation>).index === "number";

const isTextAnnotation = (annotation: unknown): annotation is TextAnnotation =>
  typeof (annotation as Partial<TextAnnotation> | null)?.start_index === "number" &&
  typeof (annotation as Partial<TextAnnotation>).end_index === "number";

function toUnitOffset(text: string, codePoint: number): number {
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
