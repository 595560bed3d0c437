/** The packages of this checkout in the place of those that another folder would have to install. */
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/processes.ts";

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly resolved?: string; readonly link?: boolean }>
  >;
}

const lockOf = (folder: string): Lock => JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as Lock;

/** Whether all that the folder's lock file names is here, in that version; what came to it since does no harm. */
export function packagesFit(folder: string): boolean {
  const here = lockOf(root).packages;
  return Object.entries(lockOf(folder).packages).every(
    ([path, { version, link }]) => !path.includes("node_modules/") || link === true || here[path]?.version === version,
  );
}

/**
 * Rooms are the folder's own, all other packages are those of another checkout, also those that a room has beside its code. Of a package that two checkouts have, every room must get the
 * same copy: grpc-js leaves out the metadata that another copy of it has made.
 * @param checkout its packages are installed or linked
 * @param where says of a room, as `deploy/local`, in which folder it is found
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
