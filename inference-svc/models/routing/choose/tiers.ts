/** Chooses the service tiers for a request, best first. */
import type { CatalogModel, Endpoint, Variant } from "../catalog.ts";

export type ServiceTier = Endpoint["tier"];

const pools: Readonly<Record<string, readonly ServiceTier[]>> = {
  priority: ["priority", "default"],
  fast: ["priority", "default"],
  scale: ["scale", "default"],
  ultrafast: ["ultrafast", "priority", "default"],
};

type Sort = "throughput" | "price" | "exacto";

/** Sort order within each tier: requests for a fast tier sort by speed, requests for flex by price. */
const sorts: Readonly<Record<string, Sort>> = {
  priority: "throughput",
  fast: "throughput",
  ultrafast: "throughput",
  flex: "price",
};

export const findTierSort = (requestedTier: string | undefined): Sort | undefined =>
  requestedTier === undefined ? undefined : sorts[requestedTier];

const variantSorts: Readonly<Record<Variant, Sort>> = { nitro: "throughput", floor: "price", exacto: "exacto" };

export const findVariantSort = (variant: Variant | undefined): Sort | undefined => variant && variantSorts[variant];

/** The tier that each variant adds; undefined when it adds none. */
const additional: Readonly<Record<Variant, ServiceTier | undefined>> = {
  nitro: "priority",
  floor: "flex",
  exacto: undefined,
};

export const addedTier = (variant: Variant | undefined): ServiceTier | undefined => variant && additional[variant];

const plain: readonly ServiceTier[] = ["default"];

export function findTierPool(
  model: CatalogModel,
  requestedTier: string | undefined,
  variant: Variant | undefined,
): readonly ServiceTier[] {
  const pool = tiersOf(model, requestedTier);
  const added = addedTier(variant);
  return added === undefined || pool.includes(added) ? pool : [added, ...pool];
}

function tiersOf(model: CatalogModel, requestedTier: string | undefined): readonly ServiceTier[] {
  if (requestedTier === undefined) return plain;
  // A request for flex pays the flex price: the default tier is used only when the model has no flex endpoint.
  if (requestedTier === "flex") return model.endpoints.some(({ tier }) => tier === "flex") ? ["flex"] : plain;
  return pools[requestedTier] ?? plain;
}
