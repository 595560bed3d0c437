/** A namespace of the cluster, with the calls that checks make in it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { type Helm, chart } from "../../deploy/helm/helm.ts";
import { type FinishedProcess, eventually } from "../../support/processes.ts";
import type { ControlPlane } from "./control-plane.ts";
import { type Pod, isPodReady } from "./nodes.ts";

export const workloadNames = ["gateway", "inference-svc", "admin-svc"] as const;
export type WorkloadName = (typeof workloadNames)[number];
const kinds = { gateway: "deployments", "inference-svc": "statefulsets", "admin-svc": "deployments" } as const;

export interface LiveWorkload {
  readonly metadata: { readonly generation: number; readonly uid: string; readonly creationTimestamp: string };
  readonly spec: { readonly replicas: number; readonly template: { spec: { containers: [{ image: string }] } } };
}

export interface Job {
  readonly metadata: { readonly uid: string };
  readonly status: { readonly completionTime?: string };
}

export class Namespace {
  readonly name: string;
  readonly #plane: ControlPlane;

  private constructor(plane: ControlPlane, name: string) {
    this.#plane = plane;
    this.name = name;
  }

  /** Creates a namespace that refuses pods below the restricted Pod Security Standard, and warns of them. */
  static async create(plane: ControlPlane, name: string): Promise<Namespace> {
    const modes = ["enforce", "warn", "audit"].map((mode) => [`pod-security.kubernetes.io/${mode}`, "restricted"]);
    const metadata = { name, labels: Object.fromEntries(modes) as Record<string, string> };
    await plane.send("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
    // A controller creates the account that the jobs use after the namespace itself.
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await eventually(async () => (await plane.send("GET", account)).status === 200);
    return new Namespace(plane, name);
  }

  /** Applies objects or an overlay like a deployment pipeline: the API server owns their fields, and each warning counts as a failure. */
  apply(args: readonly string[]): Promise<FinishedProcess> {
    return this.#plane.kubectl("--namespace", this.name, "apply", "--server-side", ...args);
  }

  applyObjects(name: string, objects: string): Promise<FinishedProcess> {
    const file = join(this.#plane.folder, name);
    writeFileSync(file, objects);
    return this.apply(["--filename", file]);
  }

  /** Creates an overlay on one of the project's, in this namespace. @returns its folder */
  overlayOn(folder: string, base: string): string {
    writeFileSync(join(folder, "kustomization.yaml"), stringify({ namespace: this.name, resources: [base] }));
    return folder;
  }

  scale(service: WorkloadName, replicas: number): Promise<FinishedProcess> {
    return this.#plane.kubectl(
      "--namespace",
      this.name,
      "scale",
      `${kinds[service]}/${service}`,
      `--replicas=${replicas}`,
    );
  }

  /** Runs one of the versions of helm on this namespace. */
  helm({ program }: Helm, ...args: readonly string[]): Promise<FinishedProcess> {
    return this.#plane.helm(program, ...args, "--namespace", this.name);
  }

  upgrade(helm: Helm, ...args: readonly string[]): Promise<FinishedProcess> {
    return this.helm(helm, "upgrade", "--install", "sluice", chart, ...args);
  }

  workload(service: WorkloadName): Promise<LiveWorkload> {
    return this.#plane.get(`/apis/apps/v1/namespaces/${this.name}/${kinds[service]}/${service}`);
  }

  job(name: "schema" | "bootstrap"): Promise<Job> {
    return this.#plane.get(`/apis/batch/v1/namespaces/${this.name}/jobs/${name}`);
  }

  async pods(service?: WorkloadName): Promise<Pod[]> {
    const selector = service === undefined ? "" : `?labelSelector=app.kubernetes.io/name=${service}`;
    const { items } = await this.#plane.get<{ items: Pod[] }>(`/api/v1/namespaces/${this.name}/pods${selector}`);
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Waits until the service has exactly its desired number of ready pods, all with the same image. */
  async settle(service: WorkloadName, limitMs = 120_000): Promise<void> {
    await eventually(async () => {
      const { spec } = await this.workload(service);
      const pods = await this.pods(service);
      const { image } = spec.template.spec.containers[0];
      const good = pods.filter((pod) => isPodReady(pod) && pod.spec.containers[0]?.image === image);
      return good.length === spec.replicas && pods.length === spec.replicas;
    }, limitMs);
  }

  /** @returns the status: 201, or 429 if a disruption budget forbids the eviction for now */
  async evict(pod: Pod): Promise<number> {
    const { name, namespace } = pod.metadata;
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
    return (await this.#plane.send("POST", `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, body)).status;
  }

  /** Reasons and texts of warning events, except those of autoscalers, since nothing measures pods here. */
  async warnings(): Promise<string[]> {
    interface Event {
      readonly type: string;
      readonly reason: string;
      readonly message: string;
      readonly involvedObject: { readonly kind: string; readonly name: string };
    }
    const { items } = await this.#plane.get<{ items: Event[] }>(`/api/v1/namespaces/${this.name}/events`);
    return items
      .filter(({ type, involvedObject }) => type === "Warning" && involvedObject.kind !== "HorizontalPodAutoscaler")
      .map(({ reason, message, involvedObject }) => `${involvedObject.name}: ${reason}: ${message}`);
  }
}
