/** Chooses between the cheap and the expensive model by the request's features and the models' scores, when no judge is configured. */
import type { Catalog } from "../../../models/routing/catalog.ts";
import { findAbilities } from "../../../models/routing/choose/abilities.ts";
import { estimateDifficulty, solveProbability } from "../../../models/routing/choose/difficulty.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { PriceTier, Roles } from "./candidates.ts";
import { minProbabilities } from "./success-predictor.ts";

export interface LocalEstimate {
  readonly tier: PriceTier;
  /** Probability that the cheap model succeeds. */
  readonly efficient: number;
  /** Probability that the expensive model succeeds; undefined when one of the two models has no score. */
  readonly capable?: number;
}

/** Minimum lead in probability that justifies the expensive model's price. */
const minAdvantage = 0.05;

/**
 * Estimates the chances of both models. A cheap model without scores counts as average, and gets the tasks an average
 * model probably solves.
 */
export function estimateLocally(request: TurnRequest, roles: Roles, catalog: Catalog): LocalEstimate {
  const { difficulty, task } = estimateDifficulty(request);
  const abilities = findAbilities(catalog.models, task);
  const ability = (slug: string) => abilities.get(catalog.find(slug)?.model.settings.id ?? slug);
  const [cheap, dear] = [ability(roles.efficient), ability(roles.capable)];
  if (cheap === undefined || dear === undefined) {
    const efficient = solveProbability(0, difficulty);
    return { tier: efficient >= minProbabilities.unmatched ? "efficient" : "capable", efficient };
  }
  const [efficient, capable] = [solveProbability(cheap, difficulty), solveProbability(dear, difficulty)];
  return { tier: capable - efficient > minAdvantage ? "capable" : "efficient", efficient, capable };
}
