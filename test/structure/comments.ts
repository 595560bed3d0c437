/** Reads comments and texts for users out of sources, and finds those a stranger would not understand without their surroundings. */
import { type SourceFile, groupBy, isProto, parseSource } from "./sources.ts";
import { visitNodes } from "./syntax.ts";

export interface Remark {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export const describeRemark = ({ path, line, text }: Remark): string =>
  `${path}:${line}: ${text.replaceAll("\n", " ")}`;

/** First words that refer to a noun elsewhere. */
const ellipticalOpeners = new Set(
  `of whom who whoever whose what whatever those that where wherever by beside as with without also only until
  nobody somebody said told asked set one ones it its he they`.split(/\s+/),
);

/** Later sentences of a comment that lack their subject or verb. "Without a name, the first is used" has both. */
const fragments =
  /(?<=[.!?]\s+)(?:(?:What|Whatever|Whose|Whoever|Those|Said|Told|Asked)\b|Only for\b|(?:With|Without|Where|By)\b[^.,;]*:)[^.]*/g;

/** A pronoun as the first word, which stands for a noun in the code or in another comment. */
const pronounOpener = /^(?:its?|their|theirs|they|them|those)\b/i;

/** Pronouns for a person; a program is "it". "Whose" is no such pronoun: it is good English for things. */
const personalPronouns = /\b(?:he|she|him|his|her|hers|himself|herself|whom|whomever|whoever|somebody)\b/i;

/** @returns comments on separate lines; consecutive line comments are one */
export function readComments(file: SourceFile): Remark[] {
  return isProto(file) ? readProtoComments(file) : readScriptComments(file);
}

function readScriptComments(file: SourceFile): Remark[] {
  const lines = file.text.split("\n");
  const remarks: (Remark & { lastLine: number; isBlock: boolean })[] = [];
  for (const { type, value, loc } of parseSource(file).comments) {
    if (!loc || (lines[loc.start.line - 1] as string).slice(0, loc.start.column).trim() !== "") continue;
    const isBlock = type === "CommentBlock";
    const text = value.replaceAll(/^[ \t]*\*+ ?/gm, "").trim();
    const previous = remarks.at(-1);
    if (!isBlock && previous && !previous.isBlock && previous.lastLine === loc.start.line - 1) {
      remarks[remarks.length - 1] = { ...previous, text: `${previous.text}\n${text}`, lastLine: loc.end.line };
    } else remarks.push({ path: file.path, line: loc.start.line, text, lastLine: loc.end.line, isBlock });
  }
  return remarks.filter(({ text }) => text !== "").map(({ path, line, text }) => ({ path, line, text }));
}

function readProtoComments({ path, text }: SourceFile): Remark[] {
  const blocks = [...text.matchAll(/^[ \t]*\/\/.*(?:\n[ \t]*\/\/.*)*/gm)];
  return blocks.map((block) => ({
    path,
    line: text.slice(0, block.index).split("\n").length,
    text: block[0].replaceAll(/^[ \t]*\/\/ ?/gm, "").trim(),
  }));
}

/** @returns string literals of at least two words, possible texts of a log or an answer */
export function readTexts(file: SourceFile): Remark[] {
  if (isProto(file)) return [];
  const texts: Remark[] = [];
  visitNodes(parseSource(file).program, (node) => {
    const text = node.type === "StringLiteral" ? node["value"] : node.type === "TemplateElement" ? rawText(node) : "";
    if (typeof text === "string" && /\w+\s+\w+/.test(text)) {
      texts.push({ path: file.path, line: node.loc?.start.line ?? 0, text });
    }
  });
  return texts;
}

const rawText = (node: Readonly<Record<string, unknown>>): string => (node["value"] as { raw: string }).raw;

export function isElliptical({ text }: Pick<Remark, "text">): boolean {
  const firstWord = /^[A-Za-z']+/.exec(text)?.[0] ?? "";
  return ellipticalOpeners.has(firstWord.toLowerCase());
}

/** @returns later sentences that are only fragments */
export const findFragments = ({ text }: Pick<Remark, "text">): readonly string[] =>
  [...text.matchAll(fragments)].map(([fragment]) => fragment.replaceAll("\n", " "));

export const beginsWithPronoun = ({ text }: Pick<Remark, "text">): boolean => pronounOpener.test(text);

export const hasPersonalPronoun = ({ text }: Pick<Remark, "text">): boolean => personalPronouns.test(text);

export interface EllipticalShare {
  readonly comments: number;
  readonly elliptical: number;
  readonly share: number;
  /** Files with the most elliptical comments first, at most ten. */
  readonly worst: readonly string[];
}

export function countElliptical(remarks: readonly Remark[]): EllipticalShare {
  const elliptical = remarks.filter(isElliptical);
  const byFile = [...groupBy(elliptical, ({ path }) => path)].toSorted(([, a], [, b]) => b.length - a.length);
  return {
    comments: remarks.length,
    elliptical: elliptical.length,
    share: remarks.length === 0 ? 0 : elliptical.length / remarks.length,
    worst: byFile
      .slice(0, 10)
      .map(([path, found]) => `${path}: ${found.length}, such as "${found[0]?.text.split("\n")[0]}"`),
  };
}
