/** `npm run docs`: writes the generated parts of the reference pages. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../processes.ts";
import { partMakers, withGeneratedPart } from "./made.ts";

for (const [path, make] of Object.entries(partMakers)) writeFileSync(join(root, path), withGeneratedPart(path, make));
