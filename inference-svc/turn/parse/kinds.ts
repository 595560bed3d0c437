/** Converts types of tools and items to the neutral spelling: some clients use another prefix instead of `service:`. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";

/** Prefixes that mean the same as `service:`. */
export type Aliases = readonly string[];

const prefix = "service:";
const oldNames: ReadonlyMap<string, string> = new Map([
  ["service:experimental__search_models", "service:search_models"],
]);

/**
 * Replaces an alias in the type of a tool or item by `service:`, in place. A type that is unknown in every spelling
 * stays, so the error shows it as the client wrote it.
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

/** Converts every entry of a list; the value may be of any type. */
export function neutralizeAll(values: unknown, known: ReadonlyMap<string, unknown>, aliases: Aliases): void {
  if (Array.isArray(values)) for (const value of values) neutralize(value, known, aliases);
}
