/** Counts the words of roundabout English: relative clauses and verbs of speech instead of the field's nouns. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Remark, readComments } from "./comments.ts";
import { type SourceFile, groupBy, isProto, parseSource, readSources } from "./sources.ts";
import { type SyntaxNode, visitNodes } from "./syntax.ts";
import { hasVerb } from "./verbs.ts";

export const textKinds = ["comments", "titles", "pages"] as const;
export type TextKind = (typeof textKinds)[number];

export const marks = {
  "that, which, whose": /\b(?:that|which|whose)\b/gi,
  "told, said, asked, heard": /\b(?:told|said|asked|heard)\b/gi,
  "alone, beside, in the place of": /\b(?:alone|beside|in the place of)\b/gi,
} as const;
export type Mark = keyof typeof marks;
export const markNames = Object.keys(marks) as Mark[];

/** Folders of the pages. */
export const pageRooms = ["docs", "top"] as const;

/** A text with the room of its file. */
export type RoomText = Remark & { readonly room: string };

/** @returns the texts of a checkout by kind; the contracts in proto/grpc/ are left out, since they are copies */
export function readTextKinds(checkout: string): Readonly<Record<TextKind, readonly RoomText[]>> {
  const sources = readSources(checkout).filter(({ path }) => !path.startsWith("proto/grpc/"));
  return {
    comments: sources.flatMap((file) => withRoom(file, readComments(file))),
    titles: sources.filter(({ room }) => room === "test").flatMap((file) => withRoom(file, readTitles(file))),
    pages: readPages(checkout).flatMap((page) => withRoom(page, readProse(page))),
  };
}

const withRoom = ({ path }: SourceFile, remarks: readonly Remark[]): RoomText[] =>
  remarks.map((remark) => ({ ...remark, room: path.includes("/") ? (path.split("/")[0] as string) : "top" }));

/** CHANGELOG.md is left out, since its entries describe earlier states. */
const topPages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "GLOSSARY.md"];

function readPages(checkout: string): SourceFile[] {
  const names = readdirSync(join(checkout, "docs"), { recursive: true, encoding: "utf8" });
  const paths = [...topPages, ...names.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`)];
  return paths.map((path) => ({ path, room: "docs", text: readFileSync(join(checkout, path), "utf8") }));
}

export interface Title extends Remark {
  readonly isSuite: boolean;
  /** Titles of the enclosing `describe` calls, outermost first. */
  readonly suites: readonly string[];
}

/** @returns titles of tests and of the suites around them, also of forms such as `test.each(rows)(title)`; a placeholder stays as it is written */
export function readTitles(file: SourceFile): Title[] {
  if (isProto(file)) return [];
  const found: { call: Span; text: string; line: number; name: string; isSuite: boolean }[] = [];
  visitNodes(parseSource(file).program, (node) => {
    if (node.type !== "CallExpression") return;
    const [title, ...others] = node["arguments"] as SyntaxNode[];
    if (!title || others.length === 0 || !isText(title)) return;
    const name = calledName(node);
    const isTest = testFunctions.has(name);
    if (!isTest && !others.some(isFunction)) return;
    const text = file.text.slice(spanOf(title).start + 1, spanOf(title).end - 1);
    found.push({ call: spanOf(node), text, line: title.loc?.start.line ?? 0, name, isSuite: !isTest });
  });
  const tests = found.filter(({ isSuite }) => !isSuite);
  const suites = found.filter(
    ({ isSuite, name, call }) => isSuite && (name === "describe" || tests.some((test) => encloses(call, test.call))),
  );
  return [...tests, ...suites]
    .toSorted((a, b) => a.call.start - b.call.start)
    .map(({ call, text, line, isSuite }) => {
      const outer = suites.filter((suite) => encloses(suite.call, call));
      return { path: file.path, line, text, isSuite, suites: outer.map((suite) => suite.text) };
    });
}

/** First words that continue another sentence. A title that begins with a value lacks the noun for it, unless a suite gives the noun. */
const continuing = /^(?:and|but|then|which|so|nor)\b/i;
const bareValue = /^(?:%[sjdp]|\$[a-z])/;
const pronoun = /^(?:its?|they|their|them|this|these|those)\b/i;

/** Plural nouns of the product that are verbs, too: "calls are counted" has a subject. */
const pluralNouns = new Set(
  "calls changes ends lists matches records reports runs scans searches starts streams sums uses views is_active".split(
    " ",
  ),
);

const beginsWithVerb = (text: string): boolean => {
  const [word = ""] = /^[a-z'_]+/.exec(text) ?? [];
  return hasVerb(word) && !pluralNouns.has(word);
};

/** @returns the reason for which a test's title is no sentence about the product; suites are headings */
export function findTitleFault({ text, suites, isSuite }: Title): string | undefined {
  if (isSuite) return undefined;
  if (continuing.test(text)) return "begins like the rest of another sentence";
  if (suites.length === 0 && bareValue.test(text)) return "begins with a value, without a noun for it";
  if (suites.length === 0 && (pronoun.test(text) || beginsWithVerb(text))) return "lacks its subject";
  return [...suites, text].some(hasVerb) ? undefined : "has no verb";
}

interface Span {
  readonly start: number;
  readonly end: number;
}

const spanOf = (node: SyntaxNode): Span => node as unknown as Span;

const encloses = (outer: Span, inner: Span): boolean => outer.start < inner.start && inner.end < outer.end;

/** Functions of Jest that make a test. A suite is any call with a title and a function around tests: `describe`, or one of its conditional forms. */
const testFunctions = new Set(["test", "it"]);

const isFunction = ({ type }: SyntaxNode): boolean =>
  type === "ArrowFunctionExpression" || type === "FunctionExpression";

const isText = ({ type }: SyntaxNode): boolean => type === "StringLiteral" || type === "TemplateLiteral";

/** @returns the name at the start of a callee: "test" for `test.each(rows)(…)` */
function calledName(call: SyntaxNode): string {
  let node: SyntaxNode | undefined = call;
  while (node && node.type !== "Identifier") node = (node["callee"] ?? node["object"] ?? node["tag"]) as typeof node;
  return (node?.["name"] as string | undefined) ?? "";
}

/** Parts of a page without English: fenced code, comments, inline code, targets of links, addresses. */
const notProse =
  /^([ \t]*)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^[ \t]*\2[ \t]*$|<!--[\s\S]*?-->|(?<!`)(`+)(?!`)[^\n]*?(?<!`)\3(?!`)|(?<=\])\([^)\n]*\)|^\[[^\]\n]+\]:[^\n]*$|https?:\/\/[^\s)>]+/gm;

