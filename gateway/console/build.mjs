/**
 * Builds the console and the API reference into `dist/site.json`: types of the contract, type check, bundle, and every file compressed. Does nothing when
 * the file is up to date with its sources. Needs the builds of `proto` and `gateway`.
 */
import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

const root = dirname(fileURLToPath(import.meta.url));
const contracts = ["proto/dist/contract", "proto/dist/lib/policy", "gateway/dist/contract"].map((folder) =>
  join(root, "..", "..", folder),
);
const catalogue = join(root, "..", "..", "inference-svc/models/catalog/seed.json");
const generated = join(root, "gen");
const target = join(root, "dist", "site.json");

/** @returns whether the built console matches the current sources */
export function isConsoleBuilt() {
  try {
    return JSON.parse(readFileSync(target, "utf8")).sources === digestSources();
  } catch {
    return false;
  }
}

/** @param say receives lines about the progress, if anything has to be built */
export async function buildConsole(say = () => {}) {
  if (isConsoleBuilt()) return;
  const sources = digestSources();
  say("building the console, which takes some seconds");
  await writeTypes();
  await writeRecords();
  await writeQueries();
  await writeVendors();
  // The type check and the bundle run one after the other, since each takes 200 MB of memory.
  await check();
  const files = await bundle();
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(`${target}.new`, JSON.stringify({ sources, files }));
  renameSync(`${target}.new`, target);
}

function digestSources() {
  const hash = createHash("sha256");
  for (const file of [
    ...filesIn(root, /^(?!dist|gen|node_modules|pictures)/),
    ...contracts.flatMap((folder) => filesIn(folder, /\.js$/)),
    catalogue,
  ]) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return hash.digest("hex");
}

const filesIn = (folder, name) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name: file }) => join(parentPath, file).slice(folder.length + 1))
    .filter((path) => name.test(path) && !path.endsWith(".md"))
    .toSorted()
    .map((path) => join(folder, path));

async function readContract() {
  const { openApi } = await import("@sluice/gateway/contract/operations/openapi.js");
  mkdirSync(generated, { recursive: true });
  return JSON.parse(JSON.stringify(openApi()));
}

/** Writes the types of the OpenAPI document: a field missing from the contract then does not compile. */
async function writeTypes() {
  const { default: openApiTypes, astToString } = await import("openapi-typescript");
  writeFileSync(join(generated, "contract.d.ts"), astToString(await openApiTypes(await readContract())));
}

/** Writes the schemas of records that have a form: a field added to such a record then appears in its form. */
export async function writeRecords() {
  const { describeSchemas } = await import("@sluice/gateway/contract/operations/openapi.js");
  mkdirSync(generated, { recursive: true });
  const schemas = JSON.parse(JSON.stringify(describeSchemas()));
  const records = Object.entries(schemas).filter(([name]) => recordNames.test(name));
  const names = records.map(([name]) => JSON.stringify(name)).join(" | ");
  const lines = [
    `import type { JsonSchema } from "../reference/document.ts";`,
    `export const records: Readonly<Record<${names}, JsonSchema>> = ${JSON.stringify(Object.fromEntries(records))};`,
  ];
  writeFileSync(join(generated, "records.ts"), lines.join("\n"));
}

/** Writes the words accepted by parameters of some operations: a word added to the contract then is among the choices. */
async function writeQueries() {
  const { paths } = await readContract();
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const queries = queriedOperations.map((id) => [
    id,
    wordsOf(operations.find(({ operationId }) => operationId === id)),
  ]);
  const text = JSON.stringify(Object.fromEntries(queries));
  writeFileSync(join(generated, "queries.ts"), `export const queries = ${text} as const;\n`);
}

/** Writes the vendors that a provider can name, with their names in the built-in catalogue. */
async function writeVendors() {
  const { components } = await readContract();
  const { vendors } = JSON.parse(readFileSync(catalogue, "utf8"));
  const listed = components.schemas.NewProvider.properties.vendor.enum.map((id) => [id, vendors[id]?.name ?? id]);
  const text = `export const vendors: readonly (readonly [id: string, name: string])[] = ${JSON.stringify(listed)};\n`;
  writeFileSync(join(generated, "vendors.ts"), text);
}

const queriedOperations = ["listGenerations"];

const wordsOf = ({ parameters }) =>
  Object.fromEntries(parameters.flatMap(({ name, schema }) => (schema?.enum ? [[name, schema.enum]] : [])));

/** Names of a record as created, as changed, and as shown in answers. */
const recordNames = /^(?:New)?(?:EndUser|Guardrail|Key|Workspace)(?:Change)?$/;

async function check() {
  const compiler = join(root, "..", "..", "node_modules", "typescript", "bin", "tsc");
  const child = spawn(process.execPath, [compiler, "-p", root], { stdio: ["ignore", 2, 2] });
  const code = await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  if (code !== 0) throw new Error(`The console does not compile (tsc: ${code}).`);
}

async function bundle() {
  const { build } = await import("vite");
  const { output } = await build({
    configFile: false,
    root,
    base: "/docs/",
    logLevel: "error",
    build: {
      write: false,
      target: "es2023",
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      license: { fileName: "assets/licenses.md" },
    },
  });
  return await Promise.all(output.map(compress));
}

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

const contentTypes = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  md: "text/markdown; charset=utf-8",
};

async function compress({ fileName: path, ...file }) {
  const bytes = Buffer.from(file.type === "chunk" ? file.code : file.source);
  const etag = createHash("sha256").update(bytes).digest("base64url");
  const [br, gz] = await Promise.all([brotli(bytes), zip(bytes, { level: 9 })]);
  const type = contentTypes[path.split(".").at(-1)];
  return { path, type, etag, br: br.toString("base64"), gzip: gz.toString("base64") };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole((line) => process.stderr.write(`${line}\n`));
