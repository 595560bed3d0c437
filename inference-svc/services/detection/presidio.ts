/** The analyzer of Microsoft Presidio and compatible services: places of entities in a text. */
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import { categoriesOf, isScore } from "./categories.ts";
import { placesIn } from "./places.ts";
import { type Detection, DetectorUnavailable, type DetectorWire } from "./wire.ts";

interface Entity {
  readonly entity_type: string;
  /** Start of the match in code points, as Python counts them. */
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
    returnsSpans: true,
    path: "/analyze",
    // This length takes a small model some hundred milliseconds on one core.
    windowLength: 8_000,
    // No threshold is sent, so one cached answer serves rules with any threshold.
    bodyOf: (text) => JSON.stringify({ text, language, entities, score_threshold: 0 }),
    marksOf(answer, text) {
      if (!Array.isArray(answer)) throw new DetectorUnavailable("not a list of entities");
      const spanOf = placesIn(text, "code_points");
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
