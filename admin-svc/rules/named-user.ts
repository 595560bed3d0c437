/** End users in filters of usage, for their erasure. */

/** Whether filters name an end user: as the user, as the searched text, or as the value of a tag. @param filters pairs of name and value */
function namesUser(filters: Iterable<readonly [string, unknown]>, user: string): boolean {
  for (const [name, value] of filters) {
    if (typeof value !== "string") continue;
    if ((name === "user" || name === "q") && [value, value.trim()].includes(user)) return true;
    if (name === "tags" && value.split(",").some((pair) => tagValue(pair) === user)) return true;
  }
  return false;
}

function tagValue(pair: string): string {
  const text = pair.slice(pair.indexOf("=") + 1).trim();
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The filters in a stored state of a view or an alert rule. */
function filtersOf(state: unknown): Iterable<readonly [string, unknown]> {
  const { query, filters } = (state ?? {}) as { readonly query?: unknown; readonly filters?: object };
  return typeof query === "string" ? new URLSearchParams(query) : Object.entries(filters ?? {});
}

/** Whether a view, an alert rule, its alert or its entry in the audit log names an end user. @param states query or filters of each state */
export const isOfUser = (
  { name, states }: { readonly name: unknown; readonly states: readonly unknown[] },
  user: string,
): boolean => name === user || states.some((state) => namesUser(filtersOf(state), user));
