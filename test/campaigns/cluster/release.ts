/** Checks the whole life of an installation by helm. */
import { strict as assert } from "node:assert";
import type { Helm } from "../../deploy/helm/helm.ts";
import { eventually } from "../../support/processes.ts";
import { type Cluster, assertNoWarning } from "./checks.ts";
import { Namespace, workloadNames } from "./namespaces.ts";
import type { Nodes } from "./nodes.ts";

const wait = ["--wait", "--timeout", "300s"];
const scaled = ["--set", "image.tag=0.2.0,gateway.autoscaling.enabled=true"];

/** Checks an installation, another version, autoscaling, a failing migration, a rollback, one more version, and the removal. */
export async function checkHelmUpgrades(
  { plane, nodes }: Cluster,
  helm: Helm,
  progress: (line: string) => void,
): Promise<void> {
  const namespace = await Namespace.create(plane, `helm-${helm.major}`);
  await installs(namespace, helm);
  await changesVersion(namespace, helm, nodes, progress);
  await leavesScaleAlone(namespace, helm, nodes);
  const warnings = await namespace.warnings();
  const expected = warnings.filter((warning) => warning.startsWith("schema:"));
  assert.deepEqual(warnings, expected);
  await uninstalls(namespace, helm);
}

async function installs(namespace: Namespace, helm: Helm): Promise<void> {
  const installed = await namespace.upgrade(helm, ...wait);
  assertNoWarning(installed);
  assert.match(installed.stdout, /kubectl -n helm-\d rollout status deployment\/gateway/);
  const { creationTimestamp } = (await namespace.workload("admin-svc")).metadata;
  for (const name of ["schema", "bootstrap"] as const) {
    const { completionTime = "never" } = (await namespace.job(name)).status;
    assert(
      completionTime <= creationTimestamp,
      `${name} was done ${completionTime}, admin-svc made ${creationTimestamp}`,
    );
  }
}

/** Checks a change of version: the jobs run again, no Deployment falls below its number of ready pods, and the StatefulSet by one at most. */
async function changesVersion(
  namespace: Namespace,
  helm: Helm,
  nodes: Nodes,
  progress: (line: string) => void,
): Promise<void> {
  const before = await namespace.job("schema");
  const fewest = await nodes.countFewest(namespace.name, workloadNames, async () => {
    assertNoWarning(await namespace.upgrade(helm, ...wait, "--set", "image.tag=0.2.0"));
    for (const service of workloadNames) await namespace.settle(service, 300_000);
  });
  progress(`fewest ready pods of two while the version changed: ${JSON.stringify(fewest)}`);
  assert.deepEqual(fewest, { gateway: 2, "inference-svc": 1, "admin-svc": 2 });
  const { uid } = (await namespace.job("schema")).metadata;
  assert.notEqual(uid, before.metadata.uid, "the schema job did not run anew");
}

/** Checks that upgrades and rollbacks leave the number of replicas to an autoscaler. */
async function leavesScaleAlone(namespace: Namespace, helm: Helm, nodes: Nodes): Promise<void> {
  assertNoWarning(await namespace.upgrade(helm, ...wait, ...scaled));
  await eventually(async () => (await namespace.workload("gateway")).spec.replicas === 3);
  await namespace.scale("gateway", 5);
  await namespace.settle("gateway");
  const fewest = await nodes.countFewest(namespace.name, ["gateway"], async () => {
    await failedJobStops(namespace, helm, nodes);
    assertNoWarning(await namespace.helm(helm, "rollback", "sluice", "3", ...wait));
    assertNoWarning(await namespace.upgrade(helm, ...wait, ...scaled, "--set", "image.tag=0.4.0"));
    await namespace.settle("gateway");
  });
  assert.deepEqual(fewest, { gateway: 5 });
}

/** Checks that no process of a version starts after its migration has failed. */
async function failedJobStops(namespace: Namespace, helm: Helm, nodes: Nodes): Promise<void> {
  nodes.succeeds = false;
  const { code, stderr } = await namespace.upgrade(helm, ...scaled, "--set", "image.tag=0.3.0", "--timeout", "10s");
  nodes.succeeds = true;
  assert.equal(code, 1);
  assert.match(stderr, /pre-upgrade hooks failed/);
  for (const service of workloadNames) {
    const { spec } = await namespace.workload(service);
    assert.match(spec.template.spec.containers[0].image, /:0\.2\.0$/);
  }
}

async function uninstalls(namespace: Namespace, helm: Helm): Promise<void> {
  assert.equal((await namespace.helm(helm, "uninstall", "sluice", "--wait")).code, 0);
  await eventually(async () =>
    (await namespace.pods()).every(({ metadata }) => metadata.ownerReferences?.[0]?.kind === "Job"),
  );
}

/** Checks that a release installed by one version of helm can be continued by another. */
export async function checkReleaseHandover({ plane }: Cluster, first: Helm, next: Helm): Promise<void> {
  const namespace = await Namespace.create(plane, `from-${first.major}-to-${next.major}`);
  assertNoWarning(await namespace.upgrade(first, ...wait));
  assertNoWarning(await namespace.upgrade(next, ...wait, "--set", "image.tag=0.2.0"));
  for (const service of workloadNames) await namespace.settle(service);
  assertNoWarning(await namespace.helm(next, "rollback", "sluice", ...wait));
}
