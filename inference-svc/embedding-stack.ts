/** The layers of embeddings requests, in the order of the stack. Vectors are not text: there is no answer to scan or repair. */
import { inputDetectors, inputJudge, inputPatterns, tokenInputs } from "./features/guardrails/feature.ts";
import { candidatesFeature } from "./features/routers/router-slugs.ts";
import type { Feature } from "./features/kit.ts";

export const embeddingFeatures: readonly Feature[] = [
  // Candidates are chosen before guardrails run: a guardrail's refusal lists the candidate endpoints, and a wrong slug
  // costs nothing.
  candidatesFeature,
  // Refuses input given as token ids, which cannot be scanned, where guardrails apply.
  tokenInputs,
  // Refuses or redacts before anything leaves the process or costs money.
  inputPatterns,
  // Detectors are external services: they get only text already redacted by the patterns.
  inputDetectors,
  // The judge is a model: it gets only text already redacted by patterns and detectors.
  inputJudge,
];
