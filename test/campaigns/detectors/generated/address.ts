import { type Templates, labelledText, pickOne, fillShape } from "./template.ts";
import type { Random } from "../../../support/random.ts";

const number = fillShape("#8", "3##", "2###", "5", "1#A");
const english = pickOne(
  "Willow Drive",
  "Franklin Avenue",
  "Upper Hill Street",
  "Nelson Road",
  "E 14th Ave",
  "Harbor View Ct",
  "St Mary's Lane",
  "Wellington Square",
  "Peachtree Pkwy",
  "Coronation Terrace",
  "S Main St",
  "Lavender Mews",
);
const german = pickOne(
  "Schillerstraße",
  "Gartenweg",
  "Alte Landstraße",
  "Münchner Str.",
  "Rathausplatz",
  "Birkenallee",
  "Neuer Wall",
);
const french = pickOne("rue Saint-Honoré", "avenue de la Gare", "chemin des Vignes", "impasse du Moulin");
const spanish = pickOne("Calle de Alcalá", "Avenida Libertador", "Via Nazionale", "Piazza San Marco");
const city = pickOne("Boise, ID 83702", "Miami, FL 33101", "Bristol BS1 5TR", "Madison, WI 53703");

function address(chance: Random): string {
  const street = chance.below(6);
  if (street < 3)
    return `${number(chance)} ${english(chance)}${chance.pick(["", "", ", ", ", Apt 12, "]).replace(/, $/, () => `, ${city(chance)}`)}`;
  if (street === 3) return `${german(chance)} ${number(chance).toLowerCase()}${chance.pick(["", ", 70173 Stuttgart"])}`;
  if (street === 4) return `${number(chance).toLowerCase()} ${french(chance)}${chance.pick(["", ", 31000 Toulouse"])}`;
  return `${spanish(chance)} ${number(chance).toLowerCase()}`;
}

export const addressTemplates: Templates = {
  positive: [
    "he lives at {address} now",
    "Lieferadresse: {address}",
    "meet me at {address} at six",
    "{address}\n{address}",
    "pick up from {address} please",
    "from {address} to {address}",
    "address on file: {address}.",
    "I grew up at {address}!",
    "<addr>{address}</addr>",
    "Our shop, {address}, is open",
    '{"street": "{address}"}',
    "the old post at {address} burned",
  ],
  negative: [
    "{small} {unit} walk from here",
    "the {small} lane road is closed",
    "{small} Street View cars",
    "Fleet Street reporters, {small} of them",
    "Abbey Road sold {small} copies",
    "built in {year}, Park Lane was quiet",
    "level {small} Drive faster",
    "{small} Court rulings",
    "{small} Place mats",
    "top {small} Road trips",
    "{small}. Weg",
    "Ring {small}",
    "verse {small}, The Way Home",
    "{money} a month",
    "volume {small}, issue {small}",
    "Euro {year}",
    "Gate {small}B",
    "train {small} via Berlin",
    "item {small} Via Roma guidebook",
    "{small} Way Street sign",
    "{year} Ford Drive train",
  ],
  fillers: {
    address: labelledText(address),
    money: fillShape("$###", "#### €"),
    small: fillShape("#", "2#", "1##"),
    unit: pickOne("minute", "mile", "hour", "Minute"),
    year: fillShape("19##", "20##"),
  },
};
