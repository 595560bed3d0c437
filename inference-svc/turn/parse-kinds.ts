/** Types of tools and items in the neutral spelling: some clients say another prefix where the contract says `service:`. */
import { isObject } from "@sluice/proto/runtime/validation/fields.js";

/** Prefixes that mean the same as `service:`. */
export type Aliases = readonly string[];

const prefix = "service:";
const oldNames: ReadonlyMap<string, string> = new Map([
  ["service:experimental__search_models", "service:search_models"],
]);

/**
 * Spells the type of a tool or item as the contract does; the object is our own, it was just parsed. A type that is not known in any spelling
 * stays, so that the answer can show it as the client wrote it.
 */
export function neutralize(value: unknown, known: ReadonlyMap<string, unknown>, aliases: Aliases): void {
  if (!isObject(value)) return;
  const { type } = value;
  if (typeof type !== "string" || known.has(type)) return;
  const alias = aliases.find((candidate) => type.startsWith(candidate));
  const spelled = alias === undefined ? type : prefix + type.slice(alias.length);
  const neutral = oldNames.get(spelled) ?? spelled;
  if (known.has(neutral)) (value as Record<string, unknown>)["type"] = neutral;
}

/** For all entries of what may be an array. */
export function neutralizeAll(values: unknown, known: ReadonlyMap<string, unknown>, aliases: Aliases): void {
  if (Array.isArray(values)) for (const value of values) neutralize(value, known, aliases);
}
