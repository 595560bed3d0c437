/** Each exported name has a single meaning in its room. */
import { expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { describeSharedName, findSharedNames } from "./names.ts";
import { readSources } from "./sources.ts";

test("no exported name has two meanings in a room of the sources", () => {
  expect(findSharedNames(readSources(root)).map(describeSharedName)).toEqual([]);
});

test("an exported name declared by two files is found, but not its type in the same file or a re-export", () => {
  const planted = (path: string, text: string, room = "gateway") => ({ path: `${room}/${path}`, room, text });
  const files = [
    planted("a.ts", "export const { limit, max: [size] } = x;\nexport type Limit = 1;\nexport const Limit = 2;"),
    planted("b.ts", 'export function limit() {}\nexport { Limit } from "./a.ts";'),
    planted("c.ts", 'import { Limit } from "./a.ts";\nclass size {}\nexport { Limit, size };'),
    planted("d.ts", "export interface limit {}\nconst size = 1;", "proto"),
  ];
  expect(findSharedNames(files)).toEqual([
    { room: "gateway", name: "limit", paths: ["gateway/a.ts", "gateway/b.ts"] },
    { room: "gateway", name: "size", paths: ["gateway/a.ts", "gateway/c.ts"] },
  ]);
});
