/** A rule that is decided here, exactly. */
import type { Message } from "../message.ts";

export interface LocalRule {
  /** Whether the rule needs no judge, except for messages of a kind that no model should write. */
  readonly isTotal: boolean;
  /** Undefined when it cannot be said here. */
  readonly isBroken: (message: Message) => boolean | undefined;
  /**
   * Whether a message that begins like this breaks the rule however it goes on. Its text may end within a word; calls that have begun have no arguments
   * yet. Absent for rules that a later text can mend.
   */
  readonly isBrokenForGood?: (begun: Message) => boolean;
}

/** A form that rules may have. */
export interface Template {
  /** Matches the whole rule in any case, without its closing mark. */
  readonly form: RegExp;
  /** Undefined when the rule only looks like one of this form. */
  readonly read: (parts: readonly (string | undefined)[], context: Context) => LocalRule | undefined;
}

export interface Context {
  /** Names of the tools in the request. */
  readonly tools: ReadonlySet<string>;
}

export const total = (isBroken: LocalRule["isBroken"]): LocalRule => ({ isTotal: true, isBroken });

/** A rule that stays broken whatever is added. */
export const lasting = (isBroken: (message: Message) => boolean): LocalRule => ({
  isTotal: true,
  isBroken,
  isBrokenForGood: isBroken,
});

/** Which decides some messages alone: there must be a judge for the others. */
export const partial = (isBroken: LocalRule["isBroken"]): LocalRule => ({ isTotal: false, isBroken });

/** Everything that is said, refusals among it. */
export const saidIn = ({ content, refusal, audio }: Message): string =>
  [content, refusal, audio?.transcript].filter((text) => typeof text === "string").join("\n");

/** Words that rules share, as parts of regular expressions. */
export const never = "(?:never|do not|don't|(?:you )?(?:must|may|should|shall) (?:not|never))";
export const reply =
  "(?:the |your |each |every |any )?(?:content|reply|replies|answer|answers|response|responses|message|messages|text)";
export const must = "(?:must|should|shall|has to|have to|needs to|need to|always)";

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

/** A whole number in figures, or a small one in words. */
export const count = `(\\d{1,6}|${["a", "an", ...words].join("|")})`;

export function countOf(word = ""): number {
  const lower = word.toLowerCase();
  if (/^\d+$/.test(lower)) return Number(lower);
  return lower === "a" || lower === "an" ? 1 : words.indexOf(lower);
}

/** A text in quotation marks of any kind; its words are the one group that is set. */
export const quoted = `(?:"([^"]+)"|\u201c([^\u201d]+)\u201d|'([^']+)'|\u2018([^\u2019]+)\u2019|\`([^\`]+)\`)`;

export const firstOf = (parts: readonly (string | undefined)[]): string =>
  parts.find((part) => part !== undefined) ?? "";
