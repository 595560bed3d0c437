/** Checks that every resource named in a manifest exists. */
import type { Resource } from "./kustomize.ts";
import {
  type Reference,
  type Selector,
  type Workload,
  listensOn,
  matchesLabels,
  isLongRunning,
  workloadsOf,
} from "./workloads.ts";

/** Secrets that an operator creates by the installation page: the keys of each, by its name. */
export type OperatorSecrets = ReadonlyMap<string, ReadonlySet<string>>;

export function danglingReferences(resources: readonly Resource[], secrets: OperatorSecrets): string[] {
  const workloads = workloadsOf(resources);
  const manifests = { resources, secrets, workloads };
  return [
    ...workloads.flatMap((workload) =>
      ofWorkload(workload, manifests).map((problem) => `${workload.name}: ${problem}`),
    ),
    ...resources.flatMap((resource) =>
      ofResource(resource, manifests).map((problem) => `${resource.kind} ${resource.metadata.name}: ${problem}`),
    ),
  ];
}

interface Manifests {
  readonly resources: readonly Resource[];
  readonly secrets: OperatorSecrets;
  readonly workloads: readonly Workload[];
}

const find = ({ resources }: Manifests, kind: string, name: string): Resource | undefined =>
  resources.find((resource) => resource.kind === kind && resource.metadata.name === name);

function ofWorkload(workload: Workload, manifests: Manifests): string[] {
  const { account, selector, serviceName, spread, labels } = workload;
  const problems: string[] = [];
  if (account !== undefined && !find(manifests, "ServiceAccount", account))
    problems.push(`no service account ${account}`);
  for (const own of [...(selector ? [selector] : []), ...spread]) {
    if (!matchesLabels(own, labels)) problems.push(`a selector that its own pods do not match: ${JSON.stringify(own)}`);
  }
  const service = serviceName === undefined ? undefined : find(manifests, "Service", serviceName);
  if (serviceName !== undefined && !service) problems.push(`no service ${serviceName}`);
  return [...problems, ...ofVolumes(workload, manifests), ...ofVariables(workload, manifests)];
}

function ofVolumes({ volumes, containers }: Workload, manifests: Manifests): string[] {
  const mounted = new Set(containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  const missing = [...mounted].filter((name) => !volumes.some((volume) => volume.name === name));
  const sources = volumes.flatMap(({ configMap, secret }) => [
    ...(configMap && !find(manifests, "ConfigMap", configMap.name) ? [`no config map ${configMap.name}`] : []),
    ...(secret && !isThere(secret.secretName, manifests) ? [`no secret ${secret.secretName}`] : []),
    ...(secret?.items ?? [])
      .filter(({ key }) => manifests.secrets.get(secret?.secretName ?? "")?.has(key) !== true)
      .map(({ key }) => `no secret ${secret?.secretName} with the key ${key}`),
  ]);
  const unused = volumes.filter(({ name }) => !mounted.has(name)).map(({ name }) => `nobody mounts volume ${name}`);
  return [...missing.map((name) => `no volume ${name}`), ...sources, ...unused];
}

/** Whether a Secret exists: the operator creates it, or cert-manager does so for a Certificate. */
const isThere = (secret: string, { secrets, resources }: Manifests): boolean =>
  secrets.has(secret) ||
  resources.some(({ kind, spec }) => kind === "Certificate" && (spec as { secretName: string }).secretName === secret);

function ofVariables({ containers }: Workload, { secrets, ...manifests }: Manifests): string[] {
  return containers.flatMap(({ env = [], envFrom = [] }) => [
    ...env.flatMap(({ name, valueFrom }) => {
      const secret = valueFrom?.secretKeyRef;
      const map = valueFrom?.configMapKeyRef;
      const isSet = secret?.optional === true || secrets.get(secret?.name ?? "")?.has(secret?.key ?? "");
      if (secret && isSet !== true) return `${name}: ${missing("secret", secret)}`;
      const data = map && (find({ ...manifests, secrets }, "ConfigMap", map.name)?.["data"] as object | undefined);
      return map && !(data && map.key in data) ? `${name}: ${missing("config map", map)}` : [];
    }),
    ...envFrom.flatMap(({ secretRef }) => (secrets.has(secretRef.name) ? [] : `no secret ${secretRef.name}`)),
  ]);
}

const missing = (what: string, { name, key }: Reference): string => `no ${what} ${name} with the key ${key}`;

function ofResource({ kind, spec }: Resource, manifests: Manifests): string[] {
  if (kind === "Certificate") {
    const { name } = (spec as { issuerRef: { name: string } }).issuerRef;
    return find(manifests, "Issuer", name) ? [] : [`no issuer ${name}`];
  }
  if (kind === "Issuer") {
    const secret = (spec as { ca?: { secretName: string } }).ca?.secretName;
    return secret === undefined || isThere(secret, manifests) ? [] : [`no secret ${secret}`];
  }
  if (kind === "Service") return ofService(spec as ServiceSpec, manifests);
  if (kind === "PodDisruptionBudget") return ofBudget((spec as { selector: Selector }).selector, manifests);
  if (kind === "NetworkPolicy") return ofPolicy(spec as PolicySpec, manifests);
  if (kind !== "HorizontalPodAutoscaler") return [];
  const { scaleTargetRef: target } = spec as { scaleTargetRef: { kind: string; name: string } };
  return find(manifests, target.kind, target.name) ? [] : [`no ${target.kind} ${target.name}`];
}

interface ServiceSpec {
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly { readonly targetPort: number | string }[];
}

function ofService({ selector, ports }: ServiceSpec, { workloads }: Manifests): string[] {
  const behind = workloads.filter(({ labels }) => matchesLabels({ matchLabels: selector }, labels));
  if (behind.length === 0) return [`nothing matches ${JSON.stringify(selector)}`];
  return ports
    .filter(({ targetPort }) => !behind.every((workload) => listensOn(workload, targetPort)))
    .map(({ targetPort }) => `no port ${targetPort}`);
}

const ofBudget = (selector: Selector, { workloads }: Manifests): string[] =>
  workloads.some((workload) => isLongRunning(workload) && matchesLabels(selector, workload.labels))
    ? []
    : [`nothing matches ${JSON.stringify(selector)}`];

interface Rule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports: readonly { readonly port: number | string }[];
}

interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
}

interface PolicySpec {
  readonly podSelector: Selector;
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
}

/** Checks that the selectors of a network policy match; selectors of other namespaces cannot be checked here. */
function ofPolicy({ podSelector, ingress = [], egress = [] }: PolicySpec, { workloads }: Manifests): string[] {
  const problems: string[] = [];
  const select = (selector: Selector): Workload[] => {
    const found = workloads.filter(({ labels }) => matchesLabels(selector, labels));
    if (found.length === 0) problems.push(`nothing matches ${JSON.stringify(selector)}`);
    return found;
  };
  const local = (peers: readonly Peer[] = []) =>
    peers.flatMap((peer) => (peer.podSelector && !peer.namespaceSelector ? select(peer.podSelector) : []));
  const requirePorts = (targets: readonly Workload[], { ports }: Rule) => {
    for (const { port } of ports) {
      if (!targets.every((target) => listensOn(target, port))) problems.push(`no port ${port}`);
    }
  };
  const own = select(podSelector);
  for (const rule of ingress) {
    local(rule.from);
    requirePorts(own, rule);
  }
  for (const rule of egress) requirePorts(local(rule.to), rule);
  return problems;
}
