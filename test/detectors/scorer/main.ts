/** npm run train-scorer: trains on the committed sentences, measures on the held-out ones, writes the weights. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { windowsOf } from "@sluice/inference-svc/guardrails/detectors/scorer/features.js";
import { root } from "../../support/processes.ts";
import { evaluate } from "./evaluate.ts";
import { trainingSentences } from "./texts.ts";
import { train } from "./train.ts";

const { weights, bias } = train(trainingSentences());
const scale = weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0) / 127;
const table = Int8Array.from(weights, (weight) => Math.round(weight / scale));

function score(text: string): number {
  let highest = Number.NEGATIVE_INFINITY;
  for (const window of windowsOf(text)) {
    let sum = 0;
    for (const bucket of window) sum += table[bucket] as number;
    highest = Math.max(highest, bias + scale * sum);
  }
  return 1 / (1 + Math.exp(-highest));
}

const found = evaluate(score);
const file = join(root, "inference-svc", "guardrails", "detectors", "scorer", "gen", "weights.ts");
writeFileSync(
  file,
  `/** Made by npm run train-scorer. Recall on the held-out part: ${found.direct.toFixed(3)} direct, ${found.indirect.toFixed(3)} indirect, at ${found.falseAlarms} false alarms. */
export const bias = ${bias};
export const scale = ${scale};
export const threshold = ${found.threshold};
/** One signed byte a bucket, base64. */
export const weights =
  "${Buffer.from(table.buffer).toString("base64")}";
`,
);
console.log(found, `${table.filter((weight) => weight !== 0).length} weights`);
