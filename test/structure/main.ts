/**
 * npm run counts [-- <folder of another checkout>]: the sizes held by the tests of the structure, and the files touched by a change.
 * The option --sample comments|titles|names [--seed N] [--count N] prints a random sample, so a reader can judge it.
 */
import { root } from "../support/processes.ts";
import { readOrExit } from "../support/runner/campaign-options.ts";
import { findImportCircles } from "./circles.ts";
import { countElliptical, hasPersonalPronoun, readComments } from "./comments.ts";
import { type RoomText, countMark, markNames, readTextKinds, textKinds, pageRooms } from "./fingerprint.ts";
import { filesOfList, knownLists } from "./lists.ts";
import { findSharedNames } from "./names.ts";
import { readCountsOptions, sampleCheckout } from "./sample.ts";
import { type SourceFile, readSources, rooms } from "./sources.ts";
import { findLongFunctions } from "./syntax.ts";
import { filesOfWalk, walks } from "./walks.ts";

const usage = "usage: npm run counts [-- <checkout>] [--sample comments|titles|names [--seed N] [--count N]]";
const { checkout = root, sample, seed, count } = readOrExit(() => readCountsOptions(process.argv.slice(2)), usage);
const files = readSources(checkout);

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

function printFingerprint(): void {
  const texts = readTextKinds(checkout);
  const line = (title: string, found: readonly RoomText[]) => {
    const counts = markNames.map((mark) => `${mark} ${countMark(found, mark).perThousand.toFixed(1)}`);
    return `${title}: ${countMark(found, "that, which, whose").words} words; ${counts.join("; ")}`;
  };
  for (const kind of textKinds) {
    const found = [...rooms, ...pageRooms].map((room) => ({
      room,
      inRoom: texts[kind].filter((text) => text.room === room),
    }));
    const lines = found.filter(({ inRoom }) => inRoom.length > 0).map(({ room, inRoom }) => line(room, inRoom));
    print(line(`Marked words per 1,000 in ${kind}`, texts[kind]), lines);
  }
}

if (sample) {
  print(`${count} ${sample}, seed ${seed}`, sampleCheckout(checkout, sample, seed, count));
} else {
  printWalks();
  printLists();
  printStack();
  printComments();
  printFingerprint();
  printNames();
  printSizes();
}
