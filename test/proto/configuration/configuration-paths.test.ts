/** Every configuration path named in an error text or a page exists in the schema of the configuration file. */
import { expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { z } from "zod";
import { root } from "../../support/processes.ts";

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

const schema = z.toJSONSchema(configSchema, { io: "input" }) as Schema;

/** Sections with names unlike any request field; lists are written with brackets. */
const sections =
  /^(?:search|internal_models|sandbox|compat|cors|limits|end_users|fetch|fusion\.presets|(?:providers|models|detectors)\[\])\./;

function has({ properties, items, additionalProperties, anyOf, allOf }: Schema, path: readonly string[]): boolean {
  const [key, ...rest] = path;
  if (key === undefined) return true;
  const own = properties?.[key];
  if (own && has(own, rest)) return true;
  if (key === "[]") return items !== undefined && has(items, rest);
  if (typeof additionalProperties === "object" && has(additionalProperties, rest)) return true;
  return [...(anyOf ?? []), ...(allOf ?? [])].some((part) => has(part, path));
}

/** An interpolated part matches any key. */
const exists = (path: string): boolean => {
  const parts = path.replaceAll("[]", ".[]").split(".");
  const filled = parts.indexOf("*");
  return has(schema, filled < 0 ? parts : parts.slice(0, filled));
};

const pathForm = /(?<![\w./-])[a-z_]+(?:\[\])?(?:\.(?:[a-z_]+|\*)(?:\[\])?)+/g;

/** Paths in a text; names of functions and modules are none. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(pathForm)]
    .map(([path]) => path)
    .filter((path) => sections.test(path) && !/\.(?:ts|js|md|yaml|json)$/.test(path));

const tracked = (...patterns: string[]): string[] =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", ...patterns], {
    cwd: root,
    encoding: "utf8",
  })
    .split("\n")
    .filter((path) => path !== "");

const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** String and template literals of a source file, holes as stars. */
const literalsOf = (source: string): string[] =>
  [...source.matchAll(/"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g)].map(([literal]) =>
    literal.replace(/\$\{[^}]*\}/g, "*"),
  );

test("paths of settings are found in texts, also with interpolations, and an unknown path is reported", () => {
  expect(pathsIn("needs search.engines.* in the file; see `providers[].timeouts.connect_ms`, limits.ts")).toEqual([
    "search.engines.*",
    "providers[].timeouts.connect_ms",
  ]);
  expect(exists("search.engines.*")).toBe(true);
  expect(exists("models[].endpoints[].pricing.prompt")).toBe(true);
  expect(exists("search.engines.exa.api_key")).toBe(true);
  expect(exists("search.engines.other")).toBe(false);
  expect(exists("internal_models.nobody")).toBe(false);
  expect(exists("sandbox.base_url")).toBe(true);
});

test("every path of a setting in the sources' texts exists", () => {
  const sources = tracked(
    "gateway/*.ts",
    "inference-svc/*.ts",
    "admin-svc/*.ts",
    "proto/config/*.ts",
    "proto/lib/*.ts",
    "proto/contract/*.ts",
    "deploy/*.ts",
  );
  expect(sources.length).toBeGreaterThan(500);
  const named = sources.flatMap((path) =>
    literalsOf(read(path)).flatMap((literal) => pathsIn(literal).map((name) => ({ path, name }))),
  );
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter(({ name }) => !exists(name))).toEqual([]);
});

/** Pages with other paths: those of earlier versions, and the values of the chart, covered by a separate test. */
const otherPaths = ["CHANGELOG.md", "docs/deploy/helm-values.md", "docs/reference/configuration.md"];

test("every path of a setting on the pages exists", () => {
  const pages = tracked("*.md").filter((path) => !otherPaths.includes(path));
  const named = pages.flatMap((path) => pathsIn(read(path)).map((name) => ({ path, name })));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(({ name }) => !exists(name))).toEqual([]);
});
