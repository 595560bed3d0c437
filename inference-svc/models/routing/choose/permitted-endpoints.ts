/** Filters by the permissions of a key: only some models and providers may serve it. */
import { guardrailsFor } from "../../../turn/applied-guardrails.ts";
import { type Permissions, notPermitted } from "../../../turn/permissions.ts";
import type { Scope } from "../../../turn/scope.ts";
import type { Catalog, Endpoint } from "../catalog.ts";
import { type Filter, buildFilter } from "./filter.ts";
import { policyFilters } from "./policies.ts";

/** Filters by the permissions of the key, then by the guardrails that apply to it. */
export function callerFilters({ caller, permissions }: Pick<Scope, "caller" | "permissions">): readonly Filter[] {
  const guardrails = policyFilters(guardrailsFor(caller));
  return permissions ? [...permissionFilters(permissions), ...guardrails] : guardrails;
}

const known = new WeakMap<Permissions, readonly Filter[]>();

/** Filters for a set of permissions, built once for each set. */
function permissionFilters(permissions: Permissions): readonly Filter[] {
  let filters = known.get(permissions);
  if (filters === undefined) known.set(permissions, (filters = filtersOf(permissions)));
  return filters;
}

/** Whether the permissions allow the endpoint. */
export const isPermitted = (permissions: Permissions, { model, provider, fullSlugs }: Endpoint): boolean =>
  permissions.allows("models", model) && permissions.allowsAny("providers", [provider, ...fullSlugs]);

/**
 * The slugs of models the permissions allow. A slug of no model stays, because other checks report it.
 * @throws Fault PERMISSION_DENIED for the first slug when none is allowed
 */
export function permittedSlugs(
  catalog: Pick<Catalog, "find">,
  slugs: readonly string[],
  permissions: Permissions | undefined,
): readonly string[] {
  if (permissions === undefined) return slugs;
  const endpointsOf = (slug: string) => catalog.find(slug)?.model.endpoints ?? [];
  const left = slugs.filter((slug) => {
    const endpoints = endpointsOf(slug);
    return endpoints.length === 0 || endpoints.some((endpoint) => isPermitted(permissions, endpoint));
  });
  const [first] = slugs.flatMap(endpointsOf);
  if (left.length > 0 || first === undefined) return left;
  permissions.require("models", first.model);
  throw notPermitted("providers", first.provider);
}

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
