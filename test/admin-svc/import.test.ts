/** `import`: a finding for every field of another gateway's configuration, no secret of it, and a file that Sluice accepts. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { runCli } from "@sluice/admin-svc/cli.js";
import { type Finding, pathText } from "@sluice/admin-svc/cli/import/findings.js";
import { importLitellm } from "@sluice/admin-svc/cli/import/litellm/litellm.js";
import { importOpenRouter } from "@sluice/admin-svc/cli/import/openrouter.js";
import { importPortkey } from "@sluice/admin-svc/cli/import/portkey.js";
import { runOperator } from "@sluice/inference-svc/assembly/operator.js";
import { parse } from "yaml";
import { findPages, readPage } from "../support/pages.ts";
import { root } from "../support/processes.ts";

const fixtures = join(root, "test/fixtures/import");
const folder = mkdtempSync(join(tmpdir(), "sluice-test-import-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Example files of other gateways, by the import command that reads them. */
const readers = { litellm: importLitellm, portkey: importPortkey, openrouter: importOpenRouter } as const;

const examples = readdirSync(fixtures)
  .filter((name) => name !== "litellm-included.yaml" && name.includes("-"))
  .map((name) => [name.split("-")[0] as keyof typeof readers, name] as const);

async function run(...argv: string[]) {
  let stdout = "";
  let stderr = "";
  const code = await runCli(argv, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { code, stdout, stderr };
}

interface ConfigShape {
  readonly providers: readonly { readonly id: string; readonly known_models?: boolean }[];
  readonly models: readonly { readonly id: string; readonly endpoints: readonly object[] }[];
}

/** A value in the form that the use of a variable requires, recognized by the variable's name. */
function valueOf(variable: string): string {
  if (variable.endsWith("_CREDENTIALS")) return fileURLToPath(import.meta.url);
  return /(?:URL|BASE)$/.test(variable) ? "https://variable.example" : "variable";
}

/** Whether a page has a heading with the anchor. */
const hasAnchor = (page: string, anchor: string): boolean =>
  [...readPage(page).matchAll(/^#+ (.+)$/gm)].some(
    ([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, "")
        .replaceAll(" ", "-") === anchor,
  );

interface Report {
  readonly configuration: string;
  readonly variables: readonly string[];
  readonly findings: readonly Finding[];
  readonly problems: readonly string[];
}

async function reportOf(gateway: string, name: string): Promise<Report> {
  const { stdout, stderr } = await run("import", gateway, join(fixtures, name), "--json");
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Report;
}

/** Every place of a configuration with a value, found without the code under test. */
function places(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const parts = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return parts.length === 0 ? [path] : parts.flatMap(([step, part]) => places(part, [...path, step]));
}

/** A copy of a configuration with another value at one place. */
function withValue(file: unknown, [step, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (step === undefined) return value;
  const copy = (Array.isArray(file) ? [...(file as unknown[])] : { ...(file as object) }) as Record<
    string | number,
    unknown
  >;
  copy[step] = withValue(copy[step], rest, value);
  return copy;
}

describe.each(examples)("import %s %s", (gateway, name) => {
  const file: unknown = parse(readFileSync(join(fixtures, name), "utf8"));

  test("reports a finding for every field, with a page that exists", async () => {
    const { findings } = await reportOf(gateway, name);
    const fields = new Set(findings.map(({ field }) => field));
    expect(
      places(file)
        .map(pathText)
        .filter((field) => !fields.has(field)),
    ).toEqual([]);
    expect(fields.size).toBe(findings.length);
    for (const { page = "docs/README.md" } of findings) {
      const [path = "", anchor] = page.split("#");
      expect(anchor === undefined ? findPages().includes(path) : hasAnchor(path, anchor) || page).toBe(true);
    }
  });

  test("names no secret of the file", async () => {
    const { stdout } = await run("import", gateway, join(fixtures, name));
    expect(readFileSync(join(fixtures, name), "utf8")).toMatch(/imported|: 7$/m);
    expect(stdout).not.toMatch(/imported/);
  });

  test("makes a file that check-config accepts", async () => {
    const out = join(folder, `${name}.sluice.yaml`);
    expect(await run("import", gateway, join(fixtures, name), "--out", out)).toMatchObject({ code: 0 });
    const { variables } = await reportOf(gateway, name);
    const environment = Object.fromEntries(variables.map((each) => [each, valueOf(each)]));
    let output = "";
    const collect = { write: (text: string) => (output += text) };
    const code = await runOperator(["check-config", out], {
      environment,
      config: out,
      stdout: collect,
      stderr: collect,
    });
    expect(code === 0 ? "" : output).toBe("");
    expect((await run("import", gateway, join(fixtures, name), "--out", out)).stderr).toContain("exists already");
    expect(statSync(out).size).toBeGreaterThan(0);
  });
});

test("the import makes targets of Portkey endpoints of one model, or a list of models for requests", async () => {
  const balanced = parse((await reportOf("portkey", "portkey-balanced.json")).configuration) as ConfigShape;
  expect(balanced.models.find(({ id }) => id === "portkey-balanced")).toEqual({
    id: "portkey-balanced",
    endpoints: [
      { provider: "openai", upstream_model: "gpt-4o" },
      { provider: "azure", upstream_model: "gpt-4o-eu" },
    ],
  });
  expect(balanced.providers[0]).toMatchObject({ dialect: "responses", timeouts: { headers_ms: 10_000 } });
  expect(balanced.providers[1]).toMatchObject({ azure: { resource: "acme" }, extra_body: { max_tokens: 200 } });
  const text = (await reportOf("portkey", "portkey-balanced.json")).findings.find(
    ({ field }) => field === "targets[1].virtual_key",
  );
  expect(text?.text).toContain("as ${AZURE_KEY}: set this variable to the vendor's own key");
  const { findings, configuration } = await reportOf("portkey", "portkey-nested.json");
  expect(findings.find(({ field }) => field === "targets[0].strategy.mode")?.text).toBe(
    'send "models": ["anthropic/claude-sonnet-4-5","bedrock/anthropic.claude-haiku-4-5-20251001-v1:0","vertex/gemini-2.5-pro"] instead of "model"',
  );
  expect((parse(configuration) as ConfigShape).providers.map(({ id }) => id)).toEqual([
    "anthropic",
    "bedrock",
    "vertex",
    "groq",
    "together",
    "ollama",
  ]);
});

test("the import lists only the variables that the new configuration file names", async () => {
  const { variables, configuration } = await reportOf("litellm", "litellm-tools.yaml");
  expect(variables).toContain("ACME_KEY");
  expect(variables.filter((name) => !configuration.includes(`\${${name}}`))).toEqual([]);
});

test("the import makes the vendors in a request to OpenRouter providers", async () => {
  const { configuration } = await reportOf("openrouter", "openrouter-request.json");
  const ids = (parse(configuration) as ConfigShape).providers.map(({ id, known_models: known }) => [id, known]);
  expect(ids).toEqual([
    ["anthropic", true],
    ["openai", true],
    ["xai", true],
    ["deepinfra", undefined],
  ]);
});

test("the import reports a finding for a value of any kind at any place, and for a field of any name", () => {
  const others = [
    null,
    7,
    "x",
    "os.environ/ANY",
    "https://user:secret@host.example/",
    [],
    {},
    [{ a: [1] }],
    { zz: true },
  ];
  const path = join(folder, "changed.yaml");
  let changes = 0;
  for (const [gateway, name] of examples) {
    const file = { ...(parse(readFileSync(join(fixtures, name), "utf8")) as object), include: undefined };
    const prefixes = places(file).flatMap((leaf) => leaf.map((_, index) => JSON.stringify(leaf.slice(0, index + 1))));
    // Half of the places are enough to combine every kind of section with every kind of value.
    for (const place of [...new Set(prefixes)].filter((_, index) => index % 2 === 0)) {
      const changed = withValue(file, JSON.parse(place) as string[], others[changes++ % others.length]);
      writeFileSync(path, JSON.stringify(changed));
      const fields = new Set(readers[gateway](path).findings.map(({ field }) => field));
      const missing = places(JSON.parse(JSON.stringify(changed)))
        .map(pathText)
        .filter((field) => !fields.has(field));
      expect({ name, place, missing }).toEqual({ name, place, missing: [] });
    }
  }
  expect(changes).toBeGreaterThan(100);
});
