/** Labels for the values of a dimension. */
import { useLoad } from "../api/load.ts";
import { loadGuardrails } from "../guardrails/data.ts";
import { loadKeyNames } from "../keys/data.ts";
import type { FilterName } from "./address.ts";
import { type Dimension, tagOf } from "./dimensions.ts";
import type { Total } from "./measures.ts";

export interface ValueNames {
  readonly keys: ReadonlyMap<string, string>;
  readonly guardrails: ReadonlyMap<string, string>;
}

const unknown: ValueNames = { keys: new Map(), guardrails: new Map() };

/** Names of keys and guardrails; empty until they are loaded. */
export function useValueNames(): ValueNames {
  const names = useLoad(async () => {
    const [keys, guardrails] = await Promise.all([loadKeyNames(), loadGuardrails()]);
    return { keys, guardrails: new Map(guardrails.map(({ id, name }) => [id, name])) };
  });
  return names.data ?? unknown;
}

const absent: Readonly<Partial<Record<Dimension, string>>> = {
  key: "No key",
  model: "No model",
  provider: "No provider called",
  status: "No status",
  error: "No error",
  user: "No end user",
  guardrail: "No guardrail",
  door: "No format",
  operation: "No operation",
  task: "No task",
};

/** The label of a value: the name of a key or guardrail, or the start of its id if the name is unknown. */
export function valueName(dimension: FilterName | Dimension, value: string, { keys, guardrails }: ValueNames): string {
  if (dimension === "key") return keys.get(value) ?? value.slice(0, 12);
  return dimension === "guardrail" ? (guardrails.get(value) ?? value.slice(0, 12)) : value;
}

/** The label of a sum's value, or of its pair of values. */
export function totalName(total: Total, dimensions: readonly Dimension[], names: ValueNames): string {
  if (total.is_other) return "All others";
  return dimensions.map((dimension, n) => partName(total, dimension, n, names)).join(" · ");
}

/** The label of one of a sum's values. @param n 0 for the first dimension, 1 for the second */
export function partName(total: Total, dimension: Dimension, n: number, names: ValueNames): string {
  const [value, name] = n === 0 ? [total.value, total.name] : [total.second ?? null, total.second_name ?? null];
  return (
    name ??
    (value === null ? (absent[dimension] ?? `No ${tagOf(dimension) ?? dimension}`) : valueName(dimension, value, names))
  );
}
