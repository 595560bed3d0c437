/** Reads the resources that have pods, with the parts that the rules check. */
import type { Resource } from "./kustomize.ts";

export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface Reference {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: Reference; readonly configMapKeyRef?: Reference };
}

export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: number | string };
  readonly tcpSocket?: { readonly port: number | string };
}

/** Amounts in the notation of Kubernetes. */
interface Amounts {
  readonly cpu?: string;
  readonly memory?: string;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly Variable[];
  readonly envFrom?: readonly { readonly secretRef: { readonly name: string; readonly optional?: boolean } }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources: { readonly requests: Amounts; readonly limits: Amounts };
}

export interface Workload {
  readonly kind: string;
  readonly name: string;
  readonly replicas: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly selector?: Selector;
  readonly serviceName?: string;
  readonly account?: string;
  readonly graceSeconds: number;
  readonly spread: readonly Selector[];
  readonly containers: readonly Container[];
  readonly volumes: readonly {
    readonly name: string;
    readonly configMap?: { name: string };
    readonly secret?: { secretName: string; items?: readonly { key: string; path: string }[] };
  }[];
}

interface Spec {
  readonly replicas?: number;
  readonly selector?: Selector;
  readonly serviceName?: string;
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  readonly template?: {
    readonly metadata?: { readonly labels?: Record<string, string> };
    readonly spec?: {
      readonly serviceAccountName?: string;
      readonly terminationGracePeriodSeconds?: number;
      readonly topologySpreadConstraints?: readonly { readonly labelSelector: Selector }[];
      readonly containers?: readonly Container[];
      readonly volumes?: Workload["volumes"];
    };
  };
}

/** Default grace period of Kubernetes in seconds. */
const graceOfKubernetes = 30;

export function workloadsOf(resources: readonly Resource[]): Workload[] {
  return resources.flatMap(({ kind, metadata, ...fields }) => {
    const { replicas = 1, template, selector, serviceName, volumeClaimTemplates = [] } = (fields["spec"] ?? {}) as Spec;
    const pod = template?.spec;
    if (!pod) return [];
    return {
      kind,
      name: metadata.name,
      replicas,
      labels: template.metadata?.labels ?? {},
      ...(selector && { selector }),
      ...(serviceName !== undefined && { serviceName }),
      ...(pod.serviceAccountName !== undefined && { account: pod.serviceAccountName }),
      graceSeconds: pod.terminationGracePeriodSeconds ?? graceOfKubernetes,
      spread: (pod.topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector),
      containers: pod.containers ?? [],
      volumes: [...(pod.volumes ?? []), ...volumeClaimTemplates.map((claim) => ({ name: claim.metadata.name }))],
    };
  });
}

/** Whether a workload runs until it is stopped, unlike a job. */
export const isLongRunning = ({ kind }: Workload): boolean => kind !== "Job";

export function matchesLabels(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Workload["labels"],
): boolean {
  const named = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    named &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const has = Object.hasOwn(labels, key);
      if (operator === "Exists") return has;
      if (operator === "DoesNotExist") return !has;
      const listed = has && values.includes(labels[key] as string);
      return operator === "In" ? listed : !listed;
    })
  );
}

/** Whether a container of the workload listens on the port. */
export const listensOn = ({ containers }: Workload, port: number | string): boolean =>
  containers.some(({ ports = [] }) => ports.some(({ name, containerPort }) => name === port || containerPort === port));
