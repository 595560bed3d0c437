/**
 * The images. With podman they are built, started as the pods of the development overlay, and queried by the README's first curl. Elsewhere the
 * same commands run in empty folders, and the tests in containers are skipped with the reason.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { nodeFlags } from "@sluice/local/services.js";
import { readSettings } from "@sluice/local/settings.js";
import { root } from "../support/processes.ts";
import { inContainers } from "./images/in-containers.ts";
import { inFolders } from "./images/in-folders.ts";
import { Podman } from "./images/podman.ts";
import { nodePrograms } from "./images/stand-ins.ts";
import { historyOf } from "./images/dockerfile.ts";
import { imageOf, stages, targets } from "./images/targets.ts";

const folder = mkdtempSync(join(tmpdir(), "images-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const podman = await Podman.open(folder);
if (podman instanceof Podman) describe("images in containers of podman", () => inContainers(folder, podman));
else {
  describe.skip(`images in containers of podman (${podman})`, () => inContainers(folder, undefined));
  describe("images in empty folders", () => inFolders(folder));
}

test("services in images have the same flags of Node as under npm start", () => {
  for (const target of targets) {
    expect(imageOf(target).command).toEqual(["node", ...nodeFlags, `${target}/bundle/main.js`]);
  }
});

test("images of services have only files owned by root, so their runtime user owns none", () => {
  const run = targets.flatMap((target) => historyOf(stages, target).filter(({ keyword }) => keyword === "RUN"));
  expect(run).toEqual([]);
});

test("the image of a complete installation runs the supervisor of npm start, with all services", () => {
  const { command, environment } = imageOf("first-look");
  expect(command).toEqual(["node", ...nodeFlags, "deploy/local/bundle/main.js"]);
  expect(() => readSettings(environment)).not.toThrow();
  const copies = historyOf(stages, "first-look").filter(({ keyword }) => keyword === "COPY");
  const copied = new Set(copies.map(({ value }) => value.split(/\s+/).at(-2)));
  for (const target of [...targets, "first-look"] as const) {
    const needed = historyOf(stages, target).filter(({ value }) => value.startsWith("--from=build"));
    const missing = needed.map(({ value }) => value.split(/\s+/).at(-2)).filter((source) => !copied.has(source));
    expect([target, missing]).toEqual([target, []]);
  }
});

test("the Dockerfile copies no path excluded by .dockerignore", () => {
  const ignored = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");
  const allowed = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  const copies = stages.flatMap(({ instructions }) => instructions).filter(({ keyword }) => keyword === "COPY");
  const sources = copies.flatMap(({ value }) => (value.startsWith("--from=") ? [] : value.split(/\s+/).slice(0, -1)));
  expect(sources).toContain("package.json");
  const missing = sources.filter(
    (path) => path !== "." && !allowed.some((entry) => `${path}/`.startsWith(`${entry}/`)),
  );
  expect(missing).toEqual([]);
});

test("the Dockerfile runs only programs available in the base image used in tests", () => {
  const runs = stages.flatMap(({ instructions }) => instructions).filter(({ keyword }) => keyword === "RUN");
  const programs = runs.flatMap(({ value }) => value.split(/&&|\|\||;(?!$)/).map((part) => part.trim().split(" ")[0]));
  const known = [...nodePrograms.map((path) => path.split("/").at(-1)), "node", "npm", "npx"];
  expect(programs.length).toBeGreaterThan(5);
  expect(programs.filter((program) => !known.includes(program))).toEqual([]);
});
