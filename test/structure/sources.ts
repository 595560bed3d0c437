/** Reads the hand-written source files of a checkout, for tests of their language and their structure. */
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { type ParserOptions, parse } from "@babel/parser";

export interface SourceFile {
  /** Path relative to the checkout, with slashes. */
  readonly path: string;
  /** The top folder, such as "gateway"; or gateway/console, browser code without shared code of the gateway. */
  readonly room: string;
  readonly text: string;
}

export type Program = ReturnType<typeof parse>["program"];
export type Comments = NonNullable<ReturnType<typeof parse>["comments"]>;

export const rooms = ["admin-svc", "deploy", "gateway", "inference-svc", "proto", "test"] as const;

const skippedFolders = new Set(["bundle", "dist", "fixtures", "gen", "node_modules"]);
const sourceName = /\.(?:tsx?|mjs|proto)$/;

/** @returns the hand-written sources of all rooms, sorted by path */
export const readSources = (checkout: string): SourceFile[] => readFiles(checkout, sourceName);

/** @returns the files of all rooms with such a name, sorted by path */
function readFiles(checkout: string, name: RegExp): SourceFile[] {
  return rooms
    .flatMap((room) => findFiles(join(checkout, room), name))
    .map((file) => relative(checkout, file))
    .toSorted()
    .map((path) => ({ path, room: roomOf(path), text: readFileSync(join(checkout, path), "utf8") }));
}

const roomOf = (path: string): string =>
  path.startsWith("gateway/console/") ? "gateway/console" : (path.split("/")[0] as string);

function findFiles(folder: string, name: RegExp): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return skippedFolders.has(entry.name) || entry.name.startsWith(".") ? [] : findFiles(path, name);
    return name.test(entry.name) ? [path] : [];
  });
}

export const isProto = ({ path }: SourceFile): boolean => path.endsWith(".proto");

/** Only files with JSX are parsed as JSX, which changes the meaning of some types. */
const parserOptions = (path: string): ParserOptions => ({
  sourceType: "module",
  plugins: ["typescript", "explicitResourceManagement", ...(path.endsWith(".tsx") ? (["jsx"] as const) : [])],
});

/** Parses a TypeScript or JavaScript source. @throws with the path when the syntax is wrong */
export function parseSource({ path, text }: SourceFile): { program: Program; comments: Comments } {
  try {
    const { program, comments } = parse(text, parserOptions(path));
    return { program, comments: comments ?? [] };
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  }
}

/** Groups values by a computed text. */
export function groupBy<T>(values: readonly T[], key: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const group = groups.get(key(value));
    if (group) group.push(value);
    else groups.set(key(value), [value]);
  }
  return groups;
}
