/** JSON that a model writes for a function: cleaned so that it remains JSON. Escapes hide nothing, since its strings are read as what they say. */
import type { Looker } from "./look.ts";
import { type Hit, regionsOf, replaced } from "./regions.ts";

/** Strings, numbers and words; of valid JSON, so that nothing else can look like them. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/g;

interface Token {
  readonly start: number;
  readonly end: number;
  /** Without what is redacted. */
  readonly text: string;
  /** What was found in the string. */
  readonly hits: readonly Hit[];
}

/** What is no JSON is cleaned as a text. @throws as Looker.cleaned */
export async function cleanedJson(text: string, looker: Looker): Promise<string> {
  if (!isJson(text)) return looker.cleaned(text);
  const read: Token[] = [];
  for (const match of text.matchAll(tokens)) read.push(await cleanedToken(match[0], match.index, looker));
  // What goes over several strings, or is found in the signs between them.
  const across = looker.settled(
    (await looker.hits(text)).filter(({ rule, start, end }) => {
      const within = read.find((token) => token.start <= start && end <= token.end);
      return !within?.hits.some((hit) => hit.rule === rule);
    }),
  );
  return written(text, read, across);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function cleanedToken(token: string, start: number, looker: Looker): Promise<Token> {
  const end = start + token.length;
  if (!token.startsWith('"')) return { start, end, text: token, hits: [] };
  const value = JSON.parse(token) as string;
  const hits = await looker.hits(value);
  const redacted = looker.settled(hits);
  const text = redacted.length === 0 ? token : JSON.stringify(replaced(value, regionsOf(redacted)));
  return { start, end, text, hits };
}

function written(text: string, read: readonly Token[], across: readonly Hit[]): string {
  const overlaps = ({ start, end }: Token) => across.find((hit) => hit.start < end && start < hit.end);
  // Signs alone cannot be replaced.
  if (across.length > 0 && !read.some(overlaps)) return "{}";
  let result = "";
  let at = 0;
  for (const token of read) {
    const hit = overlaps(token);
    result += text.slice(at, token.start) + (hit ? JSON.stringify(hit.rule.placeholder) : token.text);
    at = token.end;
  }
  return result + text.slice(at);
}
