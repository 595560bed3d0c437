/**
 * Bundles the modules of each process into one file. This shortens its start by a third, most of which was for loading a thousand modules one by one.
 * Does nothing if the bundles are up to date. Needs the build of the rooms.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { runTool } from "./tool.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/**
 * The programs and threads of each room, as modules of its build. Modules in one list share files; all others are bundled separately, so a
 * service has the whole path of a request in one file, and a thread loads nothing else. The second module next to each service loads the same modules
 * but starts nothing; the images use it to compile them.
 */
const programs = {
  gateway: [["main.js", "service.js"]],
  "inference-svc": [
    ["main.js", "assembly/service.js"],
    ["assembly/operator.js"],
    ["content/files/documents/reader.js"],
    ["features/web/reader-thread.js"],
  ],
  "admin-svc": [["main.js", "admin.js"], ["cli.js"], ["rules/pattern-thread.js"]],
  "deploy/local": [["main.js"], ["one-process.js"], ["command-line.js"]],
};
const rooms = Object.keys(programs);

const folderOf = (room) => join(root, room, "bundle");
/** Name of the file with the digest of the bundled modules. */
const stamp = "modules.sha256";

/** @returns whether all bundles are up to date */
export function areBundlesBuilt() {
  const digest = digestModules();
  return rooms.every((room) => isBundled(room, digest));
}

function isBundled(room, digest) {
  const path = join(folderOf(room), stamp);
  return existsSync(path) && readFileSync(path, "utf8") === digest;
}

/** @param say receives a line about progress if there is something to build */
export async function buildBundles(say = () => {}) {
  const digest = digestModules();
  const stale = rooms.filter((room) => !isBundled(room, digest));
  if (stale.length === 0) return;
  say("bundling the services, which takes some seconds");
  for (const room of stale) await bundle(room, digest);
}

/** @returns a digest of the project's own modules, and of the lock file, which determines the modules of packages */
function digestModules() {
  const hash = createHash("sha256").update(readFileSync(join(root, "package-lock.json")));
  hash.update(readFileSync(fileURLToPath(import.meta.url)));
  for (const room of ["proto", ...rooms]) {
    const built = join(root, room, "dist");
    const files = readdirSync(built, { recursive: true }).filter((file) => file.endsWith(".js"));
    for (const file of files.toSorted()) hash.update(`${file}\0`).update(readFileSync(join(built, file)));
  }
  return hash.digest("hex");
}

/** Bundles a room. The result gets its final name only at the end, so an interrupted bundle is never taken for a complete one. */
async function bundle(room, digest) {
  const folder = folderOf(room);
  const aside = `${folder}.new`;
  rmSync(aside, { recursive: true, force: true });
  const modules = [];
  for (const files of programs[room]) modules.push(...(await bundleInChild(room, files, aside)));
  writeFileSync(join(aside, "licenses.txt"), licensesOf(modules));
  writeFileSync(join(aside, stamp), digest);
  rmSync(folder, { recursive: true, force: true });
  renameSync(aside, folder);
}

/**
 * Runs this file for the programs of one list in a child process. The bundler frees its memory only at exit: 2 GB for all programs at once, and half of
 * that one after the other.
 * @returns paths of the modules
 */
async function bundleInChild(room, files, folder) {
  const self = fileURLToPath(import.meta.url);
  const printed = await runTool(process.execPath, [self, room, folder, ...files], `the bundle of ${room}`);
  // The result is the last line: the bundler may print others before it, such as a warning about slow plugins on a busy machine.
  return JSON.parse(printed.trimEnd().split("\n").at(-1));
}

