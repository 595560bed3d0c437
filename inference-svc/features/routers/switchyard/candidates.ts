/** The models among which the switchyard-router chooses: a cheap one, an expensive one, and those between as fallbacks. */
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { CandidateGroup } from "../../../models/routing/choose/candidates.ts";
import type { Variant } from "../../../models/routing/catalog.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import { switchyardSlug } from "../../slugs.ts";

const maxCandidates = 3;

/** Slugs of the models in the order of the request. @throws Fault INVALID_REQUEST */
export function candidatesOf({ models }: TurnRequest, variant: Variant | undefined): readonly string[] {
  const [first, ...candidates] = models;
  if (variant !== undefined) throw invalid("model", `${switchyardSlug} has no variants; its candidates may have`);
  if (first !== switchyardSlug)
    throw invalid(
      "models",
      `${switchyardSlug} chooses between the models of a request: it is named in model, they are in models`,
    );
  if (candidates.length === 0 || candidates.length > maxCandidates) {
    throw invalid("models", `${switchyardSlug} chooses between 1 to ${maxCandidates} models`);
  }
  const wrong = candidates.find((candidate) => /^(?:service\/|~)/.test(candidate));
  if (wrong !== undefined)
    throw invalid("models", `${switchyardSlug} cannot choose ${wrong}, which stands for other models`);
  return candidates;
}

/** The models that can serve the request, by their price. */
export interface Roles {
  readonly efficient: string;
  readonly capable: string;
  /** Models with a price between the other two. */
  readonly middle: readonly string[];
}

/** Sorts the models by price. @returns undefined when there is no price difference: a single model, or several at one price */
export function assignRoles(groups: readonly CandidateGroup[]): Roles | undefined {
  const priced = groups.map((group) => ({ slug: slugOf(group), price: priceOf(group) }));
  const [cheapest, ...dearer] = priced.toSorted((a, b) => (a.price === b.price ? 0 : a.price - b.price));
  const dearest = dearer.pop();
  if (cheapest === undefined || dearest === undefined || cheapest.price === dearest.price) return undefined;
  return { efficient: cheapest.slug, capable: dearest.slug, middle: dearer.map((one) => one.slug) };
}

export const slugOf = ({ model, variant }: CandidateGroup): string =>
  variant === undefined ? model : `${model}:${variant}`;

/** Sum of prompt and completion price at the model's cheapest usable endpoint. A model without a price counts as the most expensive. */
const priceOf = ({ endpoints }: CandidateGroup): number =>
  Math.min(...endpoints.map(({ prices }) => (prices ? prices.prompt + prices.completion : Number.POSITIVE_INFINITY)));

export type PriceTier = "efficient" | "capable";

/** Slugs of the models: the chosen one first, then the others by closeness in price. */
export const orderByTier = (tier: PriceTier, { efficient, capable, middle }: Roles): readonly string[] =>
  tier === "efficient" ? [efficient, ...middle, capable] : [capable, ...middle, efficient];
