/** Reads a content block whose input comes in pieces. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import type { JsonObject } from "../json.ts";

export interface BlockReader {
  delta(delta: JsonObject): void;
  /** Called when the block is complete. */
  stop(): void;
}

/** The input of a block. @param written the joined pieces; empty if the block began with its input @returns undefined for invalid JSON */
export function readInput({ input }: JsonObject, written: string): unknown {
  if (written === "") return input;
  try {
    return parseWithin(written);
  } catch {
    return undefined;
  }
}
