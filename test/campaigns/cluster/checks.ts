/** The checks of the campaign, each in a namespace of its own. */
import { strict as assert } from "node:assert";
import { mkdtempSync } from "node:fs";
import { join, relative } from "node:path";
import { type Helm, chart, runTemplate } from "../../deploy/helm/helm.ts";
import { render } from "../../deploy/kubernetes/kustomize.ts";
import { manifests } from "../../deploy/kubernetes/overlays.ts";
import { quotaFor } from "../../deploy/kubernetes/quota.ts";
import { type FinishedProcess, eventually } from "../../support/processes.ts";
import type { ControlPlane } from "./control-plane.ts";
import { Namespace, type WorkloadName, workloadNames } from "./namespaces.ts";
import type { Nodes } from "./nodes.ts";

export interface Cluster {
  readonly plane: ControlPlane;
  readonly nodes: Nodes;
}

/** @throws AssertionError with the output of a failed program, or of one with a warning */
export const assertNoWarning = ({ code, stderr }: FinishedProcess): void =>
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });

async function applyOverlay(namespace: Namespace, { plane }: Cluster, overlay: string): Promise<void> {
  const folder = mkdtempSync(join(plane.folder, "overlay-"));
  namespace.overlayOn(folder, relative(folder, join(manifests, overlay)));
  assertNoWarning(await namespace.apply(["--kustomize", folder]));
}

const production = ["--values", join(chart, "values-production.yaml")];
/** All options of the chart, except for custom resources, which only some clusters know. */
const everything = [
  ...["redis", "tracing", "sandbox", "sinks", "cloudMetadata", "grafanaDashboard", "ingress"].map(
    (name) => `${name}.enabled=true`,
  ),
  "ingress.hosts[0]=sluice.example.com",
  "serviceIdentity=tokenFile",
  "gateway.autoscaling.cpuPercent=70",
  "gateway.service.type=LoadBalancer",
  "image.pullSecrets[0].name=registry",
].flatMap((setting) => ["--set", setting]);

/** Checks that an overlay is applied without a warning, and runs. */
export async function checkOverlay(cluster: Cluster, overlay: string, replicas: number): Promise<void> {
  const namespace = await Namespace.create(cluster.plane, `overlay-${overlay.replace("overlays/", "")}`);
  await applyOverlay(namespace, cluster, overlay);
  // Without a measurement, an autoscaler sets a service to its minimum, a number that no other manifest contains.
  await eventually(async () => (await namespace.workload("gateway")).spec.replicas === replicas);
  for (const service of workloadNames) await namespace.settle(service);
  assert.deepEqual(await namespace.warnings(), []);
}

/** Checks that the output of `helm template` with every option is accepted, too. */
export async function checkTemplate({ plane }: Cluster, helm: Helm): Promise<void> {
  const namespace = await Namespace.create(plane, `template-${helm.major}`);
  const made = await runTemplate(helm.program, [...production, ...everything, "--namespace", namespace.name]);
  assertNoWarning(made);
  assertNoWarning(await namespace.applyObjects("template.yaml", made.stdout));
  for (const service of workloadNames) await namespace.settle(service);
  assert.deepEqual(await namespace.warnings(), []);
}

/** Checks that a quota equal to the sum of the pods' requests is enough, and refuses further pods. */
export async function checkQuota(cluster: Cluster): Promise<void> {
  const namespace = await Namespace.create(cluster.plane, "quota");
  const { millicores, memory, memoryLimit, pods } = quotaFor(render(join(manifests, "base")));
  const hard = {
    "requests.cpu": `${millicores}m`,
    "requests.memory": `${memory}Mi`,
    "limits.memory": `${memoryLimit}Mi`,
    pods: `${pods}`,
  };
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "quota" }, spec: { hard } };
  await cluster.plane.send("POST", `/api/v1/namespaces/${namespace.name}/resourcequotas`, quota);
  await applyOverlay(namespace, cluster, "base");
  for (const service of workloadNames) await namespace.settle(service);
  assert.deepEqual(await namespace.warnings(), []);
  await namespace.scale("gateway", 20);
  await eventually(async () => (await namespace.warnings()).some((warning) => /exceeded quota: quota/.test(warning)));
}

/** Checks that the pods of a service are evicted one at a time: the next only when the successor of the last is ready. */
export async function checkEviction(cluster: Cluster): Promise<void> {
  const namespace = await Namespace.create(cluster.plane, "eviction");
  await applyOverlay(namespace, cluster, "base");
  for (const service of workloadNames) {
    await namespace.settle(service);
    await evictsOne(namespace, service, cluster.nodes);
  }
}

async function evictsOne(namespace: Namespace, service: WorkloadName, nodes: Nodes): Promise<void> {
  const [first, second] = await namespace.pods(service);
  assert(first && second, `${service} has two pods`);
  nodes.makesReady = false;
  try {
    // The controller of disruption budgets counts a pod some time after it is ready.
    await eventually(async () => (await namespace.evict(first)) === 201);
    assert.equal(await namespace.evict(second), 429, `${service}: a second pod was evicted`);
  } finally {
    nodes.makesReady = true;
  }
  await eventually(async () => (await namespace.evict(second)) === 201);
  await namespace.settle(service);
}

/** Checks that helm takes over objects applied by kubectl, without a restart of any process. */
export async function checkHelmTakeover(cluster: Cluster, helm: Helm): Promise<void> {
  const namespace = await Namespace.create(cluster.plane, `takeover-${helm.major}`);
  await applyOverlay(namespace, cluster, "overlays/production");
  for (const service of workloadNames) await namespace.settle(service);
  const before = await Promise.all(
    workloadNames.map(async (service) => (await namespace.pods(service)).map(uidOf).toSorted()),
  );
  await cluster.plane.kubectl("--namespace", namespace.name, "delete", "job", "schema", "bootstrap");
  // Helm 4 lets the API server merge, and the server takes a list without its defaults for a different one than kubectl has applied.
  const takes = ["--take-ownership", ...(helm.major < 4 ? [] : ["--force-conflicts"])];
  assertNoWarning(await namespace.upgrade(helm, ...production, ...takes, "--wait", "--timeout", "120s"));
  const after = await Promise.all(
    workloadNames.map(async (service) => (await namespace.pods(service)).map(uidOf).toSorted()),
  );
  assert.deepEqual(after, before);
}

const uidOf = ({ metadata }: { readonly metadata: { readonly uid: string } }): string => metadata.uid;
