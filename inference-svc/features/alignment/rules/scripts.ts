/** Alignment rules about languages and scripts. A language is decided only if its script decides it. */
import {
  type Template,
  lastingRule,
  mustPhrase,
  neverPhrase,
  partialRule,
  replyPhrase,
  visibleTextOf,
} from "./rule.ts";

const scripts: Readonly<Record<string, RegExp>> = {
  latin: /\p{Script=Latin}/u,
  cyrillic: /\p{Script=Cyrillic}/u,
  greek: /\p{Script=Greek}/u,
  arabic: /\p{Script=Arabic}/u,
  hebrew: /\p{Script=Hebrew}/u,
  han: /\p{Script=Han}/u,
  hangul: /\p{Script=Hangul}/u,
  thai: /\p{Script=Thai}/u,
  devanagari: /\p{Script=Devanagari}/u,
};

/** Matches the letters of each language. */
const languages: Readonly<Record<string, RegExp>> = {
  russian: /\p{Script=Cyrillic}/u,
  ukrainian: /\p{Script=Cyrillic}/u,
  bulgarian: /\p{Script=Cyrillic}/u,
  greek: /\p{Script=Greek}/u,
  arabic: /\p{Script=Arabic}/u,
  hebrew: /\p{Script=Hebrew}/u,
  chinese: /\p{Script=Han}/u,
  japanese: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u,
  korean: /\p{Script=Hangul}/u,
  thai: /\p{Script=Thai}/u,
  hindi: /\p{Script=Devanagari}/u,
  english: /\p{Script=Latin}/u,
  german: /\p{Script=Latin}/u,
  french: /\p{Script=Latin}/u,
  spanish: /\p{Script=Latin}/u,
  italian: /\p{Script=Latin}/u,
  portuguese: /\p{Script=Latin}/u,
};

const letter = /\p{L}/u;
const lettersOf = (text: string): readonly string[] => Array.from(text).filter((character) => letter.test(character));

const script = `(${Object.keys(scripts).join("|")}) (?:letters|characters|script)`;

export const scriptTemplates: readonly Template[] = [
  {
    form: new RegExp(`(?:${neverPhrase} (?:use|write|include)|no)(?: any| the)? ${script}`),
    read: ([name = ""]) => {
      const own = scripts[name.toLowerCase()];
      return own && lastingRule((message) => own.test(visibleTextOf(message)));
    },
  },
  {
    form: new RegExp(`(?:only use|use only|write only in|only write in) ${script}`),
    read: ([name = ""]) => {
      const own = scripts[name.toLowerCase()];
      return own && lastingRule((message) => lettersOf(visibleTextOf(message)).some((each) => !own.test(each)));
    },
  },
  {
    form: new RegExp(
      `(?:(?:always |only )?(?:answer|reply|respond|write|speak)(?: only)?|${replyPhrase} ${mustPhrase} be) in (${Object.keys(languages).join("|")})(?: only)?`,
    ),
    read: ([name = ""]) => {
      const own = languages[name.toLowerCase()];
      // A text without any letter of the language is not in it; a text with some may be in another language with the same letters.
      return (
        own &&
        partialRule((message) => {
          const letters = lettersOf(visibleTextOf(message));
          return letters.length > 0 && !letters.some((each) => own.test(each)) ? true : undefined;
        })
      );
    },
  },
];
