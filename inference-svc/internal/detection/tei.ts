/** The classifiers that Hugging Face's text-embeddings-inference serves: how much of each label a whole text is. */
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import { categoriesOf, isScore } from "./categories.ts";
import { type Detection, DetectorUnavailable, type DetectorWire } from "./wire.ts";

interface Prediction {
  readonly label: string;
  readonly score: number;
}

export function tei(settings: DetectorSettings): DetectorWire {
  const categories = categoriesOf(settings);
  return {
    kind: "classifier",
    path: "/predict",
    // About 300 tokens of English; in scripts with a token a character the service refuses what is too long, and is asked for less.
    windowLength: 1_200,
    // Truncation is refused, since a cut part would pass unscanned.
    bodyOf: (text) => JSON.stringify({ inputs: text, raw_scores: false, truncate: false }),
    marksOf(answer, text) {
      const predictions = listIn(answer);
      if (!Array.isArray(predictions) || predictions.length === 0)
        throw new DetectorUnavailable("not a list of predictions");
      return predictions.flatMap((prediction: unknown): Detection[] => {
        if (!isPrediction(prediction)) throw new DetectorUnavailable("a prediction of another form");
        const found = categories.get(prediction.label) ?? [];
        return found.map((category) => ({ start: 0, end: text.length, category, score: prediction.score }));
      });
    },
  };
}

/** Hosted endpoints answer with a list of one list. */
const listIn = (answer: unknown): unknown =>
  Array.isArray(answer) && answer.length === 1 && Array.isArray(answer[0]) ? answer[0] : answer;

function isPrediction(value: unknown): value is Prediction {
  const { label, score } = (value ?? {}) as Partial<Prediction>;
  return typeof label === "string" && isScore(score);
}
