#!/usr/bin/env node
/** The program `sluice` of the package, which starts Sluice if no command is given. Unlike the scripts of a checkout it prepares nothing. */
import { findNodeProblem } from "./node-version.mjs";

const problem = findNodeProblem();
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
const { runCommandLine } = await import("./bundle/command-line.js");
await runCommandLine(process.argv.length > 2 ? process.argv.slice(2) : ["start"]);
