/** Overlays as an operator makes them: one of the project's, with additions. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { stringify } from "yaml";
import { root } from "../../support/processes.ts";
import type { Kustomization } from "./kustomize.ts";

export const manifests = join(root, "deploy/kubernetes");

/**
 * @param within folder in which the overlay's folder is created  @param base folder of the project's overlay  @param components names of the
 * project's components
 */
export function makeOverlay(
  within: string,
  base: string,
  components: readonly string[] = [],
  images: Kustomization["images"] = [],
): string {
  const own = mkdtempSync(join(within, "overlay-"));
  const at = (path: string) => relative(own, join(manifests, path));
  const kustomization = {
    resources: [at(base)],
    components: components.map((name) => at(`components/${name}`)),
    images,
  };
  writeFileSync(join(own, "kustomization.yaml"), stringify(kustomization));
  return own;
}
