/** Finds the code of Sluice that is responsible for a sample. */
import { type CodePosition, isSluice, describePlace } from "../counts/labels.ts";
import { sourceOf } from "../counts/sources.ts";
import { kindOf } from "./kinds.ts";
import type { PerfFrame, PerfSample } from "./perf.ts";

/** Matches V8's name of a function, such as `JS:*write file:///srv/gateway/bundle/main.js:12:3`; the mark after `JS:` is the compiler tier. */
const compiled = /^JS:[*+^~]?(\S*) (\S+):(\d+):(\d+)$/;

/** @returns the nearest calling function of Sluice. A function that V8 has inlined counts as its caller. */
export function placeOf({ frames }: PerfSample): string {
  const [inner] = frames;
  const places = frames.map(placeIn).filter((place) => place !== undefined);
  const asker = places.find(isSluice) ?? places[0];
  const kind = inner === undefined ? "other" : kindOf(inner);
  return asker === undefined ? `(${kind} without JavaScript)` : describePlace(asker);
}

function placeIn({ symbol }: PerfFrame): CodePosition | undefined {
  const [, name, file, line, column] = compiled.exec(symbol) ?? [];
  if (name === undefined || file === undefined) return undefined;
  return sourceOf({ name, file, line: Number(line), column: Number(column) });
}
