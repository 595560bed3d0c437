/**
 * What is known of providers and models without being told: names, windows, prices, modalities. It fills in what the house file does not say,
 * and never changes what it does.
 */
import { readFileSync } from "node:fs";

/** By the names of the house file, so that what is missing can be taken as it is. */
export type Facts = Readonly<Record<string, unknown>>;

/** One vendor's offer of a model. */
export interface SeedEndpoint extends Facts {
  readonly vendor: string;
  readonly upstream_model: string;
  readonly pricing: Facts;
  readonly supported_parameters: readonly string[];
}

interface SeedModel extends Facts {
  readonly id: string;
  readonly endpoints: readonly SeedEndpoint[];
}

export interface Seed {
  /** The day on which the prices held. */
  readonly date: string;
  /** By id. */
  readonly vendors: Readonly<Record<string, Facts & { readonly hosts: readonly string[] }>>;
  readonly models: readonly SeedModel[];
}

/** Knows nothing. */
export const emptySeed: Seed = { date: "1970-01-01", vendors: {}, models: [] };

/** @param path of the seed.json that `npm run catalogue` writes */
export const readSeed = (path: string | URL): Seed => JSON.parse(readFileSync(path, "utf8")) as Seed;
