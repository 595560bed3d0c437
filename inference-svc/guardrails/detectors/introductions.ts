/** What stands in front of names: titles, sentences that introduce somebody, fields of forms, beginnings and ends of letters. */

const either = (...words: readonly string[]): string => `(?:${words.join("|")})`;
/** Such words at the end of a text, and what may stand between them and a name. */
const ending = (words: string, link: string): RegExp => new RegExp(`(?:^|[^\\p{L}])${words}${link}$`, "u");

const titles = either(
  ..."Mr Mrs Ms Miss Mister Mx Dr Prof Professor Doctor Sir Dame Lady Lord Madam Rev Reverend Father Sister".split(" "),
  ..."Capt Captain Sgt Lt Judge Justice Nurse Senator Officer Agent Herrn? Frau Fräulein Monsieur Madame".split(" "),
  ..."Mademoiselle Mme Mlle Señora? Sra? Signora? Sig Dott Senhora? Don Doña Dhr Mevr Pan Pani".split(" "),
);

/** A name of one word is enough after it. */
export const title = ending(titles, String.raw`\.? (?:(?:Dr|Prof)\.? )?`);

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
const ofNames = [
  "(?:[Ff]ull|[Ff]irst|[Ll]ast) [Nn]ame:",
  String.raw`(?:^|\n)(?:[Nn]ame|NAME|[Ff]rom|[Tt]o|[Cc]c|[Aa]ttn|[Ss]igned|[Vv]orname|[Nn]achname|[Nn]om|[Nn]ombre|[Nn]ome):`,
  "[Ss]igned(?: by)?,?",
];
/** Here, too. */
export const introduction = ending(either(...sentences, ...ofNames), String.raw`[ \n]+`);

const persons = either(
  ..."[Pp]atient [Cc]ustomer [Cc]ontact [Ee]mployee [Aa]pplicant [Cc]ardholder [Pp]assenger [Gg]uest".split(" "),
  ..."[Tt]enant [Ss]tudent [Bb]eneficiary [Rr]ecipient [Aa]uthor [Ww]itness".split(" "),
  "[Aa]ccount [Hh]older",
);
const greetings = [
  "[Tt]his is",
  ..."Dear Hi Hello Hey Hallo Lieber? Cher Chère Estimad[oa] Querid[oa] Car[oa]".split(" "),
];
const farewells = either(
  ..."[Ss]incerely [Rr]egards [Ww]ishes [Tt]hanks [Cc]heers [Gg]rüßen? Cordialement Saludos [Bb]est".split(" "),
  "[Yy]ours(?: truly| faithfully)?",
);
/** One word behind it must be a given name. */
export const mention = ending(
  either(String.raw`${persons}(?: [Nn]ame)?:`, ...greetings, String.raw`${farewells},?\s*\n`),
  String.raw`\s*`,
);
