/** Puts the manifests and the chart before a real API server, and its controllers. */
import { type Cluster, evictsInTurn, fitsQuota, helmTakesOver, overlayRuns, templateRuns } from "./checks.ts";
import { ControlPlane } from "./control-plane.ts";
import { Nodes } from "./nodes.ts";
import { helmUpgrades } from "./release.ts";
import type { Programs } from "./programs.ts";

export type Check = (cluster: Cluster) => Promise<void>;

/** By name; the short ones first. */
export const checks = (progress: (line: string) => void): Readonly<Record<string, Check>> => ({
  "overlay for development": (cluster) => overlayRuns(cluster, "overlays/development", 1),
  "overlay for production": (cluster) => overlayRuns(cluster, "overlays/production", 3),
  "helm template with every option": templateRuns,
  quota: fitsQuota,
  eviction: evictsInTurn,
  "from kubectl to helm": helmTakesOver,
  "helm install, upgrade, rollback and uninstall": (cluster) => helmUpgrades(cluster, progress),
});

/** @returns the nodes and the control plane, and what ends both */
export async function startCluster(programs: Programs): Promise<Cluster & { stop(): Promise<void> }> {
  const plane = await ControlPlane.start(programs);
  const nodes = await Nodes.start(plane);
  const stop = async () => {
    await nodes.stop();
    await plane.stop();
  };
  return { plane, nodes, programs, stop };
}
