/** The analyzer of Microsoft Presidio and compatible services: places of entities in a text. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import { categoriesOf, isScore } from "./categories.ts";
import { type Detection, DetectorUnavailable, type DetectorWire } from "./wire.ts";

interface Entity {
  readonly entity_type: string;
  /** Start of the match in code points, as Python counts. */
  readonly start: number;
  readonly end: number;
  readonly score: number;
}

export function presidio(settings: DetectorSettings): DetectorWire {
  const categories = categoriesOf(settings);
  const { language } = settings;
  const entities = [...categories.keys()];
  return {
    kind: "ner",
    path: "/analyze",
    // Takes a small model some hundred milliseconds on one core.
    windowLength: 8_000,
    // No threshold is sent: one cached answer serves rules with any threshold.
    bodyOf: (text) => JSON.stringify({ text, language, entities, score_threshold: 0 }),
    marksOf(answer, text) {
      if (!Array.isArray(answer)) throw new DetectorUnavailable("not a list of entities");
      const spanOf = spansIn(text);
      return answer.flatMap((entity: unknown): Detection[] => {
        if (!isEntity(entity)) throw new DetectorUnavailable("an entity of another form");
        const span = spanOf(entity);
        return (categories.get(entity.entity_type) ?? []).map((category) => ({
          ...span,
          category,
          score: entity.score,
        }));
      });
    },
  };
}

function isEntity(value: unknown): value is Entity {
  const { entity_type: type, start, end, score } = (value ?? {}) as Partial<Entity>;
  return typeof type === "string" && Number.isInteger(start) && Number.isInteger(end) && isScore(score);
}

/** Converts code points to UTF-16 units. @returns throws NoAnswer for places outside of the text */
function spansIn(text: string): (entity: Entity) => TextSpan {
  const units = unitsOf(text);
  const length = units ? units.length - 1 : text.length;
  return ({ start, end }) => {
    if (start < 0 || start >= end || end > length) throw new DetectorUnavailable("an entity outside of the text");
    return units ? { start: units[start] as number, end: units[end] as number } : { start, end };
  };
}

/** UTF-16 index of each code point and of the end; undefined when both indices are equal. */
function unitsOf(text: string): readonly number[] | undefined {
  if (!/[\ud800-\udbff]/.test(text)) return undefined;
  const units: number[] = [];
  let at = 0;
  for (const character of text) {
    units.push(at);
    at += character.length;
  }
  units.push(at);
  return units;
}
