/**
 * Adjusts the models' scores for a task by the spending of keys on models their requests name. Spending decides the
 * order of the models, while the distances between ranks stay those of the catalogue's scores: a favourite becomes the
 * best without making every other model too bad for easy requests.
 */

/** Spending in USD that has the weight of one point of score, so a few cheap calls change nothing. */
const priorWeight = 50;

export interface ScoredSlug {
  readonly model: string;
  readonly score: number | undefined;
}

/** The adjusted scores by slug. @returns undefined when nothing was spent on the models, so the catalogue's scores apply */
export function learnScores(
  scored: readonly ScoredSlug[],
  spending: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> | undefined {
  const known = scored.flatMap(({ model, score }) => (score === undefined ? [] : [{ model, score }]));
  if (!known.some(({ model }) => (spending.get(model) ?? 0) > 0)) return undefined;
  const weightOf = ({ model, score }: (typeof known)[number]) => (spending.get(model) ?? 0) + priorWeight * score;
  const places = known.map(({ score }) => score).sort((a, b) => b - a);
  const order = known.toSorted((a, b) => weightOf(b) - weightOf(a));
  return new Map(order.map(({ model }, place) => [model, places[place] as number]));
}
