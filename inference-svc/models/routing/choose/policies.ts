/** Filters of guardrails for models and providers. Each filter holds on its own, so another guardrail can only exclude more. */
import type { RoutingPolicy } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type AppliedGuardrail, isAudit } from "../../../turn/applied-guardrails.ts";
import type { Stage } from "../../../turn/trace.ts";
import type { CatalogModel, Endpoint } from "../catalog.ts";
import { type Filter, type ExclusionReason, buildFilter } from "./filter.ts";
import { isNamed } from "./slugs.ts";

const known = new WeakMap<readonly AppliedGuardrail[], readonly Filter[]>();

/** The filters of these guardrails; guardrails in audit mode exclude nothing. */
export function policyFilters(applied: readonly AppliedGuardrail[]): readonly Filter[] {
  let filters = known.get(applied);
  if (filters === undefined) {
    filters = applied.filter((one) => !isAudit(one)).flatMap(filtersOfGuardrail);
    known.set(applied, filters);
  }
  return filters;
}

function filtersOfGuardrail({ guardrail: { routingPolicy: policy } }: AppliedGuardrail): readonly Filter[] {
  return policy ? [...listed(policy), ...located(policy), ...kept(policy), ...trained(policy)] : [];
}

/** A filter for what a guardrail forbids, which gives a 403 when it excludes everything. */
const forbids = (reason: ExclusionReason, refusal: string, admits: Filter["admits"]): Filter => ({
  ...buildFilter(reason, refusal, admits),
  forbids: true,
});

function listed(policy: RoutingPolicy): Filter[] {
  const { allowedModels, ignoredModels, allowedProviders, ignoredProviders } = policy;
  const model = "is not a model that a guardrail allows";
  const provider = "has no endpoint at a provider that a guardrail allows";
  const [models, noModels] = [new Set(allowedModels), new Set(ignoredModels)];
  return [
    ...(models.size > 0 ? [forbids("allowed_models", model, (endpoint) => models.has(endpoint.model))] : []),
    ...(noModels.size > 0 ? [forbids("allowed_models", model, (endpoint) => !noModels.has(endpoint.model))] : []),
    ...(allowedProviders.length > 0
      ? [forbids("allowed_providers", provider, (endpoint) => isNamed(endpoint, allowedProviders))]
      : []),
    ...(ignoredProviders.length > 0
      ? [forbids("allowed_providers", provider, (endpoint) => !isNamed(endpoint, ignoredProviders))]
      : []),
  ];
}

/** Patterns for regions as operators may write them: eu, eu-west-1, europe; us, us-east-1. */
const regions: Readonly<Record<string, RegExp>> = { global: /^/, europe: /^eu(rope)?(?![a-z])/i, us: /^us(?![a-z])/i };

function located({ allowedDataRegions }: RoutingPolicy): Filter[] {
  if (allowedDataRegions.length === 0) return [];
  const forms = allowedDataRegions.flatMap((region) => regions[region] ?? []);
  const refusal = "has no endpoint in a region that a guardrail allows";
  return [forbids("data_region", refusal, ({ region }) => forms.some((form) => form.test(region)))];
}

/** Authors of models for which guardrails have a separate field about data retention. */
const authors = { anthropic: "enforceZdrAnthropic", openai: "enforceZdrOpenai", google: "enforceZdrGoogle" } as const;
const knownAuthors: ReadonlySet<string> = new Set([...Object.keys(authors), "x-ai"]);

function kept(policy: RoutingPolicy): Filter[] {
  const { enforceZdrXai, enforceZdrOther, enforceZdrGroups } = policy;
  const groups = new Set(Object.entries(enforceZdrGroups).flatMap(([group, enforced]) => (enforced ? [group] : [])));
  for (const [author, field] of Object.entries(authors)) if (policy[field] === true) groups.add(author);
  if (enforceZdrXai === true) groups.add("x-ai");
  if (enforceZdrOther === true) groups.add("other");
  if (groups.size === 0) return [];
  const isMeant = (author: string) => groups.has(author) || (groups.has("other") && !knownAuthors.has(author));
  const refusal = "has no endpoint that keeps nothing, as a guardrail asks";
  return [
    buildFilter("data_policy:zdr", refusal, ({ keepsNothing, model }) => keepsNothing || !isMeant(authorOf(model))),
  ];
}

const authorOf = (model: string): string => model.slice(0, Math.max(0, model.indexOf("/")));

/** Filters by whether providers train on data. Without a price, it is unknown whether an endpoint is free; it counts as free and as paid. */
function trained(policy: RoutingPolicy): Filter[] {
  const paid = policy.enablePaidModelTraining === false;
  const free = policy.enableFreeModelTraining === false;
  const isMeant = (endpoint: Endpoint) => (paid && mayCost(endpoint)) || (free && mayBeFree(endpoint));
  const training = "has no endpoint that does not train, as a guardrail asks";
  const publication = "has no endpoint that does not publish, as a guardrail asks";
  return [
    ...(paid || free
      ? [buildFilter("data_policy:training", training, (endpoint) => endpoint.trainsNot || !isMeant(endpoint))]
      : []),
    ...(policy.enableFreeModelPublication === false
      ? [
          buildFilter(
            "data_policy:publication",
            publication,
            (endpoint) => endpoint.publishesNot || !mayBeFree(endpoint),
          ),
        ]
      : []),
  ];
}

const charges = ({ prices }: Endpoint): boolean | undefined =>
  prices && prices.prompt + prices.completion + prices.request + prices.image + prices.audio > 0;
const mayCost = (endpoint: Endpoint): boolean => charges(endpoint) !== false;
const mayBeFree = (endpoint: Endpoint): boolean => charges(endpoint) !== true;

/** Stages for the receipt with the endpoints guardrails in audit mode would have excluded. */
export const auditStages = (
  applied: readonly AppliedGuardrail[],
  endpoints: readonly Endpoint[],
  modelOf: (slug: string) => CatalogModel | undefined,
): Stage[] =>
  applied.filter(isAudit).flatMap((one) => {
    const counts = new Map<string, number>();
    const filters = filtersOfGuardrail(one);
    for (const endpoint of endpoints) {
      const model = modelOf(endpoint.model);
      const first = model && filters.find((each) => !each.admits(endpoint, model.settings));
      if (first) counts.set(first.reason, (counts.get(first.reason) ?? 0) + 1);
    }
    return counts.size === 0 ? [] : [auditStage(one, counts)];
  });

function auditStage({ guardrail, scope }: AppliedGuardrail, counts: ReadonlyMap<string, number>): Stage {
  const endpoints = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return {
    type: "guardrail",
    name: "routing-policy",
    guardrail_id: guardrail.id,
    guardrail_scope: scope,
    summary: `Would have excluded: ${endpoints} ${endpoints === 1 ? "endpoint" : "endpoints"}`,
    data: { action: "excluded", mode: "audit", counts: Object.fromEntries(counts) },
  };
}
