/** How preferences name endpoints: by the provider's id, or by `provider/tier` or `provider/quantization`. */
import type { Endpoint } from "./catalog.ts";

/** The id of a provider stands for all of its endpoints. */
export const isNamed = (endpoint: Endpoint, slugs: readonly string[]): boolean =>
  slugs.some((slug) => slug === endpoint.provider || endpoint.fullSlugs.includes(slug));

/**
 * The place of an endpoint in `order`; -1 when it has none. There the id of a provider stands for its endpoints of the default tier only:
 * dearer tiers come first where they are named.
 */
export const placeIn = (order: readonly string[], endpoint: Endpoint): number =>
  order.findIndex(
    (slug) => (slug === endpoint.provider && endpoint.tier === "default") || endpoint.fullSlugs.includes(slug),
  );
