/** Streets of the European continent: what kind they are stands in front (`rue`, `calle`, `via`) or at the end of the word (`-straße`, `-gracht`). */
import type { Window } from "../candidates.ts";
import { isName, space, wordAt } from "./words.ts";

/** What a street begins with. */
export const beginsRomance =
  /^(?:rue|avenue|av|boulevard|bd|place|chemin|impasse|allée|quai|cours|calle|avenida|avda|paseo|plaza|carrer|camino|via|viale|piazza|piazzale|corso|largo|vicolo|rua|travessa|praça|ulica|ul)\.?$/i;
const connects =
  /^(?:de|du|des|la|le|les|l'|d'|del|della|dei|di|da|do|dos|das|los|las|el|the|of|y|et|St|Ste|Saint|Sainte|San|Santa)$/;
/** What a street of the Germanic and Nordic languages ends with. */
const endsGermanic =
  /^[\p{Lu}][\p{L}.'’-]{2,}(?:straße|strasse|str\.|gasse|allee|platz|weg|ring|damm|ufer|steig|chaussee|straat|laan|plein|gracht|kade|vej|gade|gatan|vägen|veien|gata|katu)$/iu;

/** After rue, calle, via: connecting words and at least one name. */
export function romanceAt(text: Window, start: number): number | undefined {
  let end: number | undefined;
  let place = start;
  for (let count = 0; count < 6 && text.at(place) === space; count++) {
    const word = wordAt(text, place + 1);
    if (word.text === "") break;
    if (isName(word.text) || /^[dl]['’]\p{Lu}/u.test(word.text))
      end = word.text.endsWith(".") ? word.end - 1 : word.end;
    else if (!connects.test(word.text)) break;
    place = word.end;
  }
  return end;
}

/** One to three words, the last of which says street, alone or as its end. */
export function germanicAt(text: Window, start: number): number | undefined {
  let place = start;
  for (let count = 0; count < 3; count++) {
    const word = wordAt(text, place);
    if (!isName(word.text)) return undefined;
    if (endsGermanic.test(word.text)) return word.end;
    if (count > 0 && /^(?:Straße|Strasse|Str\.|Allee|Platz|Weg|Ring|Damm|Ufer|Gasse)$/.test(word.text)) return word.end;
    if (text.at(word.end) !== space) return undefined;
    place = word.end + 1;
  }
  return undefined;
}
