/**
 * Builds images from programs of this machine, in place of third-party base images, for machines without access to a registry. NODE_IMAGE or
 * POSTGRES_IMAGE can name a real image to pull.
 */
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findBinaries } from "@sluice/local/postgres-binaries.js";
import { root, runProgram } from "../../support/processes.ts";
import type { Podman } from "./podman.ts";
import { RootFolder } from "./root-folder.ts";

/** @returns name of an image with Node 24, npm and a shell */
export async function nodeImage(podman: Podman, folder: string): Promise<string> {
  const given = process.env["NODE_IMAGE"];
  return given !== undefined && given !== "" ? given : standForNode(podman, folder);
}

/** @param name name by which the manifests refer to the image */
export async function postgresImage(podman: Podman, folder: string, name: string): Promise<void> {
  const given = process.env["POSTGRES_IMAGE"];
  if (given === undefined || given === "") return standForPostgres(podman, folder, name);
  await podman.do("pull", given);
  await podman.do("tag", given, name);
}

/** Programs that the image for Node has besides Node and npm. */
export const nodePrograms = ["/bin/sh", "/usr/bin/env", "/usr/bin/find", "/usr/bin/mkdir", "/usr/bin/rm"];

async function standForNode(podman: Podman, folder: string): Promise<string> {
  const packages = join(folder, "node-packages");
  mkdirSync(packages);
  const node = `node-linux-${process.arch}`;
  const wanted = [`${node}@24`, "npm@11", "--no-save", "--prefer-offline", "--prefix", packages];
  const { code, stderr } = await runProgram("npm", ["install", ...wanted], { cwd: packages });
  if (code !== 0) throw new Error(`Node 24 could not be installed: ${stderr}`);
  const files = new RootFolder(join(folder, "node"));
  await files.programs(nodePrograms);
  const program = join(packages, "node_modules", node, "bin/node");
  for (const linked of [program, ...bundlerModules()]) await files.librariesOf(linked);
  files.copy(program, "/usr/local/bin/node");
  files.copy(join(packages, "node_modules/npm"), "/usr/local/lib/node_modules/npm");
  for (const name of ["npm", "npx"]) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(files.path, "usr/local/bin", name));
  }
  const name = "localhost/node:24";
  await build(
    podman,
    files,
    name,
    ["root:x:0:0::/root:/bin/sh"],
    ["ENV PATH=/usr/local/bin:/usr/bin:/bin", ...trust(files)],
  );
  return name;
}

/** Native modules of the console's bundler, which need more of the C library than Node does. */
function bundlerModules(): readonly string[] {
  const folder = join(root, "node_modules/@rolldown");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.filter((file) => file.endsWith(".node")).map((file) => join(folder, file));
}

/** Adds certificates for registries behind a proxy of the machine. */
function trust(files: RootFolder): string[] {
  const authorities = process.env["NODE_EXTRA_CA_CERTS"];
  if (authorities === undefined) return [];
  files.copy(authorities, "/etc/ssl/certs/ca-certificates.crt");
  return ["ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt"];
}

/** Builds an image for Postgres: the programs of npm start, started like the vendor's image, with its user, folders and variables. */
async function standForPostgres(podman: Podman, folder: string, name: string): Promise<void> {
  const { initdb, postgres } = findBinaries(folder);
  const native = join(dirname(initdb), "..");
  const libraries = join(native, "lib");
  const files = new RootFolder(join(folder, "postgres"));
  await files.programs(["/bin/sh", "/usr/bin/mkdir", "/usr/bin/rm"]);
  for (const program of [initdb, postgres]) await files.librariesOf(program, libraries);
  files.copy(native, "/usr/local/postgres");
  files.copy(join(root, "test/deploy/images/postgres.sh"), "/usr/local/bin/postgres.sh");
  mkdirSync(join(files.path, "../nothing"));
  await build(
    podman,
    files,
    name,
    ["postgres:x:999:999::/tmp:/bin/sh"],
    [
      "COPY --chown=999:999 nothing /var/lib/postgresql",
      "COPY --chown=999:999 nothing /var/run/postgresql",
      "ENV PATH=/usr/local/postgres/bin:/usr/bin:/bin LD_LIBRARY_PATH=/usr/local/postgres/lib",
      'ENTRYPOINT ["/bin/sh", "/usr/local/bin/postgres.sh"]',
    ],
  );
}

async function build(
  podman: Podman,
  files: RootFolder,
  name: string,
  users: readonly string[],
  instructions: readonly string[],
): Promise<void> {
  mkdirSync(join(files.path, "etc"), { recursive: true });
  mkdirSync(join(files.path, "tmp"), { mode: 0o1777 });
  writeFileSync(join(files.path, "etc/passwd"), `${users.join("\n")}\n`);
  const dockerfile = `${files.path}.Dockerfile`;
  writeFileSync(dockerfile, ["FROM scratch", `COPY ${files.path.split("/").at(-1)} /`, ...instructions].join("\n"));
  await podman.do("build", "--file", dockerfile, "--tag", name, dirname(files.path));
}
