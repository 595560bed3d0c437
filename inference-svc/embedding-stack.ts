/** The layers of embeddings requests, in the order of the stack. Vectors are not text: there is no answer to scan or repair. */
import { inputDetectors, inputJudge, inputPatterns, tokenInputs } from "./features/guardrails/feature.ts";
import { candidatesFeature } from "./features/routers/router-slugs.ts";
import type { Feature } from "./features/kit.ts";

export const embeddingFeatures: readonly Feature[] = [
  // Before guardrails: their refusals list the candidate endpoints, and a wrong slug costs nothing.
  candidatesFeature,
  // Token ids cannot be scanned.
  tokenInputs,
  // Refuses and redacts before anything leaves the process or costs money.
  inputPatterns,
  // Detectors are external services: they get only text already redacted by the patterns.
  inputDetectors,
  // The judge is a model: it gets only text already redacted by patterns and detectors.
  inputJudge,
];
