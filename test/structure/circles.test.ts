/** No circle of imports, those of types included. */
import { expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { findImportCircles } from "./circles.ts";
import { readSources } from "./sources.ts";

test("no room of the sources has an import circle", () => {
  expect(findImportCircles(readSources(root)).map((circle) => circle.join(" -> "))).toEqual([]);
});

test("an import circle is found, also one of types and one over the name of the package", () => {
  const planted = (path: string, text: string) => ({ path: `gateway/${path}`, room: "gateway", text });
  const files = [
    planted("a.ts", 'import { b } from "./x/b.ts";'),
    planted("x/b.ts", 'import { c } from "@sluice/gateway/x/c.js";\nimport "./d.ts";'),
    planted("x/c.ts", 'import type { a } from "../a.ts";'),
    planted("x/d.ts", 'export * from "./c.ts";'),
  ];
  expect(findImportCircles(files)).toEqual([["gateway/a.ts", "gateway/x/b.ts", "gateway/x/c.ts", "gateway/a.ts"]]);
  expect(findImportCircles(files.slice(0, 2))).toEqual([]);
});
