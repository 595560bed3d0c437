/** Moderation services with POST /moderations, as OpenAI has it: whether a text or an image is flagged, and in which categories. */
import type { ModerationRole } from "@sluice/proto/config/internal-models.js";
import { isScore } from "./categories.ts";
import { type Detection, DetectorUnavailable, type DetectorWire } from "./wire.ts";

interface Result {
  readonly flagged: boolean;
  readonly categories: Readonly<Record<string, boolean>>;
  readonly category_scores: Readonly<Record<string, number>>;
}

/** Category for a text flagged without one. */
const unnamed = "flagged";

export const moderations = ({ upstream_model: model, thresholds }: ModerationRole): DetectorWire => ({
  kind: "moderation",
  returnsSpans: false,
  path: "/moderations",
  windowLength: 8_000,
  bodyOf: (text) => JSON.stringify({ model, input: text }),
  marksOf(answer, text) {
    const results = (answer as { results?: unknown } | null)?.results;
    if (!Array.isArray(results) || results.length !== 1) throw new DetectorUnavailable("not one result");
    const [result] = results as readonly unknown[];
    if (!isResult(result)) throw new DetectorUnavailable("a result of another form");
    const { flagged, categories, category_scores: scores } = result;
    const names = [...new Set([...Object.keys(categories), ...Object.keys(scores)])];
    const found = names.filter(
      (name) => categories[name] === true || (scores[name] ?? 0) >= (thresholds[name] ?? Number.POSITIVE_INFINITY),
    );
    if (flagged && found.length === 0) found.push(unnamed);
    return found.map((category): Detection => ({ start: 0, end: text.length, category, score: scores[category] ?? 1 }));
  },
});

/** The protocol for images; a question is an image's URL. */
export const imageModerations = (role: ModerationRole): DetectorWire => ({
  ...moderations(role),
  windowLength: Number.POSITIVE_INFINITY,
  isDivisible: false,
  bodyOf: (url) => JSON.stringify({ model: role.upstream_model, input: [{ type: "image_url", image_url: { url } }] }),
});

function isResult(value: unknown): value is Result {
  const { flagged, categories, category_scores: scores } = (value ?? {}) as Partial<Result>;
  if (typeof flagged !== "boolean" || !isRecord(categories) || !isRecord(scores)) return false;
  return Object.values(categories).every((each) => typeof each === "boolean") && Object.values(scores).every(isScore);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
