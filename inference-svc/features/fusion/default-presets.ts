/** Fusion presets for a configuration file that has none: panels of the models with the best scores. */
import type { FusionPresets } from "@sluice/proto/config/routers.js";
import type { Catalog, CatalogModel } from "../../models/routing/catalog.ts";

const panelSize = 3;

/**
 * Presets whose models are by different authors, since models by one author make the same mistakes. `general-high` has
 * the best models by general score, `general-budget` the best of the cheaper half. A preset is absent when fewer than
 * two models qualify.
 */
export function defaultPresets({ models }: Catalog): FusionPresets {
  const rated = models.filter(({ settings }) => settings.output_modalities.includes("text") && scoreOf(settings) > 0);
  const byPrice = rated.filter((model) => Number.isFinite(priceOf(model))).toSorted((a, b) => priceOf(a) - priceOf(b));
  const [high, budget] = [rated, byPrice.slice(0, Math.ceil(byPrice.length / 2))].map(bestByAuthor);
  return {
    ...(high && high.length > 1 && { "general-high": { analysis_models: high } }),
    ...(budget && budget.length > 1 && { "general-budget": { analysis_models: budget } }),
  };
}

const scoreOf = ({ scores }: CatalogModel["settings"]): number => scores?.["general"] ?? 0;

/** Sum of a model's prompt and completion price at its cheapest endpoint; Infinity without any price. */
const priceOf = ({ endpoints }: CatalogModel): number =>
  Math.min(...endpoints.map(({ prices }) => (prices ? prices.prompt + prices.completion : Number.POSITIVE_INFINITY)));

/** Slugs of the best model of each author, best first; ties are ordered by name. */
function bestByAuthor(models: readonly CatalogModel[]): string[] {
  const best = new Map<string, string>();
  const ordered = models
    .map(({ settings }) => settings)
    .toSorted((a, b) => scoreOf(b) - scoreOf(a) || (a.id < b.id ? -1 : 1));
  for (const { id } of ordered) {
    const author = id.slice(0, id.indexOf("/"));
    if (!best.has(author)) best.set(author, id);
  }
  return [...best.values()].slice(0, panelSize);
}
