/** The order of the rooms and of their parts: each import goes in the permitted direction. */
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { importSpecifiers } from "./circles.ts";

/**
 * The parts of each room, innermost first. A part is a file or folder at the top of the room, or in a
 * folder of it that is no part itself; it may import parts of the lines before its own, never of its own line.
 */
const order: Readonly<Record<string, readonly (readonly string[])[]>> = {
  proto: [["gen"], ["lib"], ["config"], ["contract"]],
  gateway: [
    ["contract"],
    ["config", "edge/http", "edge/sse", "lane"],
    ["edge/limits"],
    ["edge/turns"],
    ["doors/chat", "doors/messages", "doors/responses", "doors/embeddings", "edge/docs", "admin"],
    ["doors/doors"],
    ["app"],
    ["gateway"],
    ["service", "warm-up"],
    ["main"],
  ],
  "inference-svc": [
    ["turn"],
    ["content"],
    ["models"],
    ["services"],
    ["agent-loop"],
    ["features"],
    ["engine", "tool-registry"],
    ["kit"],
    ["embedding-stack"],
    ["stack"],
    ["entry"],
    ["assembly"],
    ["main"],
  ],
  "admin-svc": [
    ["config", "migrations", "rules"],
    ["store"],
    ["sinks"],
    ["exports"],
    ["service", "prepare", "cli"],
    ["admin"],
    ["main"],
  ],
};

/** Permitted imports of a room from other rooms: the contracts and the code shared by all their users. */
const foreign: Readonly<Record<string, RegExp>> = {
  proto: /^$/,
  gateway: /^@sluice\/proto\//,
  "gateway/console": /^@sluice\/proto\/lib\/policy\/(?:guardrail-words|key-state|role)\.js$/,
  "inference-svc": /^@sluice\/proto\//,
  "admin-svc": /^@sluice\/proto\//,
  "deploy/local": /^@sluice\/proto\//,
};

/** The program for two rooms in one process, and the command line of all. */
const joining: Readonly<Record<string, RegExp>> = {
  "deploy/local/one-process.ts": /^@sluice\/(proto|gateway|inference-svc)\//,
  "deploy/local/command-line.ts": /^@sluice\/(proto\/|admin-svc\/cli\.js$|inference-svc\/assembly\/operator\.js$)/,
  "deploy/local/doctor/configuration.ts": /^@sluice\/inference-svc\/assembly\/operator\.js$/,
};

/** The console is a separate room inside the gateway's folder; its part of the contract is generated, and only tables of words are imported. */
const leftOut: Readonly<Record<string, string>> = { gateway: "console/", "gateway/console": "gen/" };

interface Import {
  /** Path of the importing file within its room. */
  readonly file: string;
  readonly specifier: string;
}

function importsOf(room: string): Import[] {
  return sourcesOf(join(root, room)).flatMap((file) =>
    importSpecifiers(readFileSync(join(root, room, file), "utf8")).map((specifier) => ({ file, specifier })),
  );
}

function sourcesOf(folder: string): string[] {
  const left = leftOut[relative(root, folder)] ?? "dist/";
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.tsx?$/.test(file) && !file.startsWith(left) && !/(^|\/)(dist|node_modules)\//.test(file),
  );
}

/** The listed part that holds a path; the file or folder at the top when none does. */
function partOf(room: string, path: string): string {
  const [name, ...parts] = [path.replace(/\.tsx?$/, ""), ...(order[room] ?? []).flat()];
  return parts.find((part) => name === part || name?.startsWith(`${part}/`)) ?? (path.split("/")[0] as string);
}

/** The rule broken by an import, or undefined. */
function violation(room: string, { file, specifier }: Import): string | undefined {
  if (specifier.startsWith("@sluice/")) {
    const permitted = joining[`${room}/${file}`] ?? foreign[room];
    return permitted?.test(specifier) ? undefined : `${room}/${file} imports another room: ${specifier}`;
  }
  const lines = order[room];
  if (!specifier.startsWith(".") || lines === undefined) return undefined;
  const target = join(dirname(file), specifier);
  if (target.startsWith("..")) return `${room}/${file} leaves its room: ${specifier}`;
  const [from, to] = [partOf(room, file), partOf(room, target)];
  if (from === to) return undefined;
  const lineOf = (part: string) => lines.findIndex((line) => line.includes(part));
  return lineOf(to) < lineOf(from) ? undefined : `${room}/${file}: ${from} must not import ${to}`;
}

describe("imports between rooms of the sources", () => {
  test.each(Object.keys(foreign))("of the room %s keep to the permitted directions", (room) => {
    const imports = importsOf(room);
    expect(imports.length).toBeGreaterThan(0);
    expect(imports.flatMap((found) => violation(room, found) ?? [])).toEqual([]);
  });

  test.each(Object.entries(order))("give every part of %s its place", (room, lines) => {
    const parts = new Set(sourcesOf(join(root, room)).map((file) => partOf(room, file)));
    expect([...parts].toSorted()).toEqual(lines.flat().toSorted());
  });

  test("leave inference-svc with at most ten folders and five files at its top", () => {
    const parts = new Set(sourcesOf(join(root, "inference-svc")).map((path) => path.split("/")[0] as string));
    const files = [...parts].filter((part) => part.endsWith(".ts"));
    expect(files.length).toBeLessThanOrEqual(5);
    expect(parts.size - files.length).toBeLessThanOrEqual(10);
  });

  test("of campaigns are not made by tests and their support", () => {
    const isCampaign = (path: string) => path.startsWith("campaigns/");
    const imports = importsOf("test").filter(({ file }) => !isCampaign(file));
    expect(imports.length).toBeGreaterThan(0);
    expect(imports.filter(({ file, specifier }) => isCampaign(join(dirname(file), specifier)))).toEqual([]);
  });

  test("in a wrong direction, into another room and out of a room are found", () => {
    expect(violation("gateway", { file: "edge/http/body.ts", specifier: "../../app.ts" })).toBeDefined();
    expect(violation("gateway", { file: "edge/http/body.ts", specifier: "../sse/writer.ts" })).toBeDefined();
    expect(violation("gateway", { file: "app.ts", specifier: "@sluice/admin-svc/cli.js" })).toBeDefined();
    expect(violation("gateway", { file: "app.ts", specifier: "../admin-svc/cli.ts" })).toBeDefined();
    expect(violation("gateway", { file: "app.ts", specifier: "./edge/http/body.ts" })).toBeUndefined();
    expect(importSpecifiers('import "a"; import b from "b"; export * from "c"; await import("d");')).toEqual([
      "a",
      "b",
      "c",
      "d",
    ]);
  });
});
