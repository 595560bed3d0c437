/** Makes a checkout runnable: installs the packages of the lock file and builds, each only if needed. It runs on plain Node without dependencies. */
import { createHash } from "node:crypto";
import { userInfo } from "node:os";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findNodeProblem } from "./node-version.mjs";
import { runTool } from "./tool.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const modules = join(root, "node_modules");
const stamp = join(modules, ".sluice-lock");
// Path of the lock file, in a folder ignored by git, untouched by npm and owned by the build.
const lock = join(root, "deploy", "local", "dist", ".prepare-lock");

/** File with the digest of the compiled sources, written after a compilation without errors. */
const compiledStamp = join(root, "deploy", "local", "dist", ".compiled");
/** File with the digest of the sources and of everything built from them, written after a preparation for a start. */
const preparedStamp = join(root, "deploy", "local", "dist", ".prepared");
const compiler = join(modules, "typescript", "bin", "tsc");

/** Prints progress to standard error, so the output of commands stays clean. */
const say = (line) => process.stderr.write(`${line}\n`);

/** The rooms of the programs started here, and of the tests, which take five times the memory to compile. */
const programRooms = ["proto", "gateway", "inference-svc", "admin-svc", "deploy/local"];
const testRooms = ["test"];

/** @param tests whether the tests are compiled as well */
export async function prepare({ tests = false } = {}) {
  requireNode();
  if (!tests && isPrepared()) return;
  const denial = writeDenial();
  if (denial !== undefined) return requirePrepared(denial);
  const release = await acquire();
  try {
    await install();
    // The digest is taken before the build, so an edit during the build makes the next start build again.
    const sources = digestFiles(programRooms, /./);
    await build(tests ? testRooms : []);
    writeFileSync(preparedStamp, `${sources} ${digestResults()}`);
  } finally {
    release();
  }
}

function requireNode() {
  const problem = findNodeProblem();
  if (problem !== undefined) throw new Error(problem);
}

/**
 * Whether nothing has changed since the last preparation. Only names, sizes and times of files are compared, so the start of a prepared checkout
 * reads no built module, takes no lock and runs no tool.
 */
