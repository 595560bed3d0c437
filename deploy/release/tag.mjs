/** Prints `version=X` for a tag `vX` if package.json has the same version: a release and its code must agree. */
import { readFileSync } from "node:fs";

const [tag = ""] = process.argv.slice(2);
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
if (tag !== `v${version}`) {
  process.stderr.write(`tag ${tag}: package.json has version ${version}, whose tag is v${version}\n`);
  process.exit(1);
}
process.stdout.write(`version=${version}\n`);
