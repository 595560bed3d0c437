/** Finds circles of imports, including imports of types. */
import { posix } from "node:path";
import type { SourceFile } from "./sources.ts";

/** @returns the modules that a source imports, by static, dynamic and type imports */
export const importSpecifiers = (text: string): string[] =>
  [...text.matchAll(/\b(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1] as string);

/** @returns each circle of imports as the paths along it, with the first path again at the end */
export function findImportCircles(files: readonly SourceFile[]): string[][] {
  const imports = importGraph(files);
  const circles: string[][] = [];
  const finished = new Set<string>();
  const follow = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) circles.push([...trail.slice(start), path]);
    if (start >= 0 || finished.has(path)) return;
    for (const target of imports.get(path) ?? []) follow(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of imports.keys()) follow(path, []);
  return circles;
}

/** Imports by path, each within one room. */
function importGraph(files: readonly SourceFile[]): Map<string, string[]> {
  const known = new Set(files.map(({ path }) => path));
  const targets = ({ path, room, text }: SourceFile) =>
    importSpecifiers(text)
      .map((specifier) => resolveImport(path, specifier))
      .filter((target) => known.has(target) && target.startsWith(`${room}/`));
  return new Map(files.map((file) => [file.path, targets(file)]));
}

/** @returns the path of the module that a specifier names, relative to the checkout */
export function resolveImport(path: string, specifier: string): string {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(path), specifier);
  return specifier.replace(/^@sluice\//, "").replace(/\.js$/, ".ts");
}
