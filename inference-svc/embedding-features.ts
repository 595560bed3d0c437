/** The layers of requests for embeddings, in the order of the stack. There is no answer that could be scanned or mended: vectors are no text. */
import { inputDetectors, inputJudge, inputPatterns, tokenInputs } from "./guardrails/features.ts";
import type { Feature } from "./kit.ts";
import { candidates } from "./routing/choose/features.ts";

export const embeddingFeatures: readonly Feature[] = [
  // A wrong slug costs nothing, and a refusal by a guardrail names the endpoints that could have served.
  candidates,
  // Token ids cannot be scanned.
  tokenInputs,
  // Refuses and redacts before anything leaves the process or costs money.
  inputPatterns,
  // Detectors are other services: they are sent only what the patterns left.
  inputDetectors,
  // The judge is a model: it reads only what patterns and detectors left.
  inputJudge,
];
