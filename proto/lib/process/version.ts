/**
 * The version of Sluice, from the package.json at the root of the checkout or image, four folders above the compiled
 * file.
 */
import { readFileSync } from "node:fs";

const { version } = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};

export { version };
