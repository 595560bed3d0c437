/** Tests of the console need Chromium, and are skipped, and reported as such, where the machine has none. */
import { describe } from "@jest/globals";
import { chromiumPath } from "./browser.ts";

export const describeWithChromium: typeof describe.skip = chromiumPath === undefined ? describe.skip : describe;

/** Title of such tests. */
export const inChromium = chromiumPath === undefined ? "in Chromium (there is none)" : "in Chromium";
