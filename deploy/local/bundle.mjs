/**
 * Makes one file of the modules of each process, so that it starts in two thirds of the time: loading a thousand modules one by one was most of
 * what a start cost. Does nothing when the bundles were made of the same modules. Needs the build of the rooms.
 */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/**
 * By room: the programs in its bundle, as modules of its build. Beside each service stands a module that loads what the service loads and begins
 * nothing, for the images to compile.
 */
const programs = {
  gateway: ["main.js", "warm-up/warm-up.js"],
  "inference-svc": ["main.js", "warm-up/warm-up.js"],
  "admin-svc": ["main.js", "admin.js"],
  "deploy/local": ["main.js", "one-process.js"],
};
const rooms = Object.keys(programs);

const folderOf = (room) => join(root, room, "bundle");
/** Holds the digest of the modules that a bundle was made of. */
const stamp = "modules.sha256";

/** @returns whether all bundles are made of the present modules */
export function areBundlesBuilt() {
  const digest = digestModules();
  return rooms.every((room) => readIfPresent(join(folderOf(room), stamp)) === digest);
}

/** @param say takes a line about progress when there is something to build */
export async function buildBundles(say = () => {}) {
  const digest = digestModules();
  const stale = rooms.filter((room) => readIfPresent(join(folderOf(room), stamp)) !== digest);
  if (stale.length === 0) return;
  say("bundling the services, which takes some seconds");
  const { rolldown } = await import("rolldown");
  await Promise.all(stale.map((room) => bundle(rolldown, room, digest)));
}

/** Of all modules that are the project's own, and of the lock file for all others. */
function digestModules() {
  const hash = createHash("sha256").update(readFileSync(join(root, "package-lock.json")));
  hash.update(readFileSync(fileURLToPath(import.meta.url)));
  for (const room of ["proto", ...rooms]) {
    const built = join(root, room, "dist");
    const files = readdirSync(built, { recursive: true }).filter((file) => file.endsWith(".js"));
    for (const file of files.toSorted())
      hash
        .update(`${file}\0`)
        .update(readFileSync(join(built, file)))
        .update("\0");
  }
  return hash.digest("hex");
}

/** Written aside and renamed, so that an interrupted bundle is never taken for a whole one. */
async function bundle(rolldown, room, digest) {
  const [folder, built] = [folderOf(room), join(root, room, "dist")];
  const aside = `${folder}.new`;
  rmSync(aside, { recursive: true, force: true });
  const modules = await rolldown({
    input: Object.fromEntries(programs[room].map((file) => [basename(file, ".js"), join(built, file)])),
    platform: "node",
    external: [/^pdfjs-dist/], // it reads files beside its own
    plugins: [sourceMaps, ownPlaces(folder)],
    checks: { eval: false }, // protobufjs looks with it for modules that it does without
  });
  await modules.write({ dir: aside, format: "esm", sourcemap: true, sourcemapExcludeSources: true });
  await modules.close();
  writeFileSync(join(aside, stamp), digest);
  rmSync(folder, { recursive: true, force: true });
  renameSync(aside, folder);
}

/** Our modules with the maps of the compiler, so that stack traces name the source. */
const sourceMaps = {
  name: "source-maps",
  load(id) {
    if (id.includes("/node_modules/")) return undefined;
    const map = readIfPresent(`${id}.map`);
    return map && { code: readFileSync(id, "utf8"), map: JSON.parse(map) };
  },
};

/** Files beside a module, and threads that it starts, are found from where the module was. */
const ownPlaces = (folder) => ({
  name: "own-places",
  transform(code, id) {
    if (!code.includes("import.meta.url")) return undefined;
    const place = `new URL(${JSON.stringify(relative(folder, id))}, import.meta.url).href`;
    return { code: code.replaceAll("import.meta.url", place), map: null };
  },
});

function readIfPresent(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildBundles((line) => process.stderr.write(`${line}\n`));
