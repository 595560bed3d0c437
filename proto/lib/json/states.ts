/** States of a JSON scan: the next expected token, and the current value. */
import type { KeyedObject } from "./keys.ts";

export const expectValue = 0;
/** A value, or the end of the array. */
export const expectFirstValue = 1;
export const expectKey = 2;
/** A key, or the end of the object. */
export const expectFirstKey = 3;
export const expectColon = 4;
/** A comma, or the end of the surrounding array or object. */
export const expectComma = 5;
// The rest of a string; white space counts here.
export const inValueString = 6;
export const inKeyString = 7;

/** An open array or object. */
export interface OpenValue extends KeyedObject {
  isObject: boolean;
  /** Number of open objects, including this one. */
  level: number;
  keys: number;
}
