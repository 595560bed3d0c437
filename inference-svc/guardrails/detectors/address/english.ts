/** `221B Baker Street`: a number, up to four words of a name, and what kind of street it is. */
import type { Window } from "../candidates.ts";
import { digits } from "../units.ts";
import { tailAt } from "./tail.ts";
import { type Word, bare, isName, numberAt, space, wordAt } from "./words.ts";

/** What an English street ends with. */
const types =
  "street st avenue ave av road rd lane ln drive dr boulevard blvd court ct place pl square sq way terrace ter highway hwy parkway pkwy circle cir crescent cres close trail trl alley mews gardens grove row wharf quay loop turnpike pike plaza walk";
const endsEnglish: ReadonlySet<string> = new Set(types.split(" "));
/** Types that are common words, too: behind one digit and one word, more of an address must follow. */
const ambiguous: ReadonlySet<string> = new Set(
  "way place row close walk court drive square circle loop trail grove gardens plaza st pl ct dr".split(" "),
);
/** How far and how long, not which: 15 Minutes Drive. */
const measures = /^(?:Minutes?|Mins?|Hours?|Days?|Miles?|Weeks?|Wheel|Inch|Foot)$/;
const ordinals = /^\d{1,3}(?:st|nd|rd|th)$/;
const directions = /^(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\.?$/;
const connects = /^(?:of|the|St|Saint|la|el|de|del|los|las|San|Santa)$/;

/** End of the name and type that start here behind a house number: the longest that are one. */
export function englishAt(text: Window, start: number, number: string): number | undefined {
  let found: number | undefined;
  let named = 0;
  let measured = false;
  let place = start;
  for (let count = 0; count < 5; count++) {
    const digit = digits[text.at(place)] === 1;
    const word = digit ? numberAt(text, place) : wordAt(text, place);
    if (word.text === "" || (digit && !ordinals.test(word.text))) break;
    if (!digit && !isName(word.text) && !connects.test(word.text)) break;
    const type = bare(word.text);
    if (named > 0 && !measured && endsEnglish.has(type) && isName(word.text)) {
      const end = englishEnd(text, word);
      if (!ambiguous.has(type) || named > 1 || number.length > 1 || tailAt(text, end) > end) found = end;
    }
    if (!directions.test(word.text) && word.text !== "The") named++;
    measured = measures.test(word.text);
    place = word.end + 1;
    if (text.at(word.end) !== space) break;
  }
  return found;
}

/** Behind the type a direction may stand; its dot is an abbreviation's. */
function englishEnd(text: Window, type: Word): number {
  const isEnd = type.text.endsWith(".") && bare(type.text).length > 5;
  const end = isEnd ? type.end - 1 : type.end;
  if (text.at(end) !== space) return end;
  const next = wordAt(text, end + 1);
  return directions.test(next.text) ? next.end : end;
}
