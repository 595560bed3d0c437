/** Detects names of persons: after a title or an introduction, or as a common given name with another name after it. */
import { type CandidateWindow, buildFinder } from "./candidates.ts";
import type { BuiltinDetector } from "./detector.ts";
import { givenNames } from "./given-names.ts";
import { capitals, extendSet, letters, wordUnits } from "./unit-sets.ts";

const inName = extendSet(letters, "'’-");
/** UTF-16 units in front of a name that are searched for an introduction. */
const reach = 40;
const space = 0x20;
const dot = 0x2e;
const maxWord = 24;
const maxWords = 4;

/** Lower-case words within a name, such as `van`. */
const particles: ReadonlySet<string> = new Set(
  "van von de der den del della di da dos du la le el al bin ibn ben ter ten zu zur af av y e of".split(" "),
);

/** Capitalized words with which no name starts. */
const notNames: ReadonlySet<string> = new Set(
  (
    "A An The This That These Those It Its I We You He She They My Our Your His Her Their And Or But If In On At To For From With By Of As Is Are Was " +
    "Not No Yes All Any Some Please Thanks Thank Team Sir Madam Customer Customers User Users Support Sales Service Services Admin Administrator Everyone Everybody Folks " +
    "Dr Prof Mr Mrs Ms Herr Frau There Friends Colleague Colleagues Neighbor Hiring Manager Committee Department Editor Reader Readers World Kitty Siri Alexa Google Claude Assistant Bot " +
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September October November December " +
    "English German French Spanish Street Avenue Road Drive University College School Hospital Airport Station County City Center Centre " +
    "Inc Ltd LLC GmbH Corp Company Foundation Institute Museum Hotel Award Prize Project Server Cloud Studio Test Unit String Number None Null " +
    "Speaking Writing Calling Not Just Only About Here How What When Where Why Who Which Pepper Pibb Robot Speaker President Chairman Chair Secretary Minister " +
    "What's Damen Herren Zusammen Kundin Kunde Tutti Todos Tous Fix Update Error Warning"
  ).split(" "),
);

/** Words that make a given name in front of them a place, company or thing. */
const notSurnames: ReadonlySet<string> = new Set(
  (
    "Street Avenue Road Drive Lane Court Square Park University College School Hospital Airport Station Bridge River Lake Beach Island County City Center Centre Hills Heights " +
    "Bay Falls Springs Valley Hall House Building Tower Tech Texas Italy Institute Museum Hotel Foundation Award Prize Inc Ltd LLC GmbH Corp Company Bank Group Motors Airlines " +
    "Kit Cup Day Week Edition Framework Period Server Cloud Pro Parks Said Asked Is Was Has Will Can Deere Hopkins Morgan Chase Lewis Carlo Nicholas Day's"
  ).split(" "),
);

const anyOf = (...words: readonly string[]): string => `(?:${words.join("|")})`;
/** A pattern for words at the end of a text, with the link between them and a name. */
const ending = (words: string, link: string): RegExp => new RegExp(`(?:^|[^\\p{L}])${words}${link}$`, "u");

const titles = anyOf(
  ..."Mr Mrs Ms Miss Mister Mx Dr Prof Professor Doctor Sir Dame Lady Lord Madam Rev Reverend Father Sister".split(" "),
  ..."Capt Captain Sgt Lt Judge Justice Nurse Senator Officer Agent Herrn? Frau Fräulein Monsieur Madame".split(" "),
  ..."Mademoiselle Mme Mlle Señora? Sra? Signora? Sig Dott Senhora? Don Doña Dhr Mevr Pan Pani".split(" "),
);

/** Matches a title at the end of a text. After it, a single word is a name. */
const title = ending(titles, String.raw`\.? (?:(?:Dr|Prof)\.? )?`);

const sentences = [
  "[Mm]y (?:full |first |last |sur|legal )?name(?: is|'s|:)",
  "[Nn]ame (?:is|was)",
  "I am called",
  "[Cc]all me",
  "[Hh](?:er|is) name is",
  "[Ii]ch hei(?:ß|ss)e",
  "[Mm]ein [Nn]ame ist",
  "[Jj]e m'appelle",
  "[Mm]e llamo",
  "[Mm]i nombre es",
  "[Mm]i chiamo",
  "[Mm]eu nome é",
  "[Ii]k heet",
];
const nameFields = [
  "(?:[Ff]ull|[Ff]irst|[Ll]ast) [Nn]ame:",
  String.raw`(?:^|\n)(?:[Nn]ame|NAME|[Ff]rom|[Tt]o|[Cc]c|[Aa]ttn|[Ss]igned|[Vv]orname|[Nn]achname|[Nn]om|[Nn]ombre|[Nn]ome):`,
  "[Ss]igned(?: by)?,?",
];
/** Matches an introduction such as a sentence or a form field. After it, a single word is a name. */
const introduction = ending(anyOf(...sentences, ...nameFields), String.raw`[ \n]+`);