/** @returns the paragraphs of a Markdown page, each with the number of its first line */
export function readProse({ path, text }: SourceFile): Remark[] {
  const prose = text.replaceAll(notProse, (part) => part.replaceAll(/[^\n]+/g, " "));
  return [...prose.matchAll(/\S[^\n]*(?:\n[ \t]*\S[^\n]*)*/g)].map((found) => ({
    path,
    line: prose.slice(0, found.index).split("\n").length,
    text: found[0],
  }));
}

export const countWords = (text: string): number => text.match(/[A-Za-z']+/g)?.length ?? 0;

const countMarks = (text: string, mark: Mark): number => text.match(marks[mark])?.length ?? 0;

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

export interface MarkCount {
  readonly words: number;
  readonly marked: number;
  readonly perThousand: number;
  /** Files with the most marked words beyond the limit first, at most ten. */
  readonly worst: readonly string[];
}

/** @param maxPerThousand limit of marked words per 1,000 words; decides only the order of the worst files */
export function countMark(texts: readonly Remark[], mark: Mark, maxPerThousand = 0): MarkCount {
  const files = [...groupBy(texts, ({ path }) => path)].map(([path, remarks]) => {
    const found = remarks.filter(({ text }) => countMarks(text, mark) > 0);
    const words = sum(remarks.map(({ text }) => countWords(text)));
    const marked = sum(found.map(({ text }) => countMarks(text, mark)));
    return {
      path,
      words,
      marked,
      excess: marked - (words * maxPerThousand) / 1_000,
      example: found[0] && quoteMark(found[0], mark),
    };
  });
  const words = sum(files.map((file) => file.words));
  const marked = sum(files.map((file) => file.marked));
  const worst = files.filter(({ excess }) => excess > 0).toSorted((a, b) => b.excess - a.excess);
  return {
    words,
    marked,
    perThousand: words === 0 ? 0 : (1_000 * marked) / words,
    worst: worst.slice(0, 10).map(describeFile),
  };
}

interface FileCount {
  readonly path: string;
  readonly words: number;
  readonly marked: number;
  readonly example: string | undefined;
}

const describeFile = ({ path, words, marked, example }: FileCount): string =>
  `${path}: ${marked} in ${words} words, such as ${example}`;

/** @returns the line of the first marked word, with up to 80 characters on each side of it */
function quoteMark({ line, text }: Remark, mark: Mark): string {
  const at = text.search(marks[mark]);
  const linesBefore = text.slice(0, at).split("\n").length - 1;
  const excerpt = text.slice(Math.max(0, at - 80), at + 80).replaceAll(/\s+/g, " ");
  return `line ${line + linesBefore}: ${excerpt.trim()}`;
}
