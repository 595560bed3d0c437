/** Overlays as made by an operator: one of ours, with additions. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { stringify } from "yaml";
import { root } from "../../support/processes.ts";
import type { Kustomization } from "./kustomize.ts";

export const manifests = join(root, "deploy/kubernetes");

/**
 * @param within folder in which the overlay's own folder is made
 * @param base its folder in ours
 * @param components their names in ours
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