/** @returns paths of the modules */
async function bundlePrograms(room, folder, files) {
  const { rolldown } = await import("rolldown");
  const built = join(root, room, "dist");
  const build = await rolldown({
    input: Object.fromEntries(files.map((file) => [basename(file, ".js"), join(built, file)])),
    platform: "node",
    plugins: [sourceMaps, onDemand(folderOf(room)), ownPlaces(folderOf(room))],
    checks: { eval: false }, // protobufjs uses eval to look for modules that it can do without
  });
  const { output } = await build.write({
    dir: folder,
    format: "esm",
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  await build.close();
  const codec = await import("@jridgewell/sourcemap-codec");
  for (const { fileName } of output) if (fileName.endsWith(".map")) thinMap(join(folder, fileName), codec);
  return output.flatMap(({ moduleIds = [] }) => moduleIds);
}

/** Reads the project's modules with the source maps of the compiler, so stack traces name the source files. */
const sourceMaps = {
  name: "source-maps",
  load(id) {
    if (id.startsWith("\0") || id.includes("/node_modules/")) return undefined;
    return { code: readFileSync(id, "utf8"), map: JSON.parse(readFileSync(`${id}.map`, "utf8")) };
  },
};

/**
 * Reduces a source map to one place for each line of a source. Node decodes the whole map for the first stack trace, perhaps already at the start.
 * With a place for each name, this took 60 MiB in a gateway and 80 in inference-svc; with one place a line it takes 30 MiB (Node 24, 2026-11-27).
 */
function thinMap(path, { decode, encode }) {
  const map = JSON.parse(readFileSync(path, "utf8"));
  const thinned = decode(map.mappings).map((places) =>
    places
      .filter(([, source, line], n) => n === 0 || source !== places[n - 1][1] || line !== places[n - 1][2])
      .map((place) => place.slice(0, 4)),
  );
  writeFileSync(path, JSON.stringify({ ...map, names: [], mappings: encode(thinned) }));
}

/** Keeps a program loaded on demand by another program in a bundle of its own. */
const onDemand = (folder) => ({
  name: "on-demand",
  async resolveId(source, importer, { kind }) {
    if (kind !== "dynamic-import") return undefined;
    const resolved = await this.resolve(source, importer, { kind, skipSelf: true });
    const program = resolved && programAt(resolved.id);
    return program && { id: `./${relative(folder, program)}`, external: true };
  },
});

/** Keeps paths relative to a module valid in the bundle: programs and threads are in the bundle of their room, other files where they were. */
const ownPlaces = (folder) => ({
  name: "own-places",
  transform(code, id) {
    if (id.startsWith("\0") || !code.includes("import.meta.url")) return undefined;
    const urlOf = (path) => `new URL(${JSON.stringify(relative(folder, path))}, import.meta.url)`;
    const own = programAt(id)?.startsWith(`${folder}/`) ? "import.meta.url" : `${urlOf(id)}.href`;
    const placed = code.replaceAll(/new URL\("([^"]+\.js)", import\.meta\.url\)|import\.meta\.url/g, (text, path) => {
      const program = path && programAt(join(dirname(id), path));
      return program ? urlOf(program) : text.replace("import.meta.url", own);
    });
    return { code: placed, map: null };
  },
});

/** @returns the path in a bundle of a program or thread module */
function programAt(path) {
  for (const room of rooms) {
    const file = programs[room].flat().find((each) => path === join(root, room, "dist", each));
    if (file !== undefined) return join(folderOf(room), basename(file));
  }
  return undefined;
}

const terms = /^(licen[cs]e|notice|copying)/i;

/** Name, version and license of each package with modules in a bundle. */
function licensesOf(modules) {
  const folders = modules.map((path) => /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  const packages = [...new Set(folders)].filter((folder) => folder !== undefined);
  return packages
    .map(termsOf)
    .toSorted()
    .join(`\n${"-".repeat(80)}\n`);
}

function termsOf(folder) {
  const { name, version, license = "see below" } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const texts = readdirSync(folder).filter((file) => terms.test(file));
  const words = [`${name} ${version} (${license})`, ...texts.map((file) => readFileSync(join(folder, file), "utf8"))];
  return words.join("\n\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [room, folder, ...files] = process.argv.slice(2);
  if (room === undefined) await buildBundles((line) => process.stderr.write(`${line}\n`));
  else process.stdout.write(`\n${JSON.stringify(await bundlePrograms(room, folder, files))}\n`);
}
