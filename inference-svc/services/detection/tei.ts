/** Classifiers of Hugging Face's text-embeddings-inference, which return a score for each label of a whole text. */
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
    returnsSpans: false,
    path: "/predict",
    // This is about 300 tokens of English. In scripts with one token per character the service rejects longer texts,
    // which are then divided.
    windowLength: 1_200,
    // The service must not truncate texts, because the part cut off would pass unscanned.
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

/** The list of labels; hosted endpoints return a list within a list. */
const listIn = (answer: unknown): unknown =>
  Array.isArray(answer) && answer.length === 1 && Array.isArray(answer[0]) ? answer[0] : answer;

function isPrediction(value: unknown): value is Prediction {
  const { label, score } = (value ?? {}) as Partial<Prediction>;
  return typeof label === "string" && isScore(score);
}
