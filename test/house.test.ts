/** The order of the house: who may import whom, contracts that stay compatible, generated code that is current, clean lint and format. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { root, run } from "./support/processes.ts";

/**
 * The parts of each room, innermost first. A part is a file or folder at the top of the room; it may import parts of the
 * lines before its own, never of its own line.
 */
const order: Readonly<Record<string, readonly (readonly string[])[]>> = {
  proto: [["gen"], ["runtime"], ["contract"]],
  gateway: [
    ["config", "http", "lane", "sse"],
    ["limits", "idempotency"],
    ["responses", "guardrails", "end-users", "keys", "usage", "models", "docs"],
    ["routes"],
    ["app"],
    ["main"],
  ],
  "inference-svc": [
    ["config", "turn"],
    ["internal"],
    ["files"],
    ["estimate"],
    ["admission", "end-users", "guardrails", "ledger", "routing", "senders", "upstream", "wire"],
    ["web", "fusion"],
    ["tools"],
    ["open-keys", "plugins"],
    ["observe"],
    ["dry-stack"],
    ["stack", "engine", "lane", "handover"],
    ["rehearsal", "serving"],
    ["limits", "operator"],
    ["lists"],
    ["service"],
    ["main"],
  ],
  "admin-svc": [["config", "migrations", "rules", "store"], ["service", "prepare", "cli"], ["admin"], ["main"]],
};

/** What a room may take from others: the contracts and what their speakers share. */
const foreign: Readonly<Record<string, RegExp>> = {
  proto: /^$/,
  gateway: /^@sluice\/proto\//,
  "inference-svc": /^@sluice\/proto\//,
  "admin-svc": /^@sluice\/proto\//,
  "deploy/local": /^@sluice\/proto\//,
};

interface Import {
  /** Path of the importing file within its room. */
  readonly file: string;
  readonly specifier: string;
}

function importsOf(room: string): Import[] {
  return sourcesOf(join(root, room)).flatMap((file) =>
    specifiersIn(readFileSync(join(root, room, file), "utf8")).map((specifier) => ({ file, specifier })),
  );
}

function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !/(^|\/)(dist|node_modules)\//.test(file),
  );
}

const specifiersIn = (source: string): string[] =>
  [...source.matchAll(/\b(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1] as string);

const partOf = (path: string): string => (path.split("/")[0] as string).replace(/\.ts$/, "");

/** What is wrong with one import, or undefined. */
function violation(room: string, { file, specifier }: Import): string | undefined {
  if (specifier.startsWith("@sluice/")) {
    return foreign[room]?.test(specifier) ? undefined : `${room}/${file} imports another room: ${specifier}`;
  }
  const lines = order[room];
  if (!specifier.startsWith(".") || lines === undefined) return undefined;
  const target = join(dirname(file), specifier);
  if (target.startsWith("..")) return `${room}/${file} leaves its room: ${specifier}`;
  const [from, to] = [partOf(file), partOf(target)];
  if (from === to) return undefined;
  const lineOf = (part: string) => lines.findIndex((line) => line.includes(part));
  return lineOf(to) < lineOf(from) ? undefined : `${room}/${file}: ${from} must not import ${to}`;
}

describe("imports", () => {
  test.each(Object.keys(foreign))("%s keeps the directions", (room) => {
    const imports = importsOf(room);
    expect(imports.length).toBeGreaterThan(0);
    expect(imports.flatMap((found) => violation(room, found) ?? [])).toEqual([]);
  });

  test.each(Object.entries(order))("every part of %s has its place", (room, lines) => {
    const parts = new Set(sourcesOf(join(root, room)).map(partOf));
    expect([...parts].toSorted()).toEqual(lines.flat().toSorted());
  });

  test("a wrong direction, another room and the way out of a room are seen", () => {
    expect(violation("gateway", { file: "http/body.ts", specifier: "../app.ts" })).toBeDefined();
    expect(violation("gateway", { file: "http/body.ts", specifier: "../sse/writer.ts" })).toBeDefined();
    expect(violation("gateway", { file: "app.ts", specifier: "@sluice/admin-svc/cli.js" })).toBeDefined();
    expect(violation("gateway", { file: "app.ts", specifier: "../admin-svc/cli.ts" })).toBeDefined();
    expect(violation("gateway", { file: "app.ts", specifier: "./http/body.ts" })).toBeUndefined();
    expect(specifiersIn('import "a"; import b from "b"; export * from "c"; await import("d");')).toEqual([
      "a",
      "b",
      "c",
      "d",
    ]);
  });
});

const bin = join(root, "node_modules", ".bin");

/** What a tool of the house says, empty when it is content. */
async function complaints(tool: string, args: readonly string[], cwd = root): Promise<string> {
  const environment = { ...process.env, PATH: `${bin}:${process.env["PATH"]}` };
  const { code, stdout, stderr } = await run(join(bin, tool), args, { cwd, environment });
  return code === 0 ? "" : `${stdout}${stderr}`;
}

describe("contracts", () => {
  const proto = join(root, "proto");

  test("pass the linter", async () => {
    expect(await complaints("buf", ["lint"], proto)).toBe("");
  });

  test("break nobody who speaks the accepted ones", async () => {
    expect(await complaints("buf", ["breaking", "--against", "baseline.binpb"], proto)).toBe("");
  });

  test("have current generated code", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-test-gen-"));
    try {
      expect(await complaints("buf", ["generate", "--output", folder], proto)).toBe("");
      expect(contentsOf(join(proto, "gen"))).toEqual(contentsOf(join(folder, "gen")));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

function contentsOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  return Object.fromEntries(paths.map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
}

describe("sources", () => {
  test("are formatted", async () => {
    expect(await complaints("biome", ["format", "."])).toBe("");
  });

  test("pass the linter", async () => {
    expect(await complaints("oxlint", ["--type-aware", "--deny-warnings"])).toBe("");
  }, 300_000);
});
