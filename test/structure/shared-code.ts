/** Finds code in `proto/` that lies in no folder, and code there that one service has for itself. */
import { importSpecifiers, resolveImport } from "./circles.ts";
import type { SourceFile } from "./sources.ts";

/** Folders whose code lies in folders named by topic. */
const foldersOfFolders = new Set(["proto", "proto/contract", "proto/lib"]);

/** Files that stay in `proto/` with a single user, by the list or the engine that they are part of. */
const kept: Readonly<Record<string, string>> = {
  "proto/lib/pattern/joint.ts": "a form of the pattern engine's automaton, tested with it",
  "proto/lib/pattern/joint-scan.ts": "a form of the pattern engine's scan, tested with it",
};

/** @returns paths of the files that lie beside the folders of `proto/`, `proto/contract/` and `proto/lib/` */
export const findLooseFiles = (files: readonly SourceFile[]): string[] =>
  files.map(({ path }) => path).filter((path) => foldersOfFolders.has(path.slice(0, path.lastIndexOf("/"))));

/** @returns "path: room" of each file of `proto/` that a single room uses, directly or through other files of `proto/` */
export function findSingleUsers(files: readonly SourceFile[]): string[] {
  const importers = importersOf(files);
  return files
    .filter(({ path, room }) => room === "proto" && kept[path] === undefined)
    .map(({ path }) => ({ path, users: usersOf(path, importers) }))
    .filter(({ users }) => users.size === 1)
    .map(({ path, users }) => `${path}: ${[...users].join("")}`);
}

type Importers = ReadonlyMap<string, readonly SourceFile[]>;

/** The files that import each path; tests are left out, since a test is no service. */
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

/** Rooms outside of `proto/` that reach a file. */
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
