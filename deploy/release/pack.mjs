/**
 * Makes the package `sluice-VERSION.tgz` from a built checkout, and prints its path: `npm run pack`, or `node deploy/release/pack.mjs FOLDER` for
 * another folder than the working directory. The package contains the files of the image for a first look, and npm installs the Postgres for its
 * machine.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Files and folders of the checkout, each at the same place in the package. */
const files = [
  "LICENSE",
  "NOTICE",
  "gateway/bundle",
  "gateway/console/dist/site.json",
  "docs/dist/site.json",
  "inference-svc/bundle",
  "inference-svc/models/catalog/seed.json",
  "admin-svc/bundle",
  "deploy/local/bundle",
  "deploy/local/sluice.mjs",
  "deploy/local/node-version.mjs",
  "deploy/local/sluice.yaml",
  "deploy/local/sluice.schema.json",
  // pdfjs is the only package outside of the bundles, because it reads files next to its own; these are the parts that inference-svc uses.
  "node_modules/pdfjs-dist/LICENSE",
  "node_modules/pdfjs-dist/cmaps",
  "node_modules/pdfjs-dist/legacy/build/pdf.min.mjs",
  "node_modules/pdfjs-dist/legacy/build/pdf.worker.min.mjs",
];

const readManifest = (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));

const manifest = readManifest("");
const pdfjs = readManifest("node_modules/pdfjs-dist");
const { optionalDependencies } = readManifest("deploy/local");
const repository = process.env.GITHUB_REPOSITORY;

/** The manifest of the package. It names the repository, which the provenance of a published package requires. */
const packed = {
  name: manifest.name,
  version: manifest.version,
  description: manifest.description,
  license: manifest.license,
  type: manifest.type,
  engines: manifest.engines,
  ...(repository && { repository: { type: "git", url: `git+https://github.com/${repository}.git` } }),
  bin: { sluice: "deploy/local/sluice.mjs" },
  dependencies: { "pdfjs-dist": pdfjs.version },
  bundleDependencies: ["pdfjs-dist"],
  optionalDependencies,
};

/** The optional canvas of pdfjs is left out: it takes 30 MB, and draws pages, which Sluice never does. */
const { optionalDependencies: _, devDependencies: __, ...withoutCanvas } = pdfjs;
const partOfPdfjs = { "//": "A part of the package; its optional dependency was taken out.", ...withoutCanvas };

const readme = `# Sluice

${manifest.description} It needs Node 20.19 or newer, and nothing else:

    npx sluice

starts Postgres and the services, keeps its data in \`.sluice\` of the working directory, and prints its address, two keys and a first request. Its documentation
is at http://127.0.0.1:8080/docs while it runs. \`npx sluice help\` lists all commands, \`npx sluice doctor\` finds out what is wrong.
`;

const stage = mkdtempSync(join(tmpdir(), "sluice-pack-"));
try {
  const write = (path, text) => {
    mkdirSync(dirname(join(stage, path)), { recursive: true });
    writeFileSync(join(stage, path), text);
  };
  const writeManifest = (folder, content) =>
    write(join(folder, "package.json"), `${JSON.stringify(content, undefined, 2)}\n`);
  for (const path of files) cpSync(join(root, path), join(stage, path), { recursive: true });
  writeManifest("", packed);
  writeManifest("node_modules/pdfjs-dist", partOfPdfjs);
  write("README.md", readme);
  const target = resolve(process.argv[2] ?? ".");
  const printed = execFileSync("npm", ["pack", "--json", "--pack-destination", target], {
    cwd: stage,
    encoding: "utf8",
  });
  process.stdout.write(`${join(target, JSON.parse(printed)[0].filename)}\n`);
} finally {
  rmSync(stage, { recursive: true, force: true });
}
