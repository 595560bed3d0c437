/** `npm run docs`: writes the made parts of the reference pages. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../processes.ts";
import { makers, withMadePart } from "./made.ts";

for (const [path, make] of Object.entries(makers)) writeFileSync(join(root, path), withMadePart(path, make));
