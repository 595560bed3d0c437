/** Logistic regression on buckets of words, by stochastic gradient descent. The same seed gives the same weights. */
import {
  bucketCount,
  findBuckets,
  splitWords,
} from "@sluice/inference-svc/features/guardrails/detectors/scorer/features.js";
import { type ScorerModel, quantizeModel } from "@sluice/inference-svc/features/guardrails/detectors/scorer/model.js";
import { Random } from "../../../support/random.ts";
import { type Sentences, attackingText, harmlessText } from "./texts.ts";

interface Example {
  readonly features: readonly number[];
  readonly label: 0 | 1;
}

/** Numbers of attempts and of harmless texts. Harmless ones are more frequent, as in reality. */
const attacking = 6_000;
const harmless = 12_000;
const rounds = 4;
const step = 0.05;
/** Weight decay, by which a word seen only once gets little weight. */
const decay = 2e-4;

function examplesOf({ attacks, benign }: Sentences, chance: Random): Example[] {
  const example = (text: string, label: 0 | 1): Example => ({
    features: [...findBuckets([...splitWords(text)])],
    label,
  });
  return [
    ...Array.from({ length: attacking }, () => example(attackingText(chance.pick(attacks), benign, chance), 1)),
    ...Array.from({ length: harmless }, () => example(harmlessText(benign, chance), 0)),
  ];
}

export function trainScorer(sentences: Sentences): ScorerModel {
  const chance = new Random(17);
  const examples = examplesOf(sentences, chance);
  const weights = new Float64Array(bucketCount);
  let bias = 0;
  for (let round = 0; round < rounds; round++) {
    const rate = step / (1 + round / 3);
    for (let count = 0; count < examples.length; count++) {
      const { features, label } = chance.pick(examples);
      let sum = bias;
      for (const bucket of features) sum += weights[bucket] as number;
      const wrong = label - 1 / (1 + Math.exp(-sum));
      bias += rate * wrong;
      for (const bucket of features) weights[bucket] = (weights[bucket] as number) * (1 - rate * decay) + rate * wrong;
    }
  }
  return quantizeModel(weights, bias);
}
