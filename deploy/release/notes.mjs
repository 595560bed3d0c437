/** Prints the section of a version in the changelog, as the text of the release's page: `node deploy/release/notes.mjs 0.1.0`. */
import { readFileSync } from "node:fs";

const [version = ""] = process.argv.slice(2);
const heading = /^## (\S+) \((unreleased|\d{4}-\d{2}-\d{2})\)$/;

function fail(reason) {
  process.stderr.write(`CHANGELOG.md ${reason}\n`);
  process.exit(1);
}

const lines = readFileSync("CHANGELOG.md", "utf8").split("\n");
const start = lines.findIndex((line) => heading.exec(line)?.[1] === version);
if (start === -1) fail(`has no heading "## ${version} (YYYY-MM-DD)"`);
if (lines[start].endsWith("(unreleased)"))
  fail(`says that ${version} is not released; npm run set-version writes the date`);
const length = lines.slice(start + 1).findIndex((line) => line.startsWith("## "));
const section = lines.slice(start + 1, length === -1 ? undefined : start + 1 + length);
const notes = section.join("\n").trim();
if (notes === "") fail(`says nothing of ${version}`);
process.stdout.write(`${notes}\n`);
