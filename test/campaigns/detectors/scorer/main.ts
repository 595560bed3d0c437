/** npm run train-scorer: trains on the committed sentences, measures on those held out, and writes the weights. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { findMaxLogOdds } from "@sluice/inference-svc/features/guardrails/detectors/scorer/scan.js";
import { root } from "../../../support/processes.ts";
import { evaluateScorer } from "./evaluate.ts";
import { trainingSentences } from "./texts.ts";
import { trainScorer } from "./train.ts";

const model = trainScorer(trainingSentences());
const found = evaluateScorer((text) => findMaxLogOdds(model, text));

writeFileSync(
  join(root, "inference-svc", "guardrails", "detectors", "scorer", "gen", "weights.ts"),
  `/** Made by npm run train-scorer. */
export const bias = ${model.bias};
export const scale = ${model.scale};
/** Log odds that a hundredth of the harmless texts held out from training reaches. */
export const threshold = ${found.threshold};
/** Base64, one signed byte a bucket. */
export const weights =
  "${Buffer.from(model.weights.buffer).toString("base64")}";
`,
);
console.log(found);
