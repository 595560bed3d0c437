/** Links to the packages of this checkout, so another folder need not install its own. */
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../support/processes.ts";

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly resolved?: string; readonly link?: boolean }>
  >;
}

const lockOf = (folder: string): Lock => JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as Lock;

/** Whether every version in the folder's lock file is installed here; further packages do no harm. */
export function packagesFit(folder: string): boolean {
  const here = lockOf(root).packages;
  return Object.entries(lockOf(folder).packages).every(
    ([path, { version, link }]) => !path.includes("node_modules/") || link === true || here[path]?.version === version,
  );
}

/**
 * Links packages into a folder. Rooms come from the folder itself, all other packages from another checkout, including those in a room's own
 * node_modules. Every room must get the same copy of a package: grpc-js drops metadata made by another copy of itself.  @param checkout checkout
 * whose packages are installed or linked  @param where finds the folder of a room such as `deploy/local`
 */
export function linkPackages(folder: string, checkout: string, where: (room: string) => string = () => folder): void {
  const [from, to] = [join(checkout, "node_modules"), join(folder, "node_modules")];
  mkdirSync(join(to, "@sluice"), { recursive: true });
  for (const name of readdirSync(from)) if (name !== "@sluice") symlinkSync(join(from, name), join(to, name));
  for (const [path, { link, resolved = "" }] of Object.entries(lockOf(folder).packages)) {
    if (link) symlinkSync(join(where(resolved), resolved), join(folder, path));
    const [, own = ""] = /^(.+?\/node_modules)\//.exec(path) ?? [];
    if (own !== "" && !existsSync(join(folder, own))) symlinkSync(join(checkout, own), join(folder, own));
  }
}
