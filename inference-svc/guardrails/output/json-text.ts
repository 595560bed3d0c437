/** JSON that a model writes for a function: cleaned so that it remains JSON. Escapes hide nothing, since its strings are read as what they say. */
import { type Token, tokensOf, valueOf } from "../input/json-tokens.ts";
import type { Looker } from "./look.ts";
import { type Hit, regionsOf, replaced } from "./regions.ts";

interface CleanedToken extends Token {
  /** Without what is redacted. */
  readonly text: string;
  /** What was found in the string. */
  readonly hits: readonly Hit[];
}

/** What is no JSON is cleaned as a text. @throws as Looker.cleaned */
export async function cleanedJson(text: string, looker: Looker): Promise<string> {
  if (!isJson(text)) return looker.cleaned(text);
  const read: CleanedToken[] = [];
  for (const token of tokensOf(text)) read.push(await cleanedToken(text, token, looker));
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

async function cleanedToken(json: string, token: Token, looker: Looker): Promise<CleanedToken> {
  const text = json.slice(token.start, token.end);
  if (token.kind === "scalar") return { ...token, text, hits: [] };
  const value = valueOf(json, token);
  const hits = await looker.hits(value);
  const redacted = looker.settled(hits);
  return { ...token, text: redacted.length === 0 ? text : JSON.stringify(replaced(value, regionsOf(redacted))), hits };
}

function written(text: string, read: readonly CleanedToken[], across: readonly Hit[]): string {
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
