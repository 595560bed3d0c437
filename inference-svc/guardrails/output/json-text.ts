/** JSON that a model writes for a function: cleaned so that it remains JSON. Escapes hide nothing, since its strings are read as what they say. */
import { replaced } from "../../turn/replaced.ts";
import { isJson } from "../json-form.ts";
import { type Token, tokensOf, valueOf } from "../json-tokens.ts";
import type { Looker } from "./look.ts";
import { type Hit, regionsOf } from "./regions.ts";

interface CleanedToken extends Token {
  /** Without what is redacted. */
  readonly text: string;
  /** What was found in the string. */
  readonly hits: readonly Hit[];
}

/** What is no JSON is cleaned as a text. @throws as Looker.cleaned */
export async function cleanedJson(text: string, looker: Looker): Promise<string> {
  if (!(await looker.through(isJson(text)))) return looker.cleaned(text);
  const read: CleanedToken[] = [];
  for (const token of tokensOf(text)) {
    if (token) read.push(await cleanedToken(text, token, looker));
    await looker.breathe();
  }
  const hits = await looker.hits(text);
  // What was found in a string is replaced there; what remains goes over several, or is found in the signs between them.
  await looker.breathe();
  const across = looker.settled(hits.filter((hit) => !isWithin(hit, read[indexAt(read, hit.start)])));
  await looker.breathe();
  return written(text, read, across);
}

const isWithin = (hit: Hit, token: CleanedToken | undefined): boolean =>
  token !== undefined &&
  token.start <= hit.start &&
  token.hits.some(({ rule }) => rule === hit.rule) &&
  hit.end <= token.end;

/** Of the first token that ends behind the position. */
function indexAt(read: readonly Token[], position: number): number {
  let from = 0;
  for (let to = read.length; from < to; ) {
    const middle = (from + to) >> 1;
    if ((read[middle] as Token).end > position) to = middle;
    else from = middle + 1;
  }
  return from;
}

async function cleanedToken(json: string, token: Token, looker: Looker): Promise<CleanedToken> {
  const text = json.slice(token.start, token.end);
  if (token.kind === "scalar") return { ...token, text, hits: [] };
  const value = await looker.through(valueOf(json, token));
  const hits = await looker.hits(value);
  const redacted = looker.settled(hits);
  return { ...token, text: redacted.length === 0 ? text : JSON.stringify(replaced(value, regionsOf(redacted))), hits };
}

function written(text: string, read: readonly CleanedToken[], across: readonly Hit[]): string {
  const texts = read.map((token) => token.text);
  let isReplaced = across.length === 0;
  for (const { start, end, rule } of across) {
    for (let index = indexAt(read, start); (read[index]?.start ?? end) < end; index++) {
      texts[index] = JSON.stringify(rule.placeholder);
      isReplaced = true;
    }
  }
  // Signs alone cannot be replaced.
  if (!isReplaced) return "{}";
  let result = "";
  let at = 0;
  for (const [index, { start, end }] of read.entries()) {
    result += text.slice(at, start) + texts[index];
    at = end;
  }
  return result + text.slice(at);
}
