/** The words of a JSON text: where its strings, names and numbers stand. */

/** What a token is; `name` is the name of a member. */
export type TokenKind = "string" | "name" | "scalar";

export interface Token {
  readonly kind: TokenKind;
  /** Of its first unit in the text, the quotation mark of a string. */
  readonly start: number;
  readonly end: number;
}

const quote = 0x22;
const backslash = 0x5c;
const structure: ReadonlySet<string> = new Set(["{", "}", "[", "]", ":", ",", " ", "\t", "\n", "\r"]);

/** @param json well-formed */
export function* tokensOf(json: string): Iterable<Token> {
  let at = 0;
  while (at < json.length) {
    if (json.charCodeAt(at) === quote) {
      const end = endOfString(json, at);
      yield { kind: isName(json, end) ? "name" : "string", start: at, end };
      at = end;
    } else if (structure.has(json[at] as string)) at++;
    else {
      const start = at;
      while (at < json.length && !structure.has(json[at] as string)) at++;
      yield { kind: "scalar", start, end: at };
    }
  }
}

/** What the token says. */
export const valueOf = (json: string, { kind, start, end }: Token): string =>
  kind === "scalar" ? json.slice(start, end) : (JSON.parse(json.slice(start, end)) as string);

export const isEscaped = (json: string, { start, end }: Token): boolean => {
  const found = json.indexOf("\\", start);
  return found !== -1 && found < end;
};

function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end !== -1 && isQuoted(json, end)) end = json.indexOf('"', end + 1);
  return end === -1 ? json.length : end + 1;
}

/** Whether the quotation mark belongs to the text. */
function isQuoted(json: string, at: number): boolean {
  let first = at;
  while (json.charCodeAt(first - 1) === backslash) first--;
  return (at - first) % 2 === 1;
}

function isName(json: string, end: number): boolean {
  let at = end;
  while (at < json.length && json.charCodeAt(at) <= 0x20) at++;
  return json[at] === ":";
}
