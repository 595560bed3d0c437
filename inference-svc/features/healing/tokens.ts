/** Reads values other than strings and containers, in the spelling of JSON or of other languages. */

/** A value in the text, with its form in JSON. */
export interface Token {
  readonly end: number;
  /** The token as JSON; unchanged if it was already JSON. */
  readonly json: string;
  /** Whether the token may be cut off by the end of the text: `12` may be the beginning of `123`, and `tru` that of a word. */
  readonly open: boolean;
  /** Set for a string that is not in quotes. */
  readonly isBare?: true;
}

const number = /[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/y;
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** Spellings of JSON constants in other languages. Values without a counterpart in JSON become null. */
const words: ReadonlyMap<string, string> = new Map([
  ...["true", "True", "TRUE"].map((word) => [word, "true"] as const),
  ...["false", "False", "FALSE"].map((word) => [word, "false"] as const),
  ...["null", "Null", "NULL", "None", "none", "nil", "undefined"].map((word) => [word, "null"] as const),
  ...["NaN", "nan", "Infinity", "-Infinity", "+Infinity", "inf", "-inf"].map((word) => [word, "null"] as const),
]);
const word = /[-+]?[A-Za-z]+/y;

/** Matches the characters of a value without quotes. */
const bare = /[^\s,:;{}[\]"'`()<>=][^,:;{}[\]"`()<>=\n\r]*/y;
/** Matches the first character of a word, or of something other than a number that starts with a digit, such as a date. */
const bareStart = /[\p{L}\p{N}_$]/u;

const endsToken = /[\s,:}\]/#]|$/y;

const isAt = (pattern: RegExp, text: string, at: number): boolean => {
  pattern.lastIndex = at;
  return pattern.test(text);
};

/** @returns undefined when no value starts at this place */
export function tokenAt(text: string, at: number): Token | undefined {
  return numberAt(text, at) ?? wordAt(text, at) ?? bareAt(text, at);
}

function numberAt(text: string, at: number): Token | undefined {
  if (!isAt(number, text, at)) return undefined;
  const end = number.lastIndex;
  if (!isAt(endsToken, text, end)) return undefined;
  const written = text.slice(at, end);
  const json = jsonNumber.test(written) ? written : corrected(written);
  return json === undefined ? undefined : { end, json, open: end === text.length };
}

/** Corrects numbers such as `+5`, `.5` and `5.`. @returns undefined for digits after a leading zero, such as 007, which are no number */
function corrected(written: string): string | undefined {
  const json = written
    .replace(/^\+/, "")
    .replace(/^(-?)\./, "$10.")
    .replace(/\.(?=$|[eE])/, "");
  return jsonNumber.test(json) ? json : undefined;
}

function wordAt(text: string, at: number): Token | undefined {
  if (!isAt(word, text, at)) return undefined;
  const end = word.lastIndex;
  const json = words.get(text.slice(at, end));
  return json === undefined || !isAt(endsToken, text, end) ? undefined : { end, json, open: false };
}

/** Reads a string without quotes, or without its opening quote. */
function bareAt(text: string, at: number): Token | undefined {
  if (!isAt(bare, text, at) || !bareStart.test(text[at] as string)) return undefined;
  const end = bare.lastIndex;
  const written = text.slice(at, end).trimEnd();
  if (/[\\\p{Cc}]/u.test(written)) return undefined;
  const lost = text[end] === '"' ? 1 : 0;
  return {
    end: lost === 1 ? end + 1 : at + written.length,
    json: JSON.stringify(written),
    open: true,
    isBare: true,
  };
}
