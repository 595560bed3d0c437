/**
 * Prints the parts list of an image (CycloneDX, JSON): the packages of its service as the lock file has them, without those for development.
 * `npm run sbom -- gateway`; further options are those of @cyclonedx/cyclonedx-npm, which is fetched at the version below.
 */
import { spawnSync } from "node:child_process";

const tool = "@cyclonedx/cyclonedx-npm@6.0.1";
const [service = "", ...options] = process.argv.slice(2);
if (!["gateway", "inference-svc", "admin-svc"].includes(service)) {
  process.stderr.write("usage: npm run sbom -- gateway|inference-svc|admin-svc [--output-file FILE]\n");
  process.exit(2);
}
// The lock file decides; npm would also complain of packages that are not installed here.
const fixed = [
  "--package-lock-only",
  "--ignore-npm-errors",
  "--omit",
  "dev",
  "--omit",
  "optional",
  "--workspace",
  `@sluice/${service}`,
];
const { status } = spawnSync("npx", ["--yes", tool, ...fixed, ...options], { stdio: "inherit" });
process.exit(status ?? 1);
