/** Names of persons by how they are written: after a title or an introduction, or a common given name with a further name behind it. */
import { type Window, finderOf } from "./candidates.ts";
import type { Detector } from "./detector.ts";
import { givenNames } from "./given-names.ts";
import { introduction, mention, title } from "./introductions.ts";
import { capitals, including, letters, wordUnits } from "./units.ts";

const inName = including(letters, "'’-");
/** Units in front of a name in which it may be introduced. */
const reach = 40;
const space = 0x20;
const dot = 0x2e;
const longestWord = 24;
const mostWords = 4;

/** Lower-case words within a name. */
const particles: ReadonlySet<string> = new Set(
  "van von de der den del della di da dos du la le el al bin ibn ben ter ten zu zur af av y e of".split(" "),
);

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
  if (mention.test(before)) return given || (second !== undefined && !isShouted(first)) ? name.end : undefined;
  if (!given || second === undefined || afterPlaces.has(second)) return undefined;
  return name.words.slice(1).some((word) => !isInitial(word) && !isShouted(word)) ? name.end : undefined;
}

export const personName: Detector = {
  slug: "person-name",
  engine: "pattern",
  finder: finderOf({ behind: reach, ahead: 120, first: capitals, notAfter: including(wordUnits, "@#/'’"), match }),
};
