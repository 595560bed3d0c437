/**
 * `npm run set-version -- 0.2.0`: writes a new version into package.json and every file that repeats it, and dates the version's section of the
 * changelog.
 * A version without a section gets the entries under Unreleased. A test finds files that this program does not know.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { workspaces } = JSON.parse(readFileSync("package.json", "utf8"));
const [version = ""] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+(-[0-9a-z.-]+)?$/.test(version)) {
  process.stderr.write("usage: npm run set-version -- MAJOR.MINOR.PATCH\n");
  process.exit(2);
}

/** @throws if the pattern is not found in the file */
function edit(path, pattern, replacement) {
  const text = readFileSync(path, "utf8");
  if (text.search(pattern) === -1) throw new Error(`${path} has nothing like ${pattern}`);
  writeFileSync(path, text.replace(pattern, replacement));
}

for (const folder of ["", ...workspaces]) {
  edit(join(folder, "package.json"), /^ {2}"version": ".*"/m, `  "version": "${version}"`);
}
const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
lock.version = version;
for (const folder of ["", ...workspaces]) lock.packages[folder].version = version;
writeFileSync("package-lock.json", `${JSON.stringify(lock, undefined, 2)}\n`);
edit("deploy/kubernetes/overlays/production/kustomization.yaml", /newTag: .*/g, `newTag: ${version}`);
edit("deploy/helm/sluice/Chart.yaml", /^(version|appVersion): .*/gm, `$1: ${version}`);
const today = new Date().toISOString().slice(0, 10);
const undated = /^## \S+ \(unreleased\)$/m;
if (undated.test(readFileSync("CHANGELOG.md", "utf8"))) edit("CHANGELOG.md", undated, `## ${version} (${today})`);
else edit("CHANGELOG.md", /^## Unreleased$/m, `## Unreleased\n\n## ${version} (${today})`);
