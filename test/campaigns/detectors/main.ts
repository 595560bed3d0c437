/** npm run detectors [-- slug]: prints precision, recall and speed of each detector; for a single one, its wrong cases, too. */
import { parseArgs } from "node:util";
import { builtinDetectors } from "@sluice/inference-svc/features/guardrails/detectors/registry.js";
import { injectionScorer } from "@sluice/inference-svc/features/guardrails/detectors/scorer/index.js";
import { injectionSlug } from "@sluice/proto/contract/records/content-filters.js";
import { readOrExit } from "../../support/runner/campaign-options.ts";
import { bareFind, baselines } from "./baselines.ts";
import { measureDetector } from "./figures.ts";
import { findSpans } from "./finding.ts";
import type { Quality } from "./quality.ts";
import { type ScorerEvaluation, evaluateFinder } from "./scorer/evaluate.ts";
import { adversaries, measureHeldUnits, measureScanMs, ordinaryText } from "./speed.ts";

const only = readOrExit(
  () => {
    const { positionals } = parseArgs({ allowPositionals: true });
    const unknown = positionals.filter((name) => !builtinDetectors.some(({ slug }) => slug === name));
    if (unknown.length > 0) throw new Error(`unknown detector: ${unknown.join(", ")}`);
    return positionals[0];
  },
  `usage: npm run detectors [-- ${builtinDetectors.map(({ slug }) => slug).join("|")}]`,
);
const text = ordinaryText(1_000_000);

const figures = ({ precision, recall }: Quality): string => `${precision.toFixed(3)} | ${recall.toFixed(3)}`;

console.log(
  "| detector | rests on | by hand: precision | recall | generated: precision | recall | MB/s | slowest 100,000 units | held back: mean | most |",
);
console.log("|---|---|---|---|---|---|---|---|---|---|");
for (const { slug, engine, finder } of builtinDetectors) {
  if (only !== undefined && only !== slug) continue;
  const { byHand, generated } = measureDetector(slug, (text) => findSpans(finder, [text]));
  const best = Math.min(...Array.from({ length: 5 }, () => measureScanMs(finder, text)));
  const speed = text.length / 1_000 / best;
  const held = measureHeldUnits(finder, text.slice(0, 50_000));
  const slowest = adversaries
    .map((adversary) => ({ name: adversary.name, time: measureScanMs(finder, adversary.text) }))
    .reduce((one, other) => (one.time > other.time ? one : other));
  console.log(
    `| ${slug} | ${engine} | ${figures(byHand)} | ${figures(generated)} | ${speed.toFixed(0)} | ${slowest.time.toFixed(0)} ms (${slowest.name}) | ${held.mean.toFixed(2)} | ${held.most} |`,
  );
  const baseline = baselines[slug];
  if (baseline !== undefined) {
    const bare = measureDetector(slug, bareFind(baseline));
    console.log(`| (a bare pattern) | | ${figures(bare.byHand)} | ${figures(bare.generated)} | | | | |`);
  }
  if (only === undefined) continue;
  for (const wrong of [...byHand.wrong, ...generated.wrong]) console.log(JSON.stringify(wrong));
}

const wordings = builtinDetectors.find(({ slug }) => slug === injectionSlug)?.finder;
if (wordings !== undefined && (only === undefined || only === injectionSlug)) {
  const line = (name: string, { falseAlarms, falseAlarmsOfHard, direct, indirect }: ScorerEvaluation): string =>
    `| ${name} | ${[falseAlarms, falseAlarmsOfHard, direct, indirect].map((share) => share.toFixed(3)).join(" | ")} |`;
  console.log("\n| injection, held out | false alarms | of the hard texts | recall: direct | indirect |");
  console.log("|---|---|---|---|---|");
  console.log(line("wordings", evaluateFinder(wordings)));
  console.log(line("scorer", evaluateFinder(injectionScorer)));
}
