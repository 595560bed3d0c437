/** Filters by the permissions of a key: the models and providers that may serve it. */
import type { Permissions } from "../../../turn/permissions.ts";
import type { Endpoint } from "../catalog.ts";
import { type Filter, buildFilter } from "./filter.ts";

const known = new WeakMap<Permissions, readonly Filter[]>();

/** Built once for each set of permissions. */
export function permissionFilters(permissions: Permissions): readonly Filter[] {
  let filters = known.get(permissions);
  if (filters === undefined) known.set(permissions, (filters = filtersOf(permissions)));
  return filters;
}

/** Whether the permissions leave an endpoint. */
export const isPermitted = (permissions: Permissions, { model, provider, fullSlugs }: Endpoint): boolean =>
  permissions.allows("models", model) && permissions.allowsAny("providers", [provider, ...fullSlugs]);

const filtersOf = (permissions: Permissions): readonly Filter[] => [
  ...(permissions.restricts("models")
    ? [
        {
          ...buildFilter("permissions.models", "is not a model that the key may use", ({ model }) =>
            permissions.allows("models", model),
          ),
          forbids: true as const,
          refused: ({ model }: Endpoint) => ({ kind: "models" as const, value: model }),
        },
      ]
    : []),
  ...(permissions.restricts("providers")
    ? [
        {
          ...buildFilter(
            "permissions.providers",
            "has no endpoint at a provider that the key may use",
            ({ provider, fullSlugs }) => permissions.allowsAny("providers", [provider, ...fullSlugs]),
          ),
          forbids: true as const,
          refused: ({ provider }: Endpoint) => ({ kind: "providers" as const, value: provider }),
        },
      ]
    : []),
];
