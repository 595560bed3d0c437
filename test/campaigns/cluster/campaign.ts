/** Tests the manifests and the chart on a real API server with its controllers. */
import { type Cluster, checkEviction, checkQuota, checkHelmTakeover, checkOverlay, checkTemplate } from "./checks.ts";
import type { Helm } from "../../deploy/helm/helm.ts";
import { ControlPlane } from "./control-plane.ts";
import { Nodes } from "./nodes.ts";
import { checkHelmUpgrades, checkReleaseHandover } from "./release.ts";
import type { Programs } from "./programs.ts";

export type Check = (cluster: Cluster) => Promise<void>;

/** Checks by name, short ones first. */
export const checks = (helms: readonly Helm[], progress: (line: string) => void): Readonly<Record<string, Check>> => ({
  "overlay for development": (cluster) => checkOverlay(cluster, "overlays/development", 1),
  "overlay for production": (cluster) => checkOverlay(cluster, "overlays/production", 3),
  ...forEach(helms, "template with every option", checkTemplate),
  quota: checkQuota,
  eviction: checkEviction,
  ...forEach(helms, "takes over what kubectl has applied", checkHelmTakeover),
  ...forEach(helms.slice(1), "upgrades a release of the first helm", (cluster, helm) =>
    checkReleaseHandover(cluster, helms[0] as Helm, helm),
  ),
  ...forEach(helms, "install, upgrade, rollback and uninstall", (cluster, helm) =>
    checkHelmUpgrades(cluster, helm, progress),
  ),
});

const forEach = (
  helms: readonly Helm[],
  name: string,
  check: (cluster: Cluster, helm: Helm) => Promise<void>,
): Record<string, Check> =>
  Object.fromEntries(
    helms.map((helm) => [`helm ${helm.version}: ${name}`, (cluster: Cluster) => check(cluster, helm)]),
  );

/** @returns the nodes, the control plane, and a function that ends both */
export async function startCluster(programs: Programs): Promise<Cluster & { stop(): Promise<void> }> {
  const plane = await ControlPlane.start(programs);
  const nodes = await Nodes.start(plane);
  const stop = async () => {
    await nodes.stop();
    await plane.stop();
  };
  return { plane, nodes, stop };
}
