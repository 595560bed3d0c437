/** Names of countries for Tavily, which identifies them by English names in lower case, and rejects a search with any other name. */

/** Codes of countries for which Tavily uses the usual English name. */
const asUsual =
  "AD AE AF AL AM AO AR AT AU AZ BB BD BE BF BG BH BI BJ BN BO BR BS BT BW BY BZ CA CF CH CL CM CN CO CR CU CV CY DE DJ DK DO DZ EC EE EG " +
  "ER ES ET FI FJ FR GA GB GE GH GM GN GQ GR GT HN HR HT HU ID IE IL IN IQ IR IS IT JM JO JP KE KG KH KM KP KR KW KZ LB LI LK LR LS LT LU LV " +
  "LY MA MC MD ME MG MK ML MN MR MT MU MV MW MX MY MZ NA NE NG NI NL NO NP NZ OM PA PE PG PH PK PL PT PY QA RO RS RU RW SA SD SE SG SI SK SN " +
  "SO SS SV SY TD TG TH TJ TM TN TW TZ UA UG US UY UZ VE VN YE ZA ZM ZW";

const otherwise: Readonly<Record<string, string>> = {
  BA: "bosnia and herzegovina",
  CZ: "czech republic",
  MM: "myanmar",
  TR: "turkey",
  TT: "trinidad and tobago",
};

const usual: ReadonlySet<string> = new Set(asUsual.split(" "));
const english = new Intl.DisplayNames(["en"], { type: "region" });

/** Tavily's name of a country. @returns undefined for a country that Tavily may not know */
export function countryName(code: string): string | undefined {
  const upper = code.toUpperCase();
  return otherwise[upper] ?? (usual.has(upper) ? english.of(upper)?.toLowerCase() : undefined);
}
