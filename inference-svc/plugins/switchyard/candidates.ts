/** The models of a request between which is chosen: the cheap one, the dear one, and what stands behind the chosen one. */
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import type { Group } from "../../routing/candidates.ts";
import type { Variant } from "../../routing/catalog.ts";
import type { TurnRequest } from "../../turn/request.ts";

export const slug = "service/switchyard";

const mostCandidates = 3;

/** In the order of the request. @throws Fault INVALID_REQUEST */
export function candidatesOf({ models }: TurnRequest, variant: Variant | undefined): readonly string[] {
  const [first, ...candidates] = models;
  if (variant !== undefined) throw invalid("model", `${slug} has no variants; its candidates may have`);
  if (first !== slug)
    throw invalid(
      "models",
      `${slug} chooses between the models of a request: it is named in model, they are in models`,
    );
  if (candidates.length === 0 || candidates.length > mostCandidates) {
    throw invalid("models", `${slug} chooses between 1 to ${mostCandidates} models`);
  }
  const wrong = candidates.find((candidate) => /^(?:service\/|~)/.test(candidate));
  if (wrong !== undefined) throw invalid("models", `${slug} cannot choose ${wrong}, which stands for other models`);
  return candidates;
}

/** Those that can serve, by what they cost. */
export interface Roles {
  readonly efficient: string;
  readonly capable: string;
  /** The one that is neither, where there are three. */
  readonly middle: readonly string[];
}

/** Undefined where nothing tells them apart: one alone, or several at one price. */
export function rolesOf(groups: readonly Group[]): Roles | undefined {
  const priced = groups.map((group) => ({ slug: slugOf(group), price: priceOf(group) }));
  const [cheapest, ...dearer] = priced.toSorted((a, b) => (a.price === b.price ? 0 : a.price - b.price));
  const dearest = dearer.pop();
  if (cheapest === undefined || dearest === undefined || cheapest.price === dearest.price) return undefined;
  return { efficient: cheapest.slug, capable: dearest.slug, middle: dearer.map((one) => one.slug) };
}

export const slugOf = ({ model, variant }: Group): string => (variant === undefined ? model : `${model}:${variant}`);

/** Of prompt and completion together, at the cheapest endpoint that may serve. What has no price counts as dearer than everything. */
const priceOf = ({ endpoints }: Group): number =>
  Math.min(...endpoints.map(({ prices }) => (prices ? prices.prompt + prices.completion : Number.POSITIVE_INFINITY)));

export type Tier = "efficient" | "capable";

/** The chosen one, and the others by how near to it they cost. */
export const ordered = (tier: Tier, { efficient, capable, middle }: Roles): readonly string[] =>
  tier === "efficient" ? [efficient, ...middle, capable] : [capable, ...middle, efficient];
