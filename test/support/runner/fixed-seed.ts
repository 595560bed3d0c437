/** Seed of every random test in `npm test`, so that a change is never refused for what it did not touch. Campaigns by hand draw a fresh one. */
export const fixedSeed = 20_261_124;
