/**
 * Prints the bill of materials of an image or of the package (CycloneDX, JSON): the packages of its services in the lock file, without development
 * dependencies.
 * `npm run sbom -- gateway`; further options are those of @cyclonedx/cyclonedx-npm, which is fetched at the version below.
 */
import { spawnSync } from "node:child_process";

const tool = "@cyclonedx/cyclonedx-npm@6.0.1";
const workspaces = {
  gateway: "@sluice/gateway",
  "inference-svc": "@sluice/inference-svc",
  "admin-svc": "@sluice/admin-svc",
  "first-look": "@sluice/local",
  package: "@sluice/local",
};
const [image = "", ...options] = process.argv.slice(2);
const workspace = workspaces[image];
if (workspace === undefined) {
  process.stderr.write(`usage: npm run sbom -- ${Object.keys(workspaces).join("|")} [--output-file FILE]\n`);
  process.exit(2);
}
// Only the image for a first look and the package have optional packages, which are those of Postgres.
const omitted = workspace === "@sluice/local" ? ["dev"] : ["dev", "optional"];
// The list comes from the lock file alone; otherwise npm would report packages that are not installed on this machine as errors.
const fixed = ["--package-lock-only", "--ignore-npm-errors", "--workspace", workspace];
for (const kind of omitted) fixed.push("--omit", kind);
const { status } = spawnSync("npx", ["--yes", tool, ...fixed, ...options], { stdio: "inherit" });
process.exit(status ?? 1);
