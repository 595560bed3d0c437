/**
 * Redacts JSON arguments a model wrote, and keeps them valid JSON. Strings are scanned after decoding, so JSON escapes
 * hide nothing.
 */
import { replaceRegions } from "../../../turn/replacements.ts";
import { isJson } from "../../../content/is-json.ts";
import { type JsonToken, tokenizeJson, decodeToken } from "../json-tokens.ts";
import type { TextScanner } from "./rules/text-scanner.ts";
import { type RuleHit, mergeHits } from "./rules/merge-hits.ts";

interface RedactedToken extends JsonToken {
  /** The token's JSON text after redaction. */
  readonly text: string;
  /** Matches within the token's value. */
  readonly hits: readonly RuleHit[];
}

/**
 * Redacts JSON arguments; invalid JSON is redacted as plain text. @throws BlockRuleMatched; Fault UNAVAILABLE when a
 * rule fails and its guardrail fails closed
 */
export async function redactJson(text: string, scanner: TextScanner): Promise<string> {
  if (!(await scanner.runSliced(isJson(text)))) return scanner.redact(text);
  const tokens: RedactedToken[] = [];
  for (const token of tokenizeJson(text)) {
    if (token) tokens.push(await redactToken(text, token, scanner));
    await scanner.pauseIfDue();
  }
  const hits = await scanner.findHits(text);
  // Matches within one string are already replaced; other matches span several tokens, or the punctuation between them.
  await scanner.pauseIfDue();
  const across = scanner.enforce(hits.filter((hit) => !isWithin(hit, tokens[indexOfTokenAt(tokens, hit.start)])));
  await scanner.pauseIfDue();
  return writeJson(text, tokens, across);
}

const isWithin = (hit: RuleHit, token: RedactedToken | undefined): boolean =>
  token !== undefined &&
  token.start <= hit.start &&
  token.hits.some(({ rule }) => rule === hit.rule) &&
  hit.end <= token.end;

/** Index of the first token that ends after a place. */
function indexOfTokenAt(tokens: readonly JsonToken[], position: number): number {
  let from = 0;
  for (let to = tokens.length; from < to; ) {
    const middle = (from + to) >> 1;
    if ((tokens[middle] as JsonToken).end > position) to = middle;
    else from = middle + 1;
  }
  return from;
}

async function redactToken(json: string, token: JsonToken, scanner: TextScanner): Promise<RedactedToken> {
  const text = json.slice(token.start, token.end);
  if (token.kind === "scalar") return { ...token, text, hits: [] };
  const value = await scanner.runSliced(decodeToken(json, token));
  const hits = await scanner.findHits(value);
  const redacted = scanner.enforce(hits);
  return {
    ...token,
    text: redacted.length === 0 ? text : JSON.stringify(replaceRegions(value, mergeHits(redacted))),
    hits,
  };
}

function writeJson(text: string, tokens: readonly RedactedToken[], across: readonly RuleHit[]): string {
  const texts = tokens.map((token) => token.text);
  let isReplaced = across.length === 0;
  for (const { start, end, rule } of across) {
    for (let index = indexOfTokenAt(tokens, start); (tokens[index]?.start ?? end) < end; index++) {
      texts[index] = JSON.stringify(rule.placeholder);
      isReplaced = true;
    }
  }
  // The text with replaced punctuation would no longer be JSON.
  if (!isReplaced) return "{}";
  let result = "";
  let at = 0;
  for (const [index, { start, end }] of tokens.entries()) {
    result += text.slice(at, start) + texts[index];
    at = end;
  }
  return result + text.slice(at);
}