function isPrepared() {
  const prepared = readIfPresent(preparedStamp);
  if (prepared === undefined || readIfPresent(stamp) !== wantedInstallation().wanted) return false;
  try {
    return prepared === `${digestFiles(programRooms, /./)} ${digestResults()}`;
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}

/** One result file of each build step; its presence shows that the step is done. */
const results = [
  ...programRooms.map((room) => join(root, room, "dist", ".tsbuildinfo")),
  ...programRooms.filter((room) => room !== "proto").map((room) => join(root, room, "bundle", "modules.sha256")),
  join(root, "gateway", "console", "dist", "site.json"),
];

function digestResults() {
  const hash = createHash("sha256");
  for (const path of results) addFile(hash, path);
  return hash.digest("hex");
}

/** Why nothing can be written, if so: the checkout is mounted read-only, or belongs to another user. */
function writeDenial() {
  const probe = `${lock}.${process.pid}`;
  try {
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(probe, String(process.pid));
    rmSync(probe);
    return undefined;
  } catch (error) {
    if (!["EROFS", "EACCES", "EPERM"].includes(error.code)) throw error;
    return error.code === "EROFS" ? "is read-only" : `cannot be changed by ${userName()}`;
  }
}

function userName() {
  try {
    return `the user ${userInfo().username}`;
  } catch {
    return "this user"; // the user has no entry in /etc/passwd
  }
}

/** Checks whether a read-only checkout is installed and built. @throws an error with the missing steps */
async function requirePrepared(denial) {
  const { lockText, wanted } = wantedInstallation();
  const installed = readIfPresent(stamp) === wanted || npmInstalled(JSON.parse(lockText));
  const missing = installed ? await staleBuilds() : ["its dependencies"];
  if (missing.length === 0) return;
  throw new Error(
    `The checkout ${root} ${denial} and has to be prepared first (missing: ${missing.join(", ")}): ` +
      "run `npm ci && npm run build` in it as its owner, then start it here with SLUICE_DATA_DIR set to a folder of your own.",
  );
}

/** Names of the rooms without a build, or with one older than their sources. */
async function staleBuilds() {
  const report = await compile(programRooms, "--dry");
  const rooms = [...report.matchAll(/would build project '(.*)'/g)].map(([, project]) => dirname(project));
  const { isConsoleBuilt } = await consoleBuild();
  if (!isConsoleBuilt()) rooms.push(join(root, "gateway", "console"));
  const missing = rooms.map((room) => `the build of ${room}`);
  const { areBundlesBuilt } = await bundleBuild();
  if (rooms.length === 0 && !areBundlesBuilt()) missing.push("the bundles of the services");
  return missing;
}

/** @returns the lock file, and the stamp of an installation of it */
function wantedInstallation() {
  const lockText = readFileSync(join(root, "package-lock.json"), "utf8");
  const hash = createHash("sha256").update(lockText).digest("hex");
  const wanted = `${hash} node${process.versions.node.split(".")[0]} ${process.platform}-${process.arch}\n`;
  return { lockText, wanted };
}

async function install() {
  const { lockText, wanted } = wantedInstallation();
  if (readIfPresent(stamp) === wanted) return;
  if (!npmInstalled(JSON.parse(lockText))) {
    say("installing dependencies: npm ci, which takes a minute or two");
    // The stamp is removed first, so an interrupted installation does not look complete.
    rmSync(stamp, { force: true });
    rmSync(join(modules, ".package-lock.json"), { force: true });
    const npm = npmCommand();
    await runTool(npm.command, [...npm.args, "ci", "--no-progress"], "npm ci");
  }
  writeFileSync(stamp, wanted);
}

/** Whether npm's own record of node_modules agrees with the lock file, as after a manual `npm ci`. */
function npmInstalled(lockFile) {
  const text = readIfPresent(join(modules, ".package-lock.json"));
  if (text === undefined) return false;
  const installed = JSON.parse(text).packages;
  return Object.entries(lockFile.packages).every(([path, entry]) => {
    if (!path.startsWith("node_modules/") || entry.link || !fitsHere(entry) || neededByOptional(entry)) return true;
    return installed[path]?.version === entry.version && existsSync(join(root, path, "package.json"));
  });
}

function fitsHere(entry) {
  if (entry.libc?.includes("musl")) return false;
  return (entry.os?.includes(process.platform) ?? true) && (entry.cpu?.includes(process.arch) ?? true);
}

/**
 * Whether a package may be missing: npm omits it together with the optional package in need of it, if the latter is for other machines. The lock file
 * does not show which one it is.
 */
const neededByOptional = (entry) => entry.optional && entry.os === undefined && entry.cpu === undefined;

/** The npm of the running Node, else the one in PATH. */
function npmCommand() {
  const beside = join(dirname(process.execPath), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js");
  const given = process.env.npm_execpath;
  const script = given?.endsWith(".js") && existsSync(given) ? given : beside;
  return existsSync(script) ? { command: process.execPath, args: [script] } : { command: "npm", args: [] };
}

const consoleBuild = () => import("../../gateway/console/build.mjs");
const bundleBuild = () => import("./bundle.mjs");
const siteBuild = () => import("./site.mjs");

async function build(furtherRooms) {
  const rooms = [...programRooms, ...furtherRooms];
  for (const room of rooms) removeOrphans(join(root, room));
  if (rooms.some((room) => !existsSync(join(root, room, "dist", ".tsbuildinfo"))))
    say("building: tsc -b, which takes up to a minute");
  // Compiles one project at a time in one thread, which takes 400 MiB. With its defaults, the compiler took 1,110 MiB and was a fifth faster (two
  // cores, 2026-11-28).
  await compileChanged(programRooms, "--builders", "1", "--singleThreaded");
  if (furtherRooms.length > 0) await compile(furtherRooms);
  const { isConsoleBuilt } = await consoleBuild();
  if (!isConsoleBuilt()) {
    say("building the console, which takes some seconds");
    await runTool(process.execPath, [join(root, "gateway/console/build.mjs")], "the build of the console");
  }
  const { buildBundles } = await bundleBuild();
  await buildBundles(say);
  // The documentation is built here only for tests; a start builds it once the services are up.
  if (furtherRooms.length > 0) {
    const { buildSite } = await siteBuild();
    await buildSite(say);
  }
}

const compile = (rooms, ...options) =>
  runTool(process.execPath, [compiler, "-b", ...rooms.map((room) => join(root, room)), ...options], "tsc -b");

/** Compiles if a source has changed since the last success. The digest is faster than the compiler's own check, which takes half a second. */
async function compileChanged(rooms, ...options) {
  const sources = digestSources(rooms);
  if (
    readIfPresent(compiledStamp) === sources &&
    rooms.every((room) => existsSync(join(root, room, "dist", ".tsbuildinfo")))
  )
    return;
  rmSync(compiledStamp, { force: true });
  await compile(rooms, ...options);
  writeFileSync(compiledStamp, sources);
}

const leftOut = new Set(["node_modules", "dist", "bundle"]);
/** Folder of the types written by the console's build. */
const consoleTypes = join(root, "gateway", "console", "gen");

/** A digest of the names, sizes and times of all files in these rooms read by the compiler. */
const digestSources = (rooms) => digestFiles(rooms, /\.(tsx?|json)$/);

/** A digest of the names, sizes and times of the hand-written files in these rooms whose name matches. */
function digestFiles(rooms, name) {
  const hash = createHash("sha256");
  const addFolder = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory() && !leftOut.has(entry.name) && path !== consoleTypes) addFolder(path);
      else if (name.test(entry.name) && entry.isFile()) addFile(hash, path);
    }
  };
  for (const room of rooms) addFolder(join(root, room));
  for (const name of ["tsconfig.json", "tsconfig.base.json"]) addFile(hash, join(root, name));
  return hash.update(readIfPresent(stamp) ?? "").digest("hex");
}

