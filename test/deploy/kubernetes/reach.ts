/** Checks that each workload can reach every address in its variables: traffic without a network policy is denied. */
import type { Resource } from "./kustomize.ts";
import { type Selector, type Variable, matchesLabels, workloadsOf } from "./workloads.ts";

/** Default ports of addresses that are in secrets, and so unknown here. */
const usualPorts: Readonly<Record<string, number>> = { REDIS_URL: 6379, DATABASE_URL: 5432, DATABASE_READ_URL: 5432 };

function portsOf({ name, value, valueFrom }: Variable): number[] {
  const usual = usualPorts[name];
  if (valueFrom) return usual === undefined ? [] : [usual];
  if (/_ADDRESS(ES)?$/.test(name)) return (value ?? "").split(",").map((address) => Number(address.split(":")[1]));
  if (!/_(URL|ENDPOINT)$/.test(name) || !URL.canParse(value ?? "")) return [];
  const { port, protocol } = new URL(value ?? "");
  return [Number(port) || (protocol === "https:" ? 443 : (usual ?? 80))];
}

interface PolicySpec {
  readonly podSelector: Selector;
  readonly egress?: readonly { readonly ports: readonly { readonly port: number | string }[] }[];
}

export function reachProblems(resources: readonly Resource[]): string[] {
  const policies = resources.filter(({ kind }) => kind === "NetworkPolicy").map(({ spec }) => spec as PolicySpec);
  return workloadsOf(resources).flatMap(({ name, labels, containers }) => {
    const allowed = policies
      .filter(({ podSelector }) => matchesLabels(podSelector, labels))
      .flatMap(({ egress = [] }) => egress.flatMap(({ ports }) => ports.map(({ port }) => port)));
    return containers
      .flatMap(({ env = [] }) => env)
      .flatMap((variable) =>
        portsOf(variable)
          .filter((port) => !allowed.includes(port))
          .map((port) => `${name}: ${variable.name}: no network policy lets it reach port ${port}`),
      );
  });
}
