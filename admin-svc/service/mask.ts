/** Changes over gRPC: a mask names the fields that they are about. */
import { invalid } from "@sluice/proto/runtime/validation/problems.js";

/**
 * What the named fields are set to, in one object.
 * @param values by the names that a mask may have
 * @throws Fault INVALID_REQUEST for any other name
 */
export function masked<Settings extends object>(
  mask: readonly string[],
  values: Readonly<Record<string, () => Settings>>,
): Settings {
  const named = mask.map((path) => {
    const value = Object.hasOwn(values, path) ? values[path] : undefined;
    if (!value) throw invalid("update_mask", `unknown field ${path.slice(0, 64)}`);
    return value();
  });
  return Object.assign({}, ...named) as Settings;
}
