/** Names of persons by how they are written: after a title or an introduction, or a common given name with a further name behind it. */
import { type Window, finderOf } from "./candidates.ts";
import type { Detector } from "./detector.ts";
import { givenNames } from "./given-names.ts";
import { capitals, including, letters, wordUnits } from "./units.ts";

const inName = including(letters, "'’-");
const space = 0x20;
const dot = 0x2e;
const longestWord = 24;
const mostWords = 4;

/** Lower-case words within a name. */
const particles: ReadonlySet<string> = new Set(
  "van von de der den del della di da dos du la le el al bin ibn ben ter ten zu zur af av y e of".split(" "),
);

/** Titles. A name of one word is enough after them. */
const title =
  /(?:^|[^\p{L}])(?:Mr|Mrs|Ms|Miss|Mister|Mx|Dr|Prof|Professor|Doctor|Sir|Dame|Lady|Lord|Madam|Herrn?|Frau|Fräulein|Monsieur|Madame|Mademoiselle|Mme|Mlle|Señora?|Sra?|Signora?|Sig|Dott|Senhora?|Don|Doña|Rev|Reverend|Father|Sister|Capt|Captain|Sgt|Lt|Judge|Justice|Nurse|Senator|Officer|Agent|Dhr|Mevr|Pan|Pani)\.? (?:(?:Dr|Prof)\.? )?$/u;
/** Words by which somebody is introduced or named in a form. */
const introduction =
  /(?:^|[^\p{L}])(?:[Mm]y (?:full |first |last |sur|legal )?name(?: is|'s|:)|[Nn]ame (?:is|was)|I am called|[Cc]all me|[Hh]er name is|[Hh]is name is|(?:[Ff]ull|[Ff]irst|[Ll]ast|[Pp]atient|[Cc]ustomer|[Cc]ontact|[Ee]mployee|[Aa]pplicant|[Aa]ccount [Hh]older|[Cc]ardholder|[Pp]assenger|[Gg]uest|[Tt]enant|[Ss]tudent|[Bb]eneficiary|[Rr]ecipient|[Aa]uthor|[Ww]itness)(?: [Nn]ame)?:|(?:^|\n)(?:[Nn]ame|NAME|[Ff]rom|[Tt]o|[Cc]c|[Aa]ttn|[Ss]igned|[Vv]orname|[Nn]achname|[Nn]om|[Nn]ombre|[Nn]ome):|[Ss]igned(?: by)?,?|(?:[Ii]ch hei(?:ß|ss)e|[Mm]ein [Nn]ame ist|[Jj]e m'appelle|[Mm]e llamo|[Mm]i nombre es|[Mm]i chiamo|[Mm]eu nome é|[Ii]k heet))[ \n]+$/u;
/** Where a letter names whom it is for or from. */
const letter =
  /(?:^|[^\p{L}])(?:[Tt]his is|Dear|Hi|Hello|Hey|Hallo|Liebe[r]?|Cher|Chère|Estimad[oa]|Querid[oa]|Cara|Caro|(?:[Ss]incerely|[Rr]egards|[Ww]ishes|[Tt]hanks|[Cc]heers|[Yy]ours(?: truly| faithfully)?|[Gg]rüßen?|[Gg]rüße|Cordialement|Saludos|[Bb]est),?\s*\n)\s*$/u;

/** Capitals that begin no name. */
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

/** Second words that make a place, firm or thing of a given name. */
const afterPlaces: ReadonlySet<string> = new Set(
  (
    "Street Avenue Road Drive Lane Court Square Park University College School Hospital Airport Station Bridge River Lake Beach Island County City Center Centre Hills Heights " +
    "Bay Falls Springs Valley Hall House Building Tower Tech Texas Italy Institute Museum Hotel Foundation Award Prize Inc Ltd LLC GmbH Corp Company Bank Group Motors Airlines " +
    "Kit Cup Day Week Edition Framework Period Server Cloud Pro Parks Said Asked Is Was Has Will Can Deere Hopkins Morgan Chase Lewis Carlo Nicholas Day's"
  ).split(" "),
);

interface Name {
  readonly words: readonly string[];
  readonly end: number;
}

/** One capitalised word, or an initial with its dot; its end. */
function wordAt(text: Window, start: number): number | undefined {
  if (capitals[text.at(start)] !== 1) return undefined;
  let end = text.run(start, inName, longestWord + 1);
  if (end - start > longestWord) return undefined;
  while (letters[text.at(end - 1)] !== 1) end--;
  // The s of a genitive is none of the name.
  if (end - start > 3 && /['’]s$/.test(text.slice(end - 2, end))) return end - 2;
  return end - start === 1 && text.at(end) === dot ? end + 1 : end;
}

function nameAt(text: Window, start: number): Name | undefined {
  const first = wordAt(text, start);
  if (first === undefined) return undefined;
  const words = [text.slice(start, first)];
  let end = first;
  while (words.length < mostWords && text.at(end) === space) {
    const begin = skipParticles(text, end + 1);
    const next = wordAt(text, begin);
    const word = next === undefined ? "" : text.slice(begin, next);
    if (next === undefined || notNames.has(word)) break;
    words.push(word);
    end = next;
  }
  return { words, end };
}

function skipParticles(text: Window, start: number): number {
  let place = start;
  for (let count = 0; count < 2; count++) {
    const end = text.run(place, letters, 6);
    if (text.at(end) !== space || !particles.has(text.slice(place, end))) break;
    place = end + 1;
  }
  return place;
}

const isInitial = (word: string): boolean => word.endsWith(".") || word.length === 1;
const isShouted = (word: string): boolean => word.length > 1 && word === word.toUpperCase();

function match(text: Window, start: number): number | undefined {
  const name = nameAt(text, start);
  if (name === undefined || wordUnits[text.at(name.end)] === 1) return undefined;
  const [first = "", second] = name.words;
  if (notNames.has(first)) return undefined;
  const before = text.before(start, reach);
  if (title.test(before) || introduction.test(before))
    return isShouted(first) && name.words.length === 1 ? undefined : name.end;
  const given = givenNames.has(first.split("-", 1)[0] as string);
  if (letter.test(before)) return given || (second !== undefined && !isShouted(first)) ? name.end : undefined;
  if (!given || second === undefined || afterPlaces.has(second)) return undefined;
  return name.words.slice(1).some((word) => !isInitial(word) && !isShouted(word)) ? name.end : undefined;
}

const reach = 40;

export const personName: Detector = {
  slug: "person-name",
  placeholder: "[PERSON_NAME]",
  engine: "pattern",
  finder: finderOf({ behind: reach, ahead: 120, first: capitals, notAfter: including(wordUnits, "@#/'’"), match }),
};
