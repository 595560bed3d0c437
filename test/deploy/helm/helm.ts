/** Renders the chart with the real helm, if the machine has one. */
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type FinishedProcess, root, runProgram } from "../../support/processes.ts";
import type { Resource } from "../kubernetes/kustomize.ts";

export const chart = join(root, "deploy/helm/sluice");

/** Title of a skipped test if there is no helm. */
export const missingHelm =
  "there is no helm; `go install helm.sh/helm/v3/cmd/helm@v3.22.0` brings it, and so does helm.sh/helm/v4/cmd/helm@v4.3.0";

export interface Helm {
  readonly program: string;
  /** Version such as `v4.3`. */
  readonly version: string;
  readonly major: number;
}

/** @returns the programs listed in the variable HELM (like a path; all must exist), or else the one on the path or from `go install` */
export async function findHelms(): Promise<Helm[]> {
  const named = (process.env["HELM"] ?? "").split(delimiter).filter((program) => program !== "");
  const helms = await Promise.all(named.map(readHelm));
  const absent = named[helms.indexOf(undefined)];
  if (absent !== undefined) throw new Error(`HELM names ${absent}, which is no helm`);
  const installed = join(process.env["GOPATH"] ?? join(homedir(), "go"), "bin", "helm");
  const found = named.length > 0 ? helms : [(await readHelm("helm")) ?? (await readHelm(installed))];
  return found.filter((helm) => helm !== undefined);
}

async function readHelm(program: string): Promise<Helm | undefined> {
  const args = ["version", "--template", "{{.Version}}"];
  const { code, stdout } = await runProgram(program, args).catch(() => ({ code: 1, stdout: "" }));
  const major = Number(/^v(\d+)\./.exec(stdout)?.[1]);
  return code === 0 && major > 0 ? { program, version: stdout.trim(), major } : undefined;
}

/** Runs `helm template`. The version of Kubernetes is given, because a helm built from its module knows no version above 1.20. */
export const runTemplate = (helm: string, args: readonly string[]): Promise<FinishedProcess> =>
  runProgram(helm, ["template", "sluice", chart, "--namespace", "sluice", "--kube-version", "1.36.0", ...args]);

/** @throws Error with helm's message if it refuses the values */
export async function renderChart(helm: string, args: readonly string[]): Promise<Resource[]> {
  const { code, stdout, stderr } = await runTemplate(helm, args);
  if (code !== 0 || stderr !== "") throw new Error(stderr);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Resource | null)
    .filter((resource) => resource !== null);
}