function addFile(hash, path) {
  const { size, mtimeMs } = statSync(path);
  hash.update(`${path} ${size} ${mtimeMs}\n`);
}

/** Removes compiled modules without a source: the compiler leaves them behind, and a removed test would still run. */
function removeOrphans(room) {
  const compiled = join(room, "dist");
  if (!existsSync(compiled)) return;
  for (const file of readdirSync(compiled, { recursive: true })) {
    if (!file.endsWith(".js") || existsSync(join(room, file.replace(/js$/, "ts")))) continue;
    const base = join(compiled, file.slice(0, -3));
    for (const suffix of [".js", ".js.map", ".d.ts"]) rmSync(base + suffix, { force: true });
  }
}

/**
 * Milliseconds without a message while waiting for the lock: preparations without work hold it for some tenths of a second, on a busy machine for a
 * few seconds.
 */
const silentMs = 5_000;

/** Waits for the lock of the checkout, since two compilers or installers would write the same files. */
async function acquire() {
  mkdirSync(dirname(lock), { recursive: true });
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  const began = performance.now();
  let announced = false;
  try {
    while (!tryLink(mine)) {
      const holder = readIfPresent(lock);
      if (holder === undefined) continue;
      if (!isAlive(Number(holder))) {
        discardStale(holder);
        continue;
      }
      if (!announced && performance.now() - began > silentMs) {
        say(`waiting for process ${holder}, which is preparing this checkout`);
        announced = true;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  } finally {
    rmSync(mine, { force: true });
  }
  return () => rmSync(lock, { force: true });
}

/** Takes the lock by a link: a link appears with its complete content or not at all. */
function tryLink(mine) {
  try {
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

/** Removes the lock of a dead process. If another process has taken the lock meanwhile, it is given back. */
function discardStale(holder) {
  const aside = `${lock}.stale.${process.pid}`;
  try {
    renameSync(lock, aside);
  } catch (error) {
    if (error.code === "ENOENT") return;
    throw error;
  }
  if (readIfPresent(aside) !== holder) tryLink(aside);
  rmSync(aside, { force: true });
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function readIfPresent(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Prepares the checkout. If this fails, prints the reason and ends the process. */
export async function prepareOrExit(options) {
  try {
    await prepare(options);
  } catch (error) {
    say(error.message);
    process.exit(1);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await prepareOrExit({ tests: true });
