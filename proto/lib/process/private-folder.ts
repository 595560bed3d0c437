/** Creates folders that only their owner can read. */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/**
 * Creates the folder and its missing parents one by one: where none can be created (`/proc`), Node's recursive option
 * never ends.
 * @throws the error of the file system
 */
export function makePrivateFolder(path: string): void {
  if (isFolder(path)) return;
  if (dirname(path) !== path) makePrivateFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created the folder meanwhile.
    if (!isFolder(path)) throw error;
  }
}
