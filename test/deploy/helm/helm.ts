/** Renders the chart by the real helm, where the machine has one. */
import { homedir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type Finished, root, runProgram } from "../../support/processes.ts";
import type { Resource } from "../kubernetes/kustomize.ts";

export const chart = join(root, "deploy/helm/sluice");

/** Shown in the place of the tests that need it. */
export const missingHelm = "there is no helm; `go install helm.sh/helm/v3/cmd/helm@v3.22.0` brings it";

/** On the path, or where `go install` puts it. */
export async function findHelm(): Promise<string | undefined> {
  const installed = join(process.env["GOPATH"] ?? join(homedir(), "go"), "bin", "helm");
  for (const program of ["helm", installed]) {
    const { code } = await runProgram(program, ["version"]).catch(() => ({ code: 1 }));
    if (code === 0) return program;
  }
  return undefined;
}

/** The version of Kubernetes is told, because a helm that is built from its module knows none that is newer than 1.20. */
export const runTemplate = (helm: string, args: readonly string[]): Promise<Finished> =>
  runProgram(helm, ["template", "sluice", chart, "--namespace", "sluice", "--kube-version", "1.36.0", ...args]);

/** @throws Error with what helm says when it refuses the values */
export async function renderChart(helm: string, args: readonly string[]): Promise<Resource[]> {
  const { code, stdout, stderr } = await runTemplate(helm, args);
  if (code !== 0 || stderr !== "") throw new Error(stderr);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Resource | null)
    .filter((resource) => resource !== null);
}
