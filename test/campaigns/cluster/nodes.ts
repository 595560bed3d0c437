/**
 * Two simulated nodes without a container runtime: each pod is bound to one of them and reported as running, a pod of a job as done. This is enough
 * for controllers, disruption budgets and helm.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { ControlPlane } from "./control-plane.ts";

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly { readonly kind: string }[];
  };
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { name: string; image: string }[] };
  readonly status: {
    readonly phase: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const names = ["node-a", "node-b"];
const isJob = ({ metadata }: Pod): boolean => metadata.ownerReferences?.[0]?.kind === "Job";
export const isPodReady = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status.conditions ?? []).some(({ type, status: holds }) => type === "Ready" && holds === "True");

const pathOf = ({ metadata }: Pod): string => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;

export class Nodes {
  /** Whether started pods become ready. */
  makesReady = true;
  /** Whether pods of jobs succeed. */
  succeeds = true;
  readonly #plane: ControlPlane;
  #watch: { readonly namespace: string; readonly fewest: Map<string, number> } | undefined;
  #isStopped = false;
  #done: Promise<void> = Promise.resolve();

  private constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  static async start(plane: ControlPlane): Promise<Nodes> {
    for (const name of names) {
      await plane.send("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
    }
    const nodes = new Nodes(plane);
    nodes.#done = nodes.#run();
    return nodes;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const { items } = await this.#plane.get<{ items: Pod[] }>("/api/v1/pods");
      this.#count(items);
      await Promise.all(items.map((pod, index) => this.#step(pod, names[index % names.length] as string)));
      await delay(100);
    }
  }

  /** @returns the lowest number of ready pods of each service, seen during some work in a namespace */
  async countFewest(
    namespace: string,
    services: readonly string[],
    happens: () => Promise<void>,
  ): Promise<Record<string, number>> {
    const fewest = new Map(services.map((service) => [service, Number.POSITIVE_INFINITY]));
    this.#watch = { namespace, fewest };
    await happens();
    this.#watch = undefined;
    return Object.fromEntries(fewest);
  }

  #count(pods: readonly Pod[]): void {
    const { namespace, fewest } = this.#watch ?? { fewest: new Map<string, number>() };
    const ready = pods.filter((pod) => pod.metadata.namespace === namespace && isPodReady(pod));
    for (const [service, before] of fewest) {
      const now = ready.filter(({ metadata }) => metadata.labels?.["app.kubernetes.io/name"] === service).length;
      fewest.set(service, Math.min(before, now));
    }
  }

  /** Takes the next step in the life of a pod. A change meanwhile is seen at the next step. */
  async #step(pod: Pod, node: string): Promise<void> {
    const path = pathOf(pod);
    if (pod.metadata.deletionTimestamp !== undefined) await this.#plane.send("DELETE", `${path}?gracePeriodSeconds=0`);
    else if (pod.spec.nodeName === undefined) await this.#bind(pod, node);
    else if (["Succeeded", "Failed"].includes(pod.status.phase)) return;
    else if (isJob(pod)) await this.#patch(path, { phase: this.succeeds ? "Succeeded" : "Failed" });
    else if (!isPodReady(pod) && (this.makesReady || pod.status.phase !== "Running"))
      await this.#patch(path, runningStatus(pod, this.makesReady));
  }

  async #bind(pod: Pod, node: string): Promise<void> {
    const target = { apiVersion: "v1", kind: "Node", name: node };
    const body = { apiVersion: "v1", kind: "Binding", metadata: { name: pod.metadata.name }, target };
    await this.#plane.send("POST", `${pathOf(pod)}/binding`, body);
  }

  async #patch(path: string, status: object): Promise<void> {
    await this.#plane.send("PATCH", `${path}/status`, { status });
  }
}

function runningStatus({ spec }: Pod, ready: boolean): object {
  const since = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const status = ready ? "True" : "False";
  return {
    phase: "Running",
    startTime: since,
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }],
    conditions: ["Ready", "ContainersReady", "Initialized", "PodScheduled"].map((type) => ({
      type,
      status: type.endsWith("Ready") ? status : "True",
      lastTransitionTime: since,
    })),
    containerStatuses: spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: image,
      ready,
      restartCount: 0,
      state: { running: { startedAt: since } },
    })),
  };
}
