/** The minimum quota of a namespace: the sum of the requests of all pods. */
import type { Resource } from "./kustomize.ts";
import { type Container, workloadsOf } from "./workloads.ts";

export interface Quota {
  /** Requested processor time, in thousandths of a processor. */
  readonly millicores: number;
  /** Requested memory in MiB. */
  readonly memory: number;
  /** Memory limit in MiB. */
  readonly memoryLimit: number;
  readonly pods: number;
}

const units: Readonly<Record<string, number>> = { m: 1e-3, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** @throws for a missing quantity, or one in an unknown notation */
function amountOf(quantity: string | undefined): number {
  const [, number, unit = ""] = /^([\d.]+)(m|Ki|Mi|Gi)?$/.exec(quantity ?? "") ?? [];
  if (number === undefined) throw new Error(`no quantity: ${quantity}`);
  return Number(number) * (units[unit] ?? 1);
}

export function quotaFor(resources: readonly Resource[]): Quota {
  const workloads = workloadsOf(resources);
  const sum = (amount: (container: Container) => number) =>
    workloads.reduce(
      (total, { replicas, containers }) =>
        total + replicas * containers.reduce((ofPod, container) => ofPod + amount(container), 0),
      0,
    );
  return {
    millicores: Math.round(sum(({ resources: { requests } }) => amountOf(requests.cpu)) * 1_000),
    memory: sum(({ resources: { requests } }) => amountOf(requests.memory)) / 2 ** 20,
    memoryLimit: sum(({ resources: { limits } }) => amountOf(limits.memory)) / 2 ** 20,
    pods: workloads.reduce((total, { replicas }) => total + replicas, 0),
  };
}
