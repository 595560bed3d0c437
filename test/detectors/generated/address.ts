import { type Templates, marked, oneOf, shaped } from "./template.ts";
import type { Random } from "../../fuzz/random.ts";

const number = shaped("#1", "4##", "1###", "7", "2#B");
const english = oneOf(
  "Cedar Lane",
  "Washington Street",
  "Old Mill Road",
  "Kingsway Avenue",
  "W 3rd Street",
  "Riverside Dr",
  "MLK Jr Blvd",
  "Station Road",
  "Abbey Gardens",
  "Bow Street",
  "Cherry Tree Close",
  "NE Alberta St",
);
const german = oneOf(
  "Marktgasse",
  "Ringstraße",
  "Kölner Straße",
  "Beethovenstr.",
  "Mühlenweg",
  "Alexanderplatz",
  "Kurfürstendamm",
);
const french = oneOf("rue Victor Hugo", "boulevard Voltaire", "place de la République", "rue des Lilas");
const spanish = oneOf("Calle Serrano", "Avenida de América", "Via Garibaldi", "Paseo del Prado");
const city = oneOf("Portland, OR 97209", "Austin, TX 78701", "Leeds LS1 4AP", "Denver");

function address(chance: Random): string {
  const street = chance.below(6);
  if (street < 3)
    return `${number(chance)} ${english(chance)}${chance.pick(["", "", ", ", ", Apt 5, "]).replace(/, $/, () => `, ${city(chance)}`)}`;
  if (street === 3) return `${german(chance)} ${number(chance).toLowerCase()}${chance.pick(["", ", 50667 Köln"])}`;
  if (street === 4) return `${number(chance).toLowerCase()} ${french(chance)}${chance.pick(["", ", 69003 Lyon"])}`;
  return `${spanish(chance)} ${number(chance).toLowerCase()}`;
}

export const templates: Templates = {
  positive: [
    "we moved to {address} last week",
    "Deliver to: {address}",
    "{address}",
    "the party is at {address}, bring cake",
    "Wohnort: {address}",
    '{"line1":"{address}"}',
    "taxi from {address} to {address}",
    "Property: {address}\nRent: {money}",
    "I left my umbrella at {address}.",
    "office ({address}) closed",
    "ship {small} boxes to {address}; thanks",
    "address = '{address}'",
  ],
  negative: [
    "{small} {unit} drive to the coast",
    "a {small} lane highway",
    "{small} Street Fighter fans",
    "Wall Street lost {small} points",
    "Sesame Street season {small}",
    "Broadway shows since {year}",
    "in {year} Abbey Road was recorded",
    "chapter {small} The Road Home",
    "{small} Ring Video cameras",
    "windows {small} Drive letters",
    "{small}. Platz für {small} Personen",
    "Route {small} closed",
    "step {small} Close the lid",
    "{money} per square foot",
    "page {small}, line {small}",
    "{year} World Cup",
    "Seat {small}A, row {small}",
    "flight {small} to Rome",
    "{small} Rue the day",
    "size {small} Way too big",
  ],
  fillers: {
    address: marked(address),
    money: shaped("$###", "#### €"),
    small: shaped("#", "2#", "1##"),
    unit: oneOf("minute", "mile", "hour", "Minute"),
    year: shaped("19##", "20##"),
  },
};
