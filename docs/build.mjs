/**
 * Builds the documentation into `docs/dist/site.json`: every file of the site, compressed, the Markdown of each page, and lists of the pages for
 * language models. Does nothing if the file is up to date with its sources.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const docs = dirname(fileURLToPath(import.meta.url));
const root = join(docs, "..");
const target = join(docs, "dist", "site.json");

/** @returns whether the built documentation matches its current sources */
export function isSiteBuilt() {
  try {
    return readFileSync(target, "utf8").startsWith(`{"sources":"${digestSources()}"`);
  } catch {
    return false;
  }
}

/**
 * Builds the documentation, which takes 8 s of a processor and 300 to 700 MB, so programs run this file in a process of its own.  @param say receives
 * lines about progress if there is something to build
 */
export async function buildSite(say = () => {}) {
  if (isSiteBuilt()) return;
  const sources = digestSources();
  say("building the documentation, which takes some seconds");
  const { build } = await import("vitepress");
  const { addresses, joinForModels, listForModels, readPage, work } = await import("./.vitepress/pages.mjs");
  removeLeftovers(dirname(work));
  process.once("exit", () => rmSync(work, { recursive: true, force: true }));
  await build(docs);
  const texts = [
    ...[...addresses].map(([file, path]) => [path, readPage(file)]),
    ["llms.txt", listForModels("/docs/")],
    ["llms-full.txt", joinForModels("/docs/")],
    ["licenses.txt", readLicenses()],
    ["icon.svg", readFileSync(join(root, "gateway", "console", "icon.svg"))],
  ];
  const built = join(work, "site");
  const pages = filesIn(built).map((path) => [path, readBuilt(join(built, path))]);
  const files = await Promise.all([...pages, ...texts].map(compress));
  const scripts = [...new Set(pages.flatMap(inlineScripts))].toSorted();
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(`${target}.new`, JSON.stringify({ sources, scripts, files }));
  renameSync(`${target}.new`, target);
}

/** Removes the folders of builds that were killed. */
function removeLeftovers(folder) {
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const [, pid] = /^build-(\d+)$/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

const digestOf = (bytes) => createHash("sha256").update(bytes).digest("base64");

function digestSources() {
  const hash = createHash("sha256");
  const beside = readdirSync(root).filter((name) => name.endsWith(".md") || name === "package.json");
  const own = filesIn(docs).filter((path) => !/^(?:dist|node_modules)\//.test(path));
  for (const file of [...beside.toSorted().map((name) => join(root, name)), ...own.map((path) => join(docs, path))]) {
    hash
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return hash.digest("hex");
}

/** Paths of the files below a folder. */
const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .toSorted();

/**
 * Reads a file of the site, without styles in HTML attributes: the content security policy refuses them, and scripts set these styles once they run.
 */
function readBuilt(path) {
  const bytes = readFileSync(path);
  return path.endsWith(".html")
    ? Buffer.from(bytes.toString().replaceAll(/(<[a-z][^<>]*?) style="[^"]*"/g, "$1"))
    : bytes;
}

/** Packages whose code is part of the site's scripts. */
const packages = [
  "vitepress",
  "vue",
  "@vueuse/core",
  "@vueuse/integrations",
  "minisearch",
  "mark.js",
  "focus-trap",
  "tabbable",
];

function readLicenses() {
  const licenses = packages.map((name) => {
    const folder = join(root, "node_modules", name);
    const [file] = readdirSync(folder).filter((each) => /^licen[cs]e/i.test(each));
    return `${name}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return licenses.join("\n\n");
}

/** Hashes of the scripts within a page, in the form of a content security policy. */
const inlineScripts = ([path, bytes]) =>
  path.endsWith(".html")
    ? [...bytes.toString().matchAll(/<script(?![^>]* src=)[^>]*>(.*?)<\/script>/gs)].map(
        ([, code]) => `sha256-${digestOf(code)}`,
      )
    : [];

const contentTypes = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
  md: "text/markdown; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
};

const zip = promisify(gzip);

async function compress([path, content]) {
  const bytes = Buffer.from(content);
  const type = contentTypes[path.split(".").at(-1)];
  if (type === undefined) throw new Error(`No content type is known for ${path}.`);
  const packed = await zip(bytes, { level: 9 });
  return { path, type, etag: digestOf(bytes), gzip: packed.toString("base64") };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildSite((line) => process.stderr.write(`${line}\n`));
