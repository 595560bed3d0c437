/** Compares endpoints with the names in provider preferences: a provider's id, `provider/tier` or `provider/quantization`. */
import type { Endpoint } from "../catalog.ts";

/** Whether a list names the endpoint; a provider's id names all of its endpoints. */
export const isNamed = (endpoint: Endpoint, slugs: readonly string[]): boolean =>
  slugs.some((slug) => slug === endpoint.provider || endpoint.fullSlugs.includes(slug));

/**
 * Index of the endpoint in `order`; -1 when it is not named. In an order, a provider's id names only endpoints of the
 * default tier: more expensive tiers must be named themselves.
 */
export const positionIn = (order: readonly string[], endpoint: Endpoint): number =>
  order.findIndex(
    (slug) => (slug === endpoint.provider && endpoint.tier === "default") || endpoint.fullSlugs.includes(slug),
  );
