/** An alignment rule evaluated exactly, without a model. */
import type { Message } from "../message.ts";

export interface LocalRule {
  /** Whether the rule decides every well-formed message without a judge. */
  readonly isTotal: boolean;
  /** Whether the message breaks the rule; undefined when only the judge can decide. */
  readonly isBroken: (message: Message) => boolean | undefined;
  /**
   * Whether a message with this beginning breaks the rule whatever follows. Its text may end within a word; unfinished calls have no arguments yet. Absent
   * for rules that later text can satisfy.
   */
  readonly isBrokenForGood?: (begun: Message) => boolean;
}

/** A form of rule, recognized by its wording. */
export interface Template {
  /** Matches the text of a whole rule, in any case and without its final punctuation. */
  readonly form: RegExp;
  /** Makes the rule. @returns undefined when the text only resembles this form */
  readonly read: (parts: readonly (string | undefined)[], context: Context) => LocalRule | undefined;
}

export interface Context {
  /** Names of the tools in the request. */
  readonly tools: ReadonlySet<string>;
}

export const totalRule = (isBroken: LocalRule["isBroken"]): LocalRule => ({ isTotal: true, isBroken });

/** A rule that stays broken whatever text is added. */
export const lastingRule = (isBroken: (message: Message) => boolean): LocalRule => ({
  isTotal: true,
  isBroken,
  isBrokenForGood: isBroken,
});

/** A rule that decides only some messages; the others need a judge. */
export const partialRule = (isBroken: LocalRule["isBroken"]): LocalRule => ({ isTotal: false, isBroken });

/** All text the reader sees, including refusals and audio transcripts. */
export const visibleTextOf = ({ content, refusal, audio }: Message): string =>
  [content, refusal, audio?.transcript].filter((text) => typeof text === "string").join("\n");

/** Phrases shared by rules, as parts of regular expressions. */
export const neverPhrase = "(?:never|do not|don't|(?:you )?(?:must|may|should|shall) (?:not|never))";
export const replyPhrase =
  "(?:the |your |each |every |any )?(?:content|reply|replies|answer|answers|response|responses|message|messages|text)";
export const mustPhrase = "(?:must|should|shall|has to|have to|needs to|need to|always)";

const words = [
  "zero",
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
];

/** Pattern for a whole number in digits, or a small number in words. */
export const countPattern = `(\\d{1,6}|${["a", "an", ...words].join("|")})`;

export function parseCountPhrase(word = ""): number {
  const lower = word.toLowerCase();
  if (/^\d+$/.test(lower)) return Number(lower);
  return lower === "a" || lower === "an" ? 1 : words.indexOf(lower);
}

/** Pattern for a text in quotation marks of any kind; only the matching group is set. */
export const quotedPattern = `(?:"([^"]+)"|\u201c([^\u201d]+)\u201d|'([^']+)'|\u2018([^\u2019]+)\u2019|\`([^\`]+)\`)`;

export const firstMatchOf = (parts: readonly (string | undefined)[]): string =>
  parts.find((part) => part !== undefined) ?? "";
