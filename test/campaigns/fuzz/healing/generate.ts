/** Random objects, and the typical mistakes of models that write JSON. */
import type { Random } from "../../../support/random.ts";

const words = [
  "Ada",
  "a, b",
  "it's",
  "x: y",
  "{a}",
  "[1]",
  "line\nbreak",
  "é😀",
  "50 %",
  "C:\\dir",
  "",
  'she said "no"',
  "</b>",
  "// no",
];
const keys = ["name", "age", "items", "first_name", "isOk", "note", "x", "data"];

/** A random object with at least one member, so damage can lose something. */
export function objectOf(random: Random, depth = 0): Record<string, unknown> {
  const count = 1 + random.below(4);
  const names = Array.from({ length: count }, () => random.pick(keys));
  return Object.fromEntries(names.map((name) => [name, valueOf(random, depth + 1)]));
}

function valueOf(random: Random, depth: number): unknown {
  const kind = random.below(depth > 3 ? 4 : 7);
  if (kind === 0) return random.below(1_000_000) / random.pick([1, 100]);
  if (kind === 1) return random.pick([true, false, null]);
  if (kind < 4) return random.pick(words);
  if (kind === 4) return Array.from({ length: random.below(4) }, () => valueOf(random, depth + 1));
  return objectOf(random, depth);
}

/** Name of the damage that writes true, false and null as None, so the original word is lost. */
export const pythonWords = "words of Python";

export interface Defect {
  readonly name: string;
  /** Damages a text; undefined if the text cannot have this damage. */
  readonly spoil: (text: string, random: Random) => string | undefined;
}

/** A damage at a random match of the pattern. */
const somewhere =
  (pattern: RegExp, by: string) =>
  (text: string, random: Random): string | undefined => {
    const outside = [...text.matchAll(pattern)].filter(({ index }) => !isInString(text, index));
    const match = outside.length === 0 ? undefined : random.pick(outside);
    return (
      match && text.slice(0, match.index) + match[0].replace(pattern, by) + text.slice(match.index + match[0].length)
    );
  };

const everywhere =
  (pattern: RegExp, by: string) =>
  (text: string): string | undefined => {
    const spoiled = text.replace(pattern, (match: string, ...rest: (string | number)[]) => {
      const at = rest.find((each) => typeof each === "number") as number;
      return isInString(text, at) ? match : by.replace("$1", String(rest[0]));
    });
    return spoiled === text ? undefined : spoiled;
  };

function isInString(text: string, at: number): boolean {
  let within = false;
  for (let i = 0; i < at; i++) {
    if (text[i] === "\\" && within) i++;
    else if (text[i] === '"') within = !within;
  }
  return within;
}

const around =
  (before: string, after: string): Defect["spoil"] =>
  (text) =>
    before + text + after;

export const jsonDefects: readonly Defect[] = [
  { name: "code fence", spoil: around("```json\n", "\n```") },
  { name: "fence without a language", spoil: around("```\n", "\n```\n") },
  { name: "prose before", spoil: around("Sure! Here is what you asked for:\n\n", "") },
  { name: "prose around", spoil: around("Here it is: ", "\n\nLet me know if it's not right.") },
  { name: "thought", spoil: around('<think>It could be {"a": 0}.</think>\n', "") },
  { name: "byte order mark", spoil: around("\ufeff", "") },
  { name: "string", spoil: (text) => JSON.stringify(text) },
  { name: "comma at the end", spoil: somewhere(/[\]}]/g, ",$&") },
  { name: "comma missing", spoil: somewhere(/,\n/g, "\n") },
  { name: "comma doubled", spoil: somewhere(/,/g, ",,") },
  { name: "keys without quotes", spoil: everywhere(/"(\w+)"(?=\s*:)/g, "$1") },
  { name: "keys in single quotes", spoil: everywhere(/"(\w+)"(?=\s*:)/g, "'$1'") },
  { name: pythonWords, spoil: everywhere(/\btrue\b|\bfalse\b|\bnull\b/g, "None") },
  { name: "line comment", spoil: somewhere(/\{\n/g, "{ // these\n") },
  { name: "block comment", spoil: somewhere(/\[/g, "[ /* list */ ") },
  { name: "raw line breaks", spoil: (text) => (text.includes("\\n") ? text.replaceAll("\\n", "\n") : undefined) },
  { name: "lone backslashes", spoil: (text) => (/\\\\d/.test(text) ? text.replaceAll("\\\\d", "\\d") : undefined) },
  { name: "inner quotes", spoil: (text) => (text.includes('\\"') ? text.replaceAll('\\"', '"') : undefined) },
  { name: "last bracket missing", spoil: (text) => text.trimEnd().replace(/\s*\}$/, "\n") },
  { name: "bracket too many", spoil: (text) => `${text}}` },
  { name: "equals sign", spoil: somewhere(/:/g, " =") },
  { name: "curly quotes", spoil: everywhere(/"(\w+)"(?=\s*:)/g, "“$1”") },
  { name: "first bracket missing", spoil: (text) => text.trimStart().slice(1) },
  { name: "escaped as a whole", spoil: (text) => (/\\/.test(text) ? undefined : text.replaceAll('"', '\\"')) },
  { name: "entities", spoil: (text) => (/[&<>]/.test(text) ? undefined : text.replaceAll('"', "&quot;")) },
];

/** Cuts off a random part at the end of a text. */
export const truncateJson = (text: string, random: Random): string => text.slice(0, 1 + random.below(text.length - 1));

export const withoutBooleans = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, inner: unknown) => (typeof inner === "boolean" ? null : inner)));
