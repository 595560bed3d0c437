/** npm run counts [-- <folder of another checkout>]: sizes that the tests of the structure hold, and what a change touches. */
import { root } from "../support/processes.ts";
import { findImportCircles } from "./circles.ts";
import { countElliptical, hasPersonalPronoun, readComments } from "./comments.ts";
import { filesOfList, knownLists } from "./lists.ts";
import { findSharedNames } from "./names.ts";
import { type SourceFile, readSources, rooms } from "./sources.ts";
import { findLongFunctions } from "./syntax.ts";
import { filesOfWalk, walks } from "./walks.ts";

const files = readSources(process.argv[2] ?? root);

function print(title: string, lines: readonly string[] = []): void {
  console.log([title, ...lines.map((line) => `  ${line}`), ""].join("\n"));
}

function printWalks(): void {
  print("Hand-written source files that a change touches: those that name an example of it, tests left out");
  for (const walk of walks) {
    const found = filesOfWalk(files, walk);
    print(`${walk.change}: ${found.length} (${walk.example.join(" ")})`, found);
  }
}

function printLists(): void {
  for (const list of knownLists) {
    const found = filesOfList(files, list);
    print(`${found.length} lists of ${list.title} (files that name ${list.minEntries} or more)`, found);
  }
}

function printStack(): void {
  const stack = files.find(({ path }) => path === "inference-svc/stack.ts") as SourceFile;
  const long = findLongFunctions(stack, 40);
  print(`${stack.text.trimEnd().split("\n").length} lines in ${stack.path}, ${long.length} functions above 40`, long);
}

function printComments(): void {
  const comments = files.flatMap(readComments);
  const share = (title: string, folder: string) => {
    const counted = countElliptical(comments.filter(({ path }) => path.startsWith(folder)));
    return `${(counted.share * 100).toFixed(1)} % of ${title}: ${counted.elliptical} of ${counted.comments}`;
  };
  print(
    `Elliptical comments: ${share("all", "")}`,
    rooms.map((room) => share(room, `${room}/`)),
  );
  print(`${comments.filter(hasPersonalPronoun).length} comments with a pronoun of a person`);
}

function printNames(): void {
  const names = findSharedNames(files);
  const lines = rooms.map((room) => `${names.filter((shared) => shared.room === room).length} in ${room}`);
  print(`${names.length} exported names that two files of a room declare`, lines);
}

function printSizes(): void {
  const circles = findImportCircles(files).map((circle) => circle.join(" -> "));
  print(`${circles.length} import circles`, circles);
}

printWalks();
printLists();
printStack();
printComments();
printNames();
printSizes();
