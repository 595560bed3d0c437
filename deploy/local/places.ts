/** Folders of the program and of the operator's files, and how the operator calls the command line. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Path of the checkout, of the installed package, or of the files in an image: this file is deploy/local/dist/places.js in it. */
export const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Neither the package nor an image has the lock file. */
export const isCheckout = existsSync(join(root, "package-lock.json"));

/** The folder of sluice.yaml and of the data: a checkout has its own, a package serves the folder it is started in. */
const home = isCheckout ? root : process.cwd();

/** How the command line and the start are called here. */
export const program = isCheckout
  ? { name: "admin", call: "npm run --silent admin --", start: "npm start" }
  : { name: "sluice", call: "sluice", start: "sluice start" };

/** @param given SLUICE_DATA_DIR */
export const dataPath = (given: string | undefined): string => (given ? resolve(given) : join(home, ".sluice"));

/** Folder for packages installed by the operator. It lies in the data folder, so the checkout stays unchanged. */
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
