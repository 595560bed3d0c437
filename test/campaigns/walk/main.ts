/** npm run walk: lists the source files and functions that a plain stream enters in gateway and inference-svc, by folder. Fails above the limits. */
import { groupBy } from "../../structure/sources.ts";
import { countedServices } from "../bench/counts/counted-installation.ts";
import { fileOf, maxFiles, maxFunctions, plainStream, walk } from "./walk.ts";

const functions = await walk(plainStream, true);
for (const service of countedServices) {
  const files = groupBy(functions[service], fileOf);
  console.log(`${service}: ${files.size} files, ${functions[service].length} functions`);
  const folders = [...groupBy([...files.keys()], folderOf)].toSorted(([, a], [, b]) => b.length - a.length);
  for (const [folder, inside] of folders) console.log(`  ${folder}: ${inside.length} files`);
}
const labels = countedServices.flatMap((service) => functions[service]);
const files = new Set(labels.map(fileOf)).size;
console.log(
  `${plainStream.title}: ${files} files (limit ${maxFiles}), ${labels.length} functions (limit ${maxFunctions})`,
);
process.exit(files <= maxFiles && labels.length <= maxFunctions ? 0 : 1);

/** The first three folders of a path. */
function folderOf(file: string): string {
  return file.split("/").slice(0, -1).slice(0, 3).join("/");
}
