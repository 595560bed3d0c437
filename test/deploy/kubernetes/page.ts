/** What the page on installing tells the operator to make: secrets with their keys. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../support/processes.ts";
import type { GivenSecrets } from "./references.ts";

export function secretsOfPage(): GivenSecrets {
  const page = readFileSync(join(root, "deploy/README.md"), "utf8").replaceAll("\\\n", " ");
  const secrets = new Map<string, ReadonlySet<string>>();
  for (const [, name = "", rest = ""] of page.matchAll(/create secret generic ([a-z-]+)(.*)/g)) {
    const keys = [...rest.matchAll(/--from-literal=([A-Za-z_-]+)=/g)].map(([, key = ""]) => key);
    secrets.set(name, new Set([...(secrets.get(name) ?? []), ...keys]));
  }
  return secrets;
}
