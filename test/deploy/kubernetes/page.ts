/** Reads secrets and keys from the instructions of the installation page. */
import { z } from "zod";
import { readFolder, readPage } from "../../support/pages.ts";
import type { OperatorSecrets } from "./references.ts";

/** Variables that the observability page names, with any value. */
export function namedVariables(prefix: string): Record<string, z.ZodType> {
  const page = readPage("docs/operate/observability.md");
  const names = [...page.matchAll(new RegExp(`\\b${prefix}_[A-Z_]+[A-Z]\\b`, "g"))].map(([name]) => name);
  return Object.fromEntries(names.map((name) => [name, z.string().optional()]));
}

export function secretsOfPage(): OperatorSecrets {
  const page = readFolder("docs/deploy").replaceAll("\\\n", " ");
  const secrets = new Map<string, ReadonlySet<string>>();
  for (const [, name = "", rest = ""] of page.matchAll(/create secret generic ([a-z-]+)(.*)/g)) {
    const keys = [...rest.matchAll(/--from-literal=([A-Za-z_-]+)=/g)].map(([, key = ""]) => key);
    secrets.set(name, new Set([...(secrets.get(name) ?? []), ...keys]));
  }
  return secrets;
}
