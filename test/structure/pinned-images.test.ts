/** Images of others are named with registry, version and digest: a tag alone may mean another image tomorrow. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { groupBy } from "./sources.ts";

const files = ["deploy", ".github"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => !file.includes("node_modules") && /(^|\/)Dockerfile|\.ya?ml$/.test(file))
    .map((file) => join(folder, file)),
);

/** An image at one of the registries, wherever it stands in a line. */
const fromRegistry =
  /(?<![\w.])(?:docker\.io|ghcr\.io|quay\.io|gcr\.io|registry\.k8s\.io|mcr\.microsoft\.com|public\.ecr\.aws)\/\w[^\s"'\]]*/g;
/** The value of a line that names a container image. */
const naming = /^(?:FROM\s+|\s*(?:- )?image:\s*|ARG\s+\w*_IMAGE=)["']?([^\s"']+)/;
/** Sluice's own images, other stages of the Dockerfile, and values filled in elsewhere. */
const isOurs = (image: string, stages: readonly string[]) =>
  image.startsWith("sluice/") || image === "scratch" || stages.includes(image) || /^(\$\{|\{\{)/.test(image);

function imagesIn(file: string): string[] {
  const lines = readFileSync(join(root, file), "utf8").split("\n");
  const stages = lines.flatMap((line) => /^FROM\s+\S+\s+AS\s+(\S+)/.exec(line)?.[1] ?? []);
  const named = lines.flatMap((line) => naming.exec(line)?.[1] ?? []).filter((image) => !isOurs(image, stages));
  return [...new Set([...named, ...lines.flatMap((line) => line.match(fromRegistry) ?? [])])];
}

const found = files.flatMap((file) => imagesIn(file).map((image) => ({ file, image })));
const pinned = /^[\w.-]+\.\w+\/([\w./-]+):(\d+)[\w.-]*@sha256:[0-9a-f]{64}$/;

test("the container images of Node, Postgres and Redis are found where they are used", () => {
  const names = found.map(({ file, image }) => `${file}: ${pinned.exec(image)?.slice(1).join(" ")}`);
  expect(names.toSorted()).toEqual([
    ".github/workflows/ci.yml: library/postgres 14",
    ".github/workflows/ci.yml: library/postgres 18",
    "deploy/compose.yaml: library/postgres 18",
    "deploy/compose.yaml: library/redis 8",
    "deploy/images/Dockerfile: library/node 24",
    "deploy/kubernetes/overlays/development/postgres.yaml: library/postgres 18",
  ]);
});

test("every third-party container image has its registry, its version and its digest", () => {
  expect(found.filter(({ image }) => !pinned.test(image))).toEqual([]);
});

test("a version of a container image is the same one everywhere", () => {
  const byVersion = groupBy(found, ({ image }) => pinned.exec(image)?.slice(1).join(" ") ?? image);
  const differing = [...byVersion.values()].filter((uses) => new Set(uses.map(({ image }) => image)).size > 1);
  expect(differing).toEqual([]);
});
