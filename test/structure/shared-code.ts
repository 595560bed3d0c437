/** Finds code in `proto/` outside of its folders, and code there with one service as its only user. */
import { importSpecifiers, resolveImport } from "./circles.ts";
import type { SourceFile } from "./sources.ts";

/** Folders whose code must be in subfolders by topic. */
const foldersOfFolders = new Set(["proto", "proto/contract", "proto/lib"]);

/** Files that stay in `proto/` although only one room uses them, with the reason. */
const kept: Readonly<Record<string, string>> = {
  "proto/lib/pattern/joint.ts": "a form of the pattern engine's automaton, tested with it",
  "proto/lib/pattern/joint-scan.ts": "a form of the pattern engine's scan, tested with it",
};

/** @returns paths of files directly in `proto/`, `proto/contract/` or `proto/lib/` */
export const findLooseFiles = (files: readonly SourceFile[]): string[] =>
  files.map(({ path }) => path).filter((path) => foldersOfFolders.has(path.slice(0, path.lastIndexOf("/"))));

/** @returns "path: room" of each file of `proto/` that only one room uses, directly or through other files of `proto/` */
export function findSingleUsers(files: readonly SourceFile[]): string[] {
  const importers = importersOf(files);
  return files
    .filter(({ path, room }) => room === "proto" && kept[path] === undefined)
    .map(({ path }) => ({ path, users: usersOf(path, importers) }))
    .filter(({ users }) => users.size === 1)
    .map(({ path, users }) => `${path}: ${[...users].join("")}`);
}

type Importers = ReadonlyMap<string, readonly SourceFile[]>;

/** The files that import each path, without tests, since a test is not a service. */
function importersOf(files: readonly SourceFile[]): Importers {
  const importers = new Map<string, SourceFile[]>();
  for (const file of files.filter(({ room }) => room !== "test")) {
    for (const specifier of importSpecifiers(file.text)) {
      const target = resolveImport(file.path, specifier);
      importers.set(target, [...(importers.get(target) ?? []), file]);
    }
  }
  return importers;
}

/** Rooms outside of `proto/` that use a file, directly or indirectly. */
function usersOf(path: string, importers: Importers): ReadonlySet<string> {
  const users = new Set<string>();
  const open = [path];
  const seen = new Set(open);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const importer of importers.get(next) ?? []) {
      if (importer.room !== "proto") users.add(importer.room);
      else if (!seen.has(importer.path)) open.push(importer.path);
      seen.add(importer.path);
    }
  }
  return users;
}
