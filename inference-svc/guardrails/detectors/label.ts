/** What a text calls the thing that follows: `order no. 4111...` and `card: 4111...` are the same digits. */
import type { Window } from "./candidates.ts";

/** Units in front of a candidate in which its label is looked for. */
export const labelReach = 48;

/** The rest of the line before a place, in lower case. */
export function labelBefore(text: Window, place: number): string {
  const before = text.before(place, labelReach);
  return before.slice(before.lastIndexOf("\n") + 1).toLowerCase();
}

/** Between the word and the number: `order no. #`, `tracking number is: "`. */
const link = String.raw`(?:[\s_-]*(?:numbers?|no\.?|num|nr\.?|ids?|codes?|refs?|is|was|are|№))*[\s"'#:=.(-]*$`;

/** Matches a label that ends in one of these words, whatever may stand between it and the number. */
export const labelled = (...words: readonly string[]): RegExp =>
  new RegExp(`(?:^|[^a-z])(?:${words.join("|")})${link}`);

/** Numbers that are nobody's: those of things, and of how things are sent and sold. */
export const ofThings = labelled(
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
