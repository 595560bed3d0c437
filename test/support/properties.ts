/** fast-check with the seed of the tests, so every run has the same values. */
import fc from "fast-check";
import { fixedSeed } from "./runner/fixed-seed.ts";

const firstSurrogate = 0xd800;
const surrogates = 0x800;

fc.configureGlobal({ seed: fixedSeed });

/** Any code point. fast-check's unit "binary" would create a table of all of them in each file, which takes a second. */
export const codePoint = fc.nat(0x10_f7ff).map(
  (index) => String.fromCodePoint(index < firstSurrogate ? index : index + surrogates),
  (text) => {
    const point = typeof text === "string" ? text.codePointAt(0) : undefined;
    if (point === undefined || String.fromCodePoint(point) !== text) throw new Error("not one code point");
    return point < firstSurrogate ? point : point - surrogates;
  },
);

export default fc;
