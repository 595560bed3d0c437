/** Tests of the console need Chromium; without it they are reported as skipped. */
import { describe } from "@jest/globals";
import { chromiumPath } from "./browser.ts";

export const describeWithChromium: typeof describe.skip = chromiumPath === undefined ? describe.skip : describe;

/** Title of these tests. */
export const inChromium = chromiumPath === undefined ? "in Chromium (there is none)" : "in Chromium";
