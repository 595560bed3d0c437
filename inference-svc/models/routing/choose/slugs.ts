/** Matches endpoints with the names in preferences: the provider's id, `provider/tier` or `provider/quantization`. */
import type { Endpoint } from "../catalog.ts";

/** Whether a list names the endpoint; the id of a provider names all of its endpoints. */
export const isNamed = (endpoint: Endpoint, slugs: readonly string[]): boolean =>
  slugs.some((slug) => slug === endpoint.provider || endpoint.fullSlugs.includes(slug));

/**
 * The place of an endpoint in `order`; -1 when it has none. In an order, the id of a provider names only endpoints of the default tier:
 * dearer tiers have to be named themselves.
 */
export const positionIn = (order: readonly string[], endpoint: Endpoint): number =>
  order.findIndex(
    (slug) => (slug === endpoint.provider && endpoint.tier === "default") || endpoint.fullSlugs.includes(slug),
  );