const persons = anyOf(
  ..."[Pp]atient [Cc]ustomer [Cc]ontact [Ee]mployee [Aa]pplicant [Cc]ardholder [Pp]assenger [Gg]uest".split(" "),
  ..."[Tt]enant [Ss]tudent [Bb]eneficiary [Rr]ecipient [Aa]uthor [Ww]itness".split(" "),
  "[Aa]ccount [Hh]older",
);
const greetings = [
  "[Tt]his is",
  ..."Dear Hi Hello Hey Hallo Lieber? Cher Chère Estimad[oa] Querid[oa] Car[oa]".split(" "),
];
const farewells = anyOf(
  ..."[Ss]incerely [Rr]egards [Ww]ishes [Tt]hanks [Cc]heers [Gg]rüßen? Cordialement Saludos [Bb]est".split(" "),
  "[Yy]ours(?: truly| faithfully)?",
);
/** Matches a greeting or mention. After it, a single word is a name only if it is a common given name. */
const mention = ending(
  anyOf(String.raw`${persons}(?: [Nn]ame)?:`, ...greetings, String.raw`${farewells},?\s*\n`),
  String.raw`\s*`,
);

interface Name {
  readonly words: readonly string[];
  readonly end: number;
}

/** End of a capitalized word, or of an initial with its dot. */
function wordAt(text: CandidateWindow, start: number): number | undefined {
  if (capitals[text.at(start)] !== 1) return undefined;
  let end = text.run(start, inName, maxWord + 1);
  if (end - start > maxWord) return undefined;
  while (letters[text.at(end - 1)] !== 1) end--;
  // The genitive's s does not belong to the name.
  if (end - start > 3 && /['’]s$/.test(text.slice(end - 2, end))) return end - 2;
  return end - start === 1 && text.at(end) === dot ? end + 1 : end;
}

function nameAt(text: CandidateWindow, start: number): Name | undefined {
  const first = wordAt(text, start);
  if (first === undefined) return undefined;
  const words = [text.slice(start, first)];
  let end = first;
  while (words.length < maxWords && text.at(end) === space) {
    const begin = skipParticles(text, end + 1);
    const next = wordAt(text, begin);
    const word = next === undefined ? "" : text.slice(begin, next);
    if (next === undefined || notNames.has(word)) break;
    words.push(word);
    end = next;
  }
  return { words, end };
}

function skipParticles(text: CandidateWindow, start: number): number {
  let place = start;
  for (let count = 0; count < 2; count++) {
    const end = text.run(place, letters, 6);
    if (text.at(end) !== space || !particles.has(text.slice(place, end))) break;
    place = end + 1;
  }
  return place;
}

const isInitial = (word: string): boolean => word.endsWith(".") || word.length === 1;
const isAllCapitals = (word: string): boolean => word.length > 1 && word === word.toUpperCase();

function match(text: CandidateWindow, start: number): number | undefined {
  const name = nameAt(text, start);
  if (name === undefined || wordUnits[text.at(name.end)] === 1) return undefined;
  const [first = "", second] = name.words;
  if (notNames.has(first)) return undefined;
  const before = text.before(start, reach);
  if (title.test(before) || introduction.test(before))
    return isAllCapitals(first) && name.words.length === 1 ? undefined : name.end;
  const given = givenNames.has(first.split("-", 1)[0] as string);
  if (mention.test(before)) return given || (second !== undefined && !isAllCapitals(first)) ? name.end : undefined;
  if (!given || second === undefined || notSurnames.has(second)) return undefined;
  return name.words.slice(1).some((word) => !isInitial(word) && !isAllCapitals(word)) ? name.end : undefined;
}

export const personName: BuiltinDetector = {
  slug: "person-name",
  engine: "pattern",
  finder: buildFinder({ behind: reach, ahead: 120, first: capitals, notAfter: extendSet(wordUnits, "@#/'’"), match }),
};
