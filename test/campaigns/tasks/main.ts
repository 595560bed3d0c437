/** npm run train-tasks: trains on the committed requests, measures on those held out, by task, and writes the weights. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseModel } from "@sluice/inference-svc/features/routers/auto/tasks/model.js";
import { root } from "../../support/processes.ts";
import { evaluateTaskModel } from "./evaluate.ts";
import { readFixture } from "./texts.ts";
import { trainTaskModel } from "./train.ts";

const found = trainTaskModel(readFixture("training"));
writeFileSync(
  join(root, "inference-svc", "plugins", "auto-router", "tasks", "gen", "weights.ts"),
  `/** Made by npm run train-tasks. */
import type { Written } from "../model.ts";

export const weights: Written = {
  scale: ${found.scale},
  bias: ${JSON.stringify(found.bias)},
  kept: "${found.kept}",
  weights: "${found.weights}",
};
`,
);
const { wrong, byTask, ...figures } = evaluateTaskModel(parseModel(found));
for (const { task, guessed, confidence, line } of wrong) {
  console.log(`${task} -> ${guessed} ${confidence.toFixed(2)}  ${line.slice(0, 80)}`);
}
console.table(byTask);
console.log(figures);
