/** fast-check with the seed of the tests: the same values in every run. */
import fc from "fast-check";
import { fixedSeed } from "./runner/fixed-seed.ts";

fc.configureGlobal({ seed: fixedSeed });

export default fc;
