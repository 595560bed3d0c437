/** deploy/compose.yaml: variables known to the services, ports and health checks of the images, and no secret in plain text. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { environment as admin } from "@sluice/admin-svc/config.js";
import { environment as gateway } from "@sluice/gateway/config.js";
import { environment as inference } from "@sluice/inference-svc/assembly/config.js";
import { parse } from "yaml";
import type { z } from "zod";
import { readPage } from "../support/pages.ts";
import { root } from "../support/processes.ts";
import { historyOf } from "./images/dockerfile.ts";
import { type Target, imageOf, stages, targets } from "./images/targets.ts";

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string };
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

const file = readFileSync(join(root, "deploy/compose.yaml"), "utf8");
const { services, volumes } = parse(file, { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const all = Object.entries(services);
const ours = targets.map((target) => [target, services[target] as Service] as const);
const shapes: Readonly<Record<Target, z.ZodObject>> = { "admin-svc": admin, "inference-svc": inference, gateway };

/** A value after Compose's substitution, with a valid secret for each required one. */
const substituted = (value: string): string =>
  value.replaceAll(/\$\{\w+:([-?])([^}]*)\}/g, (_, kind: string, text: string) =>
    kind === "-" ? text : "s".repeat(64),
  );

/** Ports exposed by an image. */
const exposed = (target: string): string[] =>
  historyOf(stages, target).flatMap(({ keyword, value }) => (keyword === "EXPOSE" ? value.split(" ") : []));

test("the Compose file has the three services of the Dockerfile, Postgres and Redis", () => {
  expect(Object.keys(services).toSorted()).toEqual([...targets, "postgres", "redis", "spool"].toSorted());
  for (const [target, { build, image }] of ours) {
    expect([build, image]).toEqual([
      { context: "..", dockerfile: "deploy/images/Dockerfile", target },
      `sluice/${target}`,
    ]);
  }
});

describe.each(ours)("the Compose service %s", (target, { environment = {}, ports = [], depends_on: needed = {} }) => {
  const fields = Object.entries(shapes[target].shape) as [string, z.ZodType][];
  const passedOn = Object.keys(environment).filter((name) => environment[name] === null);

  test("gets known variables with valid values, and all required ones", () => {
    const set = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== null);
    expect(set.filter(([name]) => !fields.some(([field]) => field === name))).toEqual([]);
    const values = new Map(set.map(([name, value]) => [name, substituted(value)]));
    expect(fields.filter(([name, shape]) => !shape.safeParse(values.get(name)).success)).toEqual([]);
  });

  test("gets the variables of providers, if it calls them", () => {
    const configuration = readFileSync(join(root, "deploy/local/sluice.yaml"), "utf8").replaceAll(/^ *#.*$/gm, "");
    const named = new Set([...configuration.matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => name));
    expect(passedOn.toSorted()).toEqual(target === "inference-svc" ? [...named].toSorted() : []);
  });

  test("has a health check, and waits for the health of its dependencies", () => {
    expect(imageOf(target).healthCheck[0]).toBe("node");
    for (const [name, { condition }] of Object.entries(needed)) {
      const checks = targets.includes(name as Target) || services[name]?.healthcheck !== undefined;
      expect([name, condition]).toEqual([name, checks ? "service_healthy" : "service_completed_successfully"]);
    }
  });

  test("is reachable by its name at a port of its image, and published only on loopback", () => {
    const addresses = Object.entries(environment).filter(([name]) => /_ADDRESS(ES)?$/.test(name));
    for (const [, address] of addresses) {
      const [name = "", port = ""] = (address ?? "").split(":");
      expect(exposed(name)).toContain(port);
    }
    for (const port of ports.map(substituted)) {
      expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
      expect(exposed(target)).toContain(port.split(":").at(-1));
    }
    expect(ports).toHaveLength(target === "gateway" ? 1 : 0);
  });
});

test("secrets of the Compose file have no default", () => {
  const secret = all.flatMap(([, { environment = {} }]) =>
    Object.entries(environment).filter(([name]) => /PASSWORD|TOKEN|SECRET|KEY|DATABASE_URL/.test(name)),
  );
  const given = secret.filter(([, value]) => value !== null && !/\$\{\w+:\?[^}]+\}/.test(value));
  expect(secret.length).toBeGreaterThan(5);
  expect(given).toEqual([]);
  const page = readPage("docs/deploy/compose.md");
  for (const [, name = ""] of file.matchAll(/\$\{(\w+):\?/g)) expect(page).toContain(`${name}=$(openssl rand`);
});

test("paths mounted by the Compose file exist", () => {
  const sources = all.flatMap(([, { volumes: mounted = [] }]) =>
    mounted.map((text) => substituted(text).split(":")[0] ?? ""),
  );
  const missing = sources.filter(
    (path) => !(path.startsWith(".") ? existsSync(join(root, "deploy", path)) : path in volumes),
  );
  expect(sources.length).toBeGreaterThan(4);
  expect(missing).toEqual([]);
});
