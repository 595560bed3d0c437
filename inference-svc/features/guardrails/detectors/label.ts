/** Reads the label in front of a number, to distinguish `order no. 4111...` from `card: 4111...`. */
import type { CandidateWindow } from "./candidates.ts";

/** UTF-16 units in front of a candidate that are searched for its label. */
export const labelReach = 48;

/** The part of the line in front of a place, in lower case. */
export function labelBefore(text: CandidateWindow, place: number): string {
  const before = text.before(place, labelReach);
  return before.slice(before.lastIndexOf("\n") + 1).toLowerCase();
}

/** Pattern for the text between a label and its number, as in `order no. #` and `tracking number is: "`. */
const link = String.raw`(?:[\s_-]*(?:numbers?|no\.?|num|nr\.?|ids?|codes?|refs?|is|was|are|№))*[\s"'#:=.(-]*$`;

/** A pattern for labels that end with one of these words, with any text that may link word and number. */
export const labelEndingWith = (...words: readonly string[]): RegExp =>
  new RegExp(`(?:^|[^a-z])(?:${words.join("|")})${link}`);

/** Matches labels of goods, shipments and versions: their numbers identify things, not people. */
export const thingLabel = labelEndingWith(
  "orders?",
  "invoices?",
  "rechnung",
  "bestellung",
  "tracking",
  "shipments?",
  "parcel",
  "consignment",
  "tickets?",
  "cases?",
  "issues?",
  "incidents?",
  "references?",
  "refs?",
  "sku",
  "upc",
  "ean",
  "gtin",
  "isbn",
  "issn",
  "doi",
  "imei",
  "iccid",
  "vin",
  "serials?",
  "models?",
  "parts?",
  "items?",
  "articles?",
  "products?",
  "assets?",
  "batch",
  "lots?",
  "builds?",
  "commits?",
  "job",
  "run",
  "transactions?",
  "txn",
  "trace",
  "request",
  "session",
  "snowflake",
  "timestamp",
  "epoch",
  "barcode",
  "patent",
  "docket",
  "catalog(?:ue)?",
);
