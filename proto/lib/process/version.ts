/** Version of Sluice from the package.json in the root of the checkout or of the image, four folders above the built file. */
import { readFileSync } from "node:fs";

const { version } = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};

export { version };
