/** Estimates the ability of models at a task from their scores. */
import type { CatalogModel } from "../catalog.ts";
import type { BenchmarkTask } from "./difficulty.ts";

/** Weight of a score in standard deviations; it is below 1 because benchmarks are not the task. */
const scoreWeight = 0.5;

/** Ability of the models by slug, around 0. Models without a score are absent. */
export function findAbilities(models: readonly CatalogModel[], task: BenchmarkTask): ReadonlyMap<string, number> {
  const scored = models.flatMap((model) => {
    const score = scoreFor(model, task);
    return score === undefined ? [] : [{ id: model.settings.id, score }];
  });
  const mean = scored.reduce((sum, { score }) => sum + score, 0) / scored.length;
  const deviation = Math.sqrt(scored.reduce((sum, { score }) => sum + (score - mean) ** 2, 0) / scored.length);
  return new Map(scored.map(({ id, score }) => [id, deviation === 0 ? 0 : (scoreWeight * (score - mean)) / deviation]));
}

/** The model's score for the task, else its general score. */
const scoreFor = ({ settings: { scores } }: CatalogModel, task: BenchmarkTask): number | undefined =>
  scores?.[task] ?? scores?.["general"];
