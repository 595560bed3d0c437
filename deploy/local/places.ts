/** Folders of the program and of the operator's files, and the commands by which the operator calls the program. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Path of the checkout, of the installed package, or of the files in an image; in each, this file is deploy/local/dist/places.js. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Whether the program runs from a checkout. Its lock file is neither in the package nor in the images. */
export const isCheckout = existsSync(join(root, "package-lock.json"));

/** The folder of sluice.yaml and of the data: the checkout itself, or for the package the folder in which it is started. */
const home = isCheckout ? root : process.cwd();

/** How an operator calls the command line and the start, in a checkout and in the package. */
export const program = isCheckout
  ? { name: "admin", call: "npm run --silent admin --", start: "npm start" }
  : { name: "sluice", call: "sluice", start: "sluice start" };

/** The data folder. @param given value of SLUICE_DATA_DIR */
export const dataPath = (given: string | undefined): string => (given ? resolve(given) : join(home, ".sluice"));

/** Folder for packages installed by the operator. It is in the data folder, so the checkout stays unchanged. */
export const packagesPath = (given: {
  readonly SLUICE_DATA_DIR?: string | undefined;
  readonly SLUICE_PACKAGES_DIR?: string | undefined;
}): string =>
  given.SLUICE_PACKAGES_DIR ? resolve(given.SLUICE_PACKAGES_DIR) : join(dataPath(given.SLUICE_DATA_DIR), "packages");

/** Path of the configuration file: the given path, else sluice.yaml of the operator, else the default file shipped with Sluice. */
export function configPath(given: string | undefined): string {
  if (given) return resolve(given);
  const own = join(home, "sluice.yaml");
  return existsSync(own) ? own : join(root, "deploy/local/sluice.yaml");
}
