/** The programs of a control plane: installed ones, and those in the folder named by the operator. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Helm, findHelms, missingHelm } from "../../deploy/helm/helm.ts";

export interface Programs {
  readonly apiserver: string;
  readonly controllers: string;
  readonly helms: readonly [Helm, ...Helm[]];
}

const isOnPath = (program: string): boolean => spawnSync(program, ["--help"], { stdio: "ignore" }).error === undefined;

/** Variable with the folder of the programs; docs/internals/campaigns.md describes how to fill it. */
const folderVariable = "KUBE_BINARIES";

/** @returns the programs, or a message that names a missing one */
export async function findPrograms(): Promise<Programs | string> {
  const folder = process.env[folderVariable] ?? "";
  if (folder === "") return `${folderVariable} names no folder with kube-apiserver: see docs/internals/campaigns.md`;
  const [apiserver = "", controllers = ""] = ["kube-apiserver", "kube-controller-manager"].map((n) => join(folder, n));
  const missing = [apiserver, controllers].find((program) => !existsSync(program));
  if (missing !== undefined) return `there is no ${missing}: see docs/internals/campaigns.md`;
  const absent = ["etcd", "kubectl"].find((program) => !isOnPath(program));
  if (absent !== undefined) return `there is no ${absent}`;
  const [helm, ...others] = await findHelms();
  return helm === undefined ? missingHelm : { apiserver, controllers, helms: [helm, ...others] };
}
