/** The reader of a block with input in pieces. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import type { JsonObject } from "../json.ts";

export interface BlockReader {
  delta(delta: JsonObject): void;
  /** The block is complete. */
  stop(): void;
}

/** @param written the pieces joined; empty if the block began with its input. @returns undefined for invalid JSON */
export function readInput({ input }: JsonObject, written: string): unknown {
  if (written === "") return input;
  try {
    return parseWithin(written);
  } catch {
    return undefined;
  }
}
