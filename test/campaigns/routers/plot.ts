/** The page about the simulation: a table, and a plot in plain text. */
import { join } from "node:path";
import { root } from "../../support/processes.ts";
import { type ChooserResult, outcomes, simulate, simulatePairs } from "./simulate.ts";

export const pagePath = join(root, "docs", "plugins", "simulation.md");

const width = 72;
const height = 22;

/** Draws the plot: letters stand for the routers, `=` for the line between the cheapest and the best model. */
function plotOf(points: readonly ChooserResult[]): string {
  const [cheapest, best] = points as [ChooserResult, ChooserResult];
  const cells = Array.from({ length: height }, () => Array<string>(width).fill(" "));
  const costs = points.map(({ cost }) => cost);
  const shares = points.map(({ solved }) => solved);
  const [lowest, highest] = [Math.floor(Math.min(...shares)) - 1, Math.ceil(Math.max(...shares)) + 1];
  const dearest = Math.max(...costs);
  const put = (cost: number, solved: number, sign: string) => {
    const column = Math.round((cost / dearest) * (width - 1));
    const row = Math.round(((highest - solved) / (highest - lowest)) * (height - 1));
    const line = cells[row];
    if (line !== undefined) line[column] = sign;
  };
  for (let step = 0; step <= width; step++) {
    const share = step / width;
    put(
      cheapest.cost + share * (best.cost - cheapest.cost),
      cheapest.solved + share * (best.solved - cheapest.solved),
      "=",
    );
  }
  for (const [index, { cost, solved }] of points.entries()) put(cost, solved, letterOf(index));
  const lines = cells.map((line, row) => {
    const label = row === 0 ? `${highest} %` : row === height - 1 ? `${lowest} %` : "";
    return `${label.padStart(5)} |${line.join("").trimEnd()}`;
  });
  return [
    ...lines,
    `      +${"-".repeat(width)}`,
    `      0${`${dearest.toFixed(1)} USD per 1,000 requests`.padStart(width)}`,
  ].join("\n");
}

const letterOf = (index: number): string => String.fromCharCode(65 + index);

function tableOf(points: readonly ChooserResult[]): string {
  const rows = points.map(({ name, cost, solved, line, models }, index) => {
    const most = Object.entries(models).toSorted(([, a], [, b]) => b - a);
    const used = most.slice(0, 3).map(([model, count]) => `${model} ${count}`);
    return `| ${letterOf(index)} | ${name} | ${cost.toFixed(2)} | ${solved.toFixed(1)} | ${line.toFixed(1)} | ${used.join(", ")} |`;
  });
  return [
    "| | chosen by | USD per 1,000 | solved, % | on the line, % | models (requests), at most three |",
    "|---|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

/** The page of the documentation in the form that `npm run routers` writes. */
export function page(): string {
  const { all, code, switchyard, weak } = simulate();
  const pairs = simulatePairs().map(({ solved, line }) => solved - line);
  const below = pairs.filter((gain) => gain < -1e-9);
  const worst = -Math.min(...pairs);
  const mean = pairs.reduce((sum, gain) => sum + gain, 0) / pairs.length;
  const { source } = outcomes;
  return `# What the routers cost and achieve: a simulation

\`npm run routers\` writes this page. It lets every router choose for requests of our own (\`test/campaigns/routers/prompts.ts\`), easy and hard ones, out of the
${Object.keys(outcomes.models).length} models that are both in the built-in catalogue and in a table of outcomes. The routers know the catalogue: prices, and scores from LiveBench and
whatmodel.sh. The outcomes are others: how much of a benchmark each model solved at
[${source.name}](${source.url}), as of ${source.date} (percentages in \`test/fixtures/routers/outcomes.json\`). For each request the benchmark stands that is like it in kind and difficulty.

The line is what a coin between the cheapest and the best model achieves for the same money; a router that earns its name is on it or above. The best
model is the one that solves most of these requests, which no router knows. Costs are those of a prompt and 600 tokens of answer at the catalogue's prices,
the same for every model: how long a model thinks is not counted, and the benchmarks are only like the requests, so compare the points with the line and
with each other, and take no figure for your own bill. One thing was changed after a look at the outcomes: the catalogue's coding score takes in LiveBench's
agentic coding beside its plain coding, without which \`pareto 1\` was below the line.

## All requests

\`\`\`text
${plotOf(all)}
\`\`\`

${tableOf(all)}

## Requests for code

\`service/pareto-code\` by its \`min_coding_score\`.

\`\`\`text
${plotOf(code)}
\`\`\`

${tableOf(code)}

## A pair of models

\`service/switchyard\` without a judge, between a cheap and a dear model that the request names, against a coin between these two.

${tableOf(switchyard)}

With a cheap model that fails at most of these requests, the dear one is taken instead:

${tableOf(weak)}

Of the ${pairs.length} pairs in which the dear model solves more, ${below.length} are below their line, the worst by ${worst.toFixed(1)} points; the mean is ${mean.toFixed(2)} points above it. That the dear
model must be 5 points of probability ahead was set after a look at these pairs. A judge (\`internal_models.switchyard_judge\`) knows more than scores and words do.
`;
}
