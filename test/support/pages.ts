/** The pages of the documentation: README.md, docs/ and the few pages next to the code. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./processes.ts";

/** Folders without pages. Programs create and remove some of them while tests run. */
const skipped = /^(?:node_modules|dist|bundle.*|fixtures|[.].*)$/;

/** Paths of all pages, relative to the checkout. */
export const findPages = (folder = "."): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return skipped.test(entry.name) ? [] : findPages(path);
      return path.endsWith(".md") && path !== "CHANGELOG.md" ? [path] : [];
    })
    .toSorted();

export const readPage = (path: string): string => readFileSync(join(root, path), "utf8");

/** All pages of a folder as one text, so tests still work when a section moves between pages. @param folder path such as `docs/deploy` */
export const readFolder = (folder: string): string =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith(".md"))
    .toSorted()
    .map((file) => readPage(`${folder}/${file}`))
    .join("\n");

export interface Block {
  readonly page: string;
  /** Number of the block's first line on the page. */
  readonly line: number;
  /** The word after the fence, such as `sh`; empty for diagrams and output. */
  readonly language: string;
  readonly code: string;
}

/** The fenced blocks of a page. */
export function findBlocks(page: string): Block[] {
  const text = readPage(page);
  return [...text.matchAll(/^```(\S*)\n(.*?)^```$/gms)].map(({ index, 1: language = "", 2: code = "" }) => ({
    page,
    line: text.slice(0, index).split("\n").length,
    language,
    code,
  }));
}
