/** The packages of this checkout in the place of those that another folder would have to install. */
import { mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
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
    ([path, { version, link }]) =>
      !path.startsWith("node_modules/") || link === true || here[path]?.version === version,
  );
}

/**
 * Rooms of the house are the folder's own, everything else is this checkout's.
 * @param where says of a room, as `deploy/local`, in which folder it is found
 */
export function linkPackages(folder: string, where: (room: string) => string = () => folder): void {
  const [from, to] = [join(root, "node_modules"), join(folder, "node_modules")];
  mkdirSync(join(to, "@sluice"), { recursive: true });
  for (const name of readdirSync(from)) if (name !== "@sluice") symlinkSync(join(from, name), join(to, name));
  for (const [path, { link, resolved = "" }] of Object.entries(lockOf(folder).packages)) {
    if (link) symlinkSync(join(where(resolved), resolved), join(folder, path));
  }
}
