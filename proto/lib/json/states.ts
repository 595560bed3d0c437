/** States of the JSON scanner: the next expected token, and the open values. */
import type { KeyedObject } from "./keys.ts";

export const expectValue = 0;
/** Expects a value, or the end of the array. */
export const expectFirstValue = 1;
export const expectKey = 2;
/** Expects a key, or the end of the object. */
export const expectFirstKey = 3;
export const expectColon = 4;
/** Expects a comma, or the end of the surrounding array or object. */
export const expectComma = 5;
// Within a string, where white space counts.
export const inValueString = 6;
export const inKeyString = 7;

/** An array or object that has not ended yet. */
export interface OpenValue extends KeyedObject {
  isObject: boolean;
  /** Number of objects that have not ended, including this one. */
  level: number;
  keys: number;
}
