/** Alignment rules about certain words, and about the format of a text. */
import { normalizeCharacters } from "../../../content/signs/signs.ts";
import type { EvaluatedCall, Message } from "../message.ts";
import {
  type LocalRule,
  type Template,
  firstMatchOf,
  lastingRule,
  mustPhrase,
  neverPhrase,
  quotedPattern,
  replyPhrase,
  visibleTextOf,
  totalRule,
} from "./rule.ts";

/** The text in lower case and without invisible characters. */
const plain = (text: string): string => normalizeCharacters(text).toLowerCase();

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");

interface Finder {
  readonly isIn: (text: string) => boolean;
  /** Whether the words are in a text that begins with `begun`, whatever follows. */
  readonly isInForGood: (begun: string) => boolean;
}

/** Finds the words of a phrase where no letter or digit adjoins them. @returns undefined for a phrase without words */
function finder(phrase: string): Finder | undefined {
  const words = plain(phrase).trim().split(/\s+/).map(escaped).join("\\s+");
  if (words === "") return undefined;
  const adjoining = String.raw`[\p{L}\p{N}_]`;
  const found = new RegExp(`(?<!${adjoining})${words}(?!${adjoining})`, "u");
  // One more character shows that the last word has ended; a combining mark could still change the word.
  const ended = new RegExp(String.raw`(?<!${adjoining})${words}(?!${adjoining}|\p{M})[^]`, "u");
  // A sigma has another lower case at the end of a word, so it may still change.
  const isStable = !/[\u03c3\u03c2]/.test(words);
  return {
    isIn: (text) => found.test(plain(text)),
    isInForGood: (begun) => isStable && ended.test(plain(begun)),
  };
}

const phrase = `(?:the )?(?:exact )?(?:words?|phrases?|terms?|names?|texts?|strings?|sentence)? ?${quotedPattern}`;
const contain = "(?:mention|mentions|contain|contains|say|says|include|includes|use|uses|write|writes)";

/** The rule "never says X": checks the text and the arguments of tool calls. */
function saysNever({ isIn, isInForGood }: Finder): LocalRule {
  const isMentioned = ({ tool_calls: calls = [] }: Message) => calls.some((call) => textsOf(call).some(isIn));
  return {
    isTotal: true,
    isBroken: (message) => isIn(visibleTextOf(message)) || isMentioned(message),
    isBrokenForGood: (begun) => isInForGood(begun.content ?? "") || isMentioned(begun),
  };
}

/** Every string in the arguments of a tool call, without JSON escapes. */
function textsOf({ arguments: json }: EvaluatedCall): readonly string[] {
  const texts: string[] = [];
  try {
    JSON.parse(json, (key, value: unknown) => {
      texts.push(key);
      if (typeof value === "string") texts.push(value);
      return value;
    });
    return texts;
  } catch {
    return [json];
  }
}

const spelled = (text: string): string => text.normalize("NFKC").trim();

function endingWith(phrase: string): LocalRule | undefined {
  const wanted = spelled(phrase);
  return wanted === "" ? undefined : totalRule(({ content }) => !spelled(content ?? "").endsWith(wanted));
}

function startingWith(phrase: string): LocalRule | undefined {
  const wanted = spelled(phrase);
  if (wanted === "") return undefined;
  return {
    isTotal: true,
    isBroken: ({ content }) => !spelled(content ?? "").startsWith(wanted),
    isBrokenForGood: ({ content }) => {
      const start = settledPart(content ?? "")
        .normalize("NFKC")
        .trimStart();
      return !start.startsWith(wanted) && !wanted.startsWith(start);
    },
  };
}

/**
 * The beginning of a text whose normal form no later character can change. It ends before the last ASCII character,
 * which never combines with the one before it.
 */
const settledPart = (text: string): string => /^[^]*(?=[\n -~])/.exec(text)?.[0] ?? "";

const fence = /^ {0,3}(?:`{3,}|~{3,})/m;

const isJson = (content: string | null): boolean => {
  try {
    JSON.parse(content ?? "");
    return true;
  } catch {
    return false;
  }
};

const marks: Readonly<Record<string, RegExp>> = {
  "exclamation mark": /[!\uff01\u00a1]/,
  "exclamation point": /[!\uff01\u00a1]/,
  "question mark": /[?\uff1f\u00bf]/,
  "em dash": /\u2014/,
  semicolon: /;/,
  emoji: /(?![\u00a9\u00ae\u2122](?!\ufe0f))\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u,
  digit: /\p{Nd}/u,
  "capital letter": /\p{Lu}/u,
  "uppercase letter": /\p{Lu}/u,
  "lowercase letter": /\p{Ll}/u,
};

export const textTemplates: readonly Template[] = [
  {
    form: new RegExp(`(?:${neverPhrase}|${replyPhrase} ${neverPhrase}) ${contain} ${phrase}`),
    read: (parts) => {
      const found = finder(firstMatchOf(parts));
      return found && saysNever(found);
    },
  },
  {
    form: new RegExp(
      `(?:always ${contain}|${replyPhrase} ${mustPhrase} ${contain}|${replyPhrase} ${contain}) ${phrase}`,
    ),
    read: (parts) => {
      const found = finder(firstMatchOf(parts));
      return found && totalRule(({ content }) => !found.isIn(content ?? ""));
    },
  },
  {
    form: new RegExp(`(?:${replyPhrase} )?(?:${mustPhrase} )?(?:end|ends)(?: ${replyPhrase})? with ${phrase}`),
    read: (parts) => endingWith(firstMatchOf(parts)),
  },
  {
    form: new RegExp(
      `(?:${replyPhrase} )?(?:${mustPhrase} )?(?:start|starts|begin|begins)(?: ${replyPhrase})? with ${phrase}`,
    ),
    read: (parts) => startingWith(firstMatchOf(parts)),
  },
  {
    form: new RegExp(
      `(?:${replyPhrase} (?:${mustPhrase} be|is|are)|(?:always )?(?:answer|reply|respond)(?: only)?(?: in| with)|only output|output only)(?: only)? (?:valid )?json(?: only)?`,
    ),
    read: () => totalRule(({ content }) => !isJson(content)),
  },
  {
    form: new RegExp(`(?:${neverPhrase} (?:use|write|include|output)|no)(?: any| a)? (?:fenced )?code blocks?`),
    read: () => lastingRule((message) => fence.test(visibleTextOf(message))),
  },
  {
    form: new RegExp(
      `(?:${neverPhrase} (?:use|write|include)|no)(?: any| an?| the)? (${Object.keys(marks).join("|")})(?:s|es)?`,
    ),
    read: ([what = ""]) => {
      const mark = marks[what.toLowerCase()];
      return mark && lastingRule((message) => mark.test(visibleTextOf(message)));
    },
  },
];
