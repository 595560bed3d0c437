/**
 * Converts an overlay for `podman kube play`. Podman knows pods, config maps and volume claims, so each workload is replaced by one pod, which the
 * others find by the workload's name. Services, network policies, accounts and budgets are left out.
 */
import { freePorts } from "../../support/runner/free-ports.ts";
import type { Resource } from "../kubernetes/kustomize.ts";

/** Values of secrets, by the name of the secret and of its key. */
export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface Pods {
  readonly documents: readonly object[];
  /** Names of the jobs, which are finished once they have succeeded. */
  readonly jobs: readonly string[];
  /** Local port that leads to a port of a pod. */
  port(pod: string, name: string): number;
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

interface Port {
  readonly name: string;
  readonly containerPort: number;
}

interface Container {
  readonly env?: readonly Variable[];
  readonly ports?: readonly Port[];
  readonly [field: string]: unknown;
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes?: readonly object[];
  readonly [field: string]: unknown;
}

interface Claim {
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

interface MakerSpec {
  readonly template?: { readonly metadata: object; readonly spec: PodSpec };
  readonly volumeClaimTemplates?: readonly Claim[];
}

export async function podsOf(resources: readonly Resource[], secrets: Secrets): Promise<Pods> {
  const published = new Map<string, number>();
  const makers = resources.filter((resource) => specOf(resource).template !== undefined);
  for (const { name, port } of makers.flatMap(portsOf)) {
    published.set(`${name} ${port.name}`, (await freePorts(1))[0] as number);
  }
  const port = (pod: string, name: string) => published.get(`${pod} ${name}`) as number;
  return {
    documents: [
      ...resources.filter(({ kind }) => kind === "ConfigMap"),
      ...makers.flatMap(claimsOf),
      ...makers.map((maker) => podOf(maker, secrets, port)),
    ],
    jobs: makers.filter(isJob).map(({ metadata }) => metadata.name),
    port,
  };
}

const specOf = (resource: Resource): MakerSpec => resource["spec"] ?? {};
const templateOf = (maker: Resource) => specOf(maker).template as NonNullable<MakerSpec["template"]>;
const isJob = ({ kind }: Resource): boolean => kind === "Job";

const portsOf = (maker: Resource) =>
  templateOf(maker).spec.containers.flatMap(({ ports = [] }) =>
    ports.map((port) => ({ name: maker.metadata.name, port })),
  );

const claimName = (maker: Resource, claim: Claim): string => `${claim.metadata.name}-${maker.metadata.name}`;

const claimsOf = (maker: Resource): object[] =>
  (specOf(maker).volumeClaimTemplates ?? []).map((claim) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: claimName(maker, claim) },
    spec: claim.spec,
  }));

function podOf(maker: Resource, secrets: Secrets, port: Pods["port"]): object {
  const { metadata, spec } = templateOf(maker);
  const { name } = maker.metadata;
  const claimed = (specOf(maker).volumeClaimTemplates ?? []).map((claim) => ({
    name: claim.metadata.name,
    persistentVolumeClaim: { claimName: claimName(maker, claim) },
  }));
  const containers = spec.containers.map((container) => containerOf(container, secrets, (own) => port(name, own)));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name },
    spec: {
      ...spec,
      containers,
      volumes: [...(spec.volumes ?? []), ...claimed],
      // A failed job's container is restarted, as a cluster would create another pod for the job.
      ...(isJob(maker) && { restartPolicy: "OnFailure" }),
    },
  };
}

/**
 * A container with the values of secrets as plain variables, since versions of podman store secrets in different ways. Probes are left out: podman
 * probes with curl, which the images lack, and restarts containers that do not respond.
 */
function containerOf(container: Container, secrets: Secrets, port: (name: string) => number): object {
  const { startupProbe: _, readinessProbe: __, livenessProbe: ___, ...kept } = container;
  return {
    ...kept,
    imagePullPolicy: "Never",
    env: (container.env ?? []).flatMap(({ name, value, valueFrom }) => {
      const given = valueFrom ? secrets[valueFrom.secretKeyRef.name]?.[valueFrom.secretKeyRef.key] : value;
      return given === undefined ? [] : { name, value: given };
    }),
    ports: (container.ports ?? []).map((own) => ({ ...own, hostIP: "127.0.0.1", hostPort: port(own.name) })),
  };
}
