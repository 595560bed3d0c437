/** The building blocks of contracts: shapes that check JSON values and print themselves as JSON Schema. */
export {
  type Accepted,
  type Components,
  type JsonSchema,
  type Shape,
  anyValue,
  checkShape,
  childPath,
} from "./shapes/base.ts";
export { boolean, constant, integer, number, string, word } from "./shapes/scalars.ts";
export { type ObjectRules, type ObjectShape, array, map, object } from "./shapes/containers.ts";
export { nullable, oneOrMore, openTagged, stringOr, tagged, unsetByNull } from "./shapes/alternatives.ts";
export { deprecated, described, printOnly, lazy, named } from "./shapes/printed.ts";
