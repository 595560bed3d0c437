/** Environment variables of the services when they run without containers. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "../../support/runner/free-ports.ts";
import { root } from "../../support/processes.ts";
import { render } from "../kubernetes/kustomize.ts";
import { workloadsOf } from "../kubernetes/workloads.ts";
import type { Target } from "./targets.ts";

export type ManifestVariables = Record<Target, Record<string, string>>;

/** The variables of the manifests, with local addresses in place of the cluster's. */
export async function readManifestVariables(folder: string, databaseUrl: string): Promise<ManifestVariables> {
  const [http, rpc, admin, ...health] = (await freePorts(6)).map(String) as [string, string, string, ...string[]];
  const spool = join(folder, "spool");
  mkdirSync(spool);
  const here: Record<string, string> = {
    SLUICE_CONFIG: join(root, "deploy/kubernetes/base/sluice.yaml"),
    SLUICE_INFERENCE_ADDRESSES: `127.0.0.1:${rpc}`,
    SLUICE_ADMIN_ADDRESS: `127.0.0.1:${admin}`,
    SLUICE_SPOOL_DIR: spool,
    SLUICE_SERVICE_TOKEN: "t".repeat(64),
    SLUICE_SECRET: "s".repeat(64),
    DATABASE_URL: databaseUrl,
  };
  const ports: Record<Target, Record<string, string>> = {
    "admin-svc": { SLUICE_ADMIN_PORT: admin, SLUICE_ADMIN_HEALTH_PORT: health[0] as string },
    "inference-svc": { SLUICE_INFERENCE_PORT: rpc, SLUICE_INFERENCE_HEALTH_PORT: health[1] as string },
    gateway: { SLUICE_PORT: http, SLUICE_GATEWAY_HEALTH_PORT: health[2] as string },
  };
  const workloads = workloadsOf(render(join(root, "deploy/kubernetes/overlays/development")));
  const of = (target: Target): Record<string, string> => {
    const variables = workloads.find(({ name }) => name === target)?.containers[0]?.env ?? [];
    const said = variables.map(({ name, value }) => [name, here[name] ?? value] as const);
    const set = said.filter((variable): variable is [string, string] => variable[1] !== undefined);
    return { ...Object.fromEntries(set), ...ports[target], SLUICE_DRAIN_DELAY_MS: "0" };
  };
  return { "admin-svc": of("admin-svc"), "inference-svc": of("inference-svc"), gateway: of("gateway") };
}
