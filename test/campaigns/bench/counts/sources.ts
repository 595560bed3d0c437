/** Finds the source of code in a bundle by its source map. */
import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { fileURLToPath } from "node:url";
import type { CodePosition } from "./labels.ts";

/** A place in running code; line and column are counted from 1. */
export interface Position extends CodePosition {
  readonly column: number;
}

const maps = new Map<string, SourceMap | undefined>();

/** @returns the place in the source file; the given place if there is no map */
export function sourceOf({ name, file, line, column }: Position): CodePosition {
  const found = mapOf(file)?.findEntry(line - 1, column - 1);
  if (found === undefined || !("originalSource" in found)) return { name, file, line };
  return { name, file: new URL(found.originalSource, file).href, line: found.originalLine + 1 };
}

function mapOf(file: string): SourceMap | undefined {
  if (!/^file:.*\/bundle\//.test(file)) return undefined;
  if (!maps.has(file)) maps.set(file, readMap(`${fileURLToPath(file)}.map`));
  return maps.get(file);
}

/** A bundle that contains only the bundler's own code has no map. */
function readMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, "utf8")) as SourceMapPayload);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
