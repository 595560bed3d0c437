/** Which tiers are asked for a request, best first. */
import type { CatalogModel, Endpoint, Variant } from "./catalog.ts";

export type Tier = Endpoint["tier"];

const pools: Readonly<Record<string, readonly Tier[]>> = {
  priority: ["priority", "default"],
  fast: ["priority", "default"],
  scale: ["scale", "default"],
  ultrafast: ["ultrafast", "priority", "default"],
};

type Sort = "throughput" | "price";

/** Who pays for speed gets the fastest of each tier, who asks for flex the cheapest. */
const sorts: Readonly<Record<string, Sort>> = {
  priority: "throughput",
  fast: "throughput",
  ultrafast: "throughput",
  flex: "price",
};

export const sortOfTier = (asked: string | undefined): Sort | undefined =>
  asked === undefined ? undefined : sorts[asked];

const variantSorts: Readonly<Record<Variant, Sort>> = { nitro: "throughput", floor: "price" };

export const sortOfVariant = (variant: Variant | undefined): Sort | undefined => variant && variantSorts[variant];

/** Tiers that a variant adds. */
const additional: Readonly<Record<Variant, Tier>> = { nitro: "priority", floor: "flex" };

const plain: readonly Tier[] = ["default"];

export function poolOf(model: CatalogModel, asked: string | undefined, variant: Variant | undefined): readonly Tier[] {
  const pool = tiersOf(model, asked);
  if (variant === undefined || pool.includes(additional[variant])) return pool;
  return [additional[variant], ...pool];
}

function tiersOf(model: CatalogModel, asked: string | undefined): readonly Tier[] {
  if (asked === undefined) return plain;
  // Who asks for flex pays flex or nothing: it falls back only where nobody offers it.
  if (asked === "flex") return model.endpoints.some(({ tier }) => tier === "flex") ? ["flex"] : plain;
  return pools[asked] ?? plain;
}
