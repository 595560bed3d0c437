import type { Random } from "../../../support/random.ts";
import { type Templates, labelledText, pickOne, fillShape } from "./template.ts";

/** Card numbers in use: first digits, length, and digits in each group. */
const brands: readonly (readonly [prefix: string, length: number, groups: readonly number[]])[] = [
  ["4", 16, [4, 4, 4, 4]],
  ["47", 16, [4, 4, 4, 4]],
  ["52", 16, [4, 4, 4, 4]],
  ["54", 16, [4, 4, 4, 4]],
  ["2302", 16, [4, 4, 4, 4]],
  ["34", 15, [4, 6, 5]],
  ["37", 15, [4, 6, 5]],
  ["36", 14, [4, 6, 4]],
  ["6011", 16, [4, 4, 4, 4]],
  ["6512", 16, [4, 4, 4, 4]],
  ["3540", 16, [4, 4, 4, 4]],
  ["6229", 16, [4, 4, 4, 4]],
];

export function checkDigit(digits: string): string {
  let sum = 0;
  for (const [index, digit] of digits.split("").toReversed().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return String((10 - (sum % 10)) % 10);
}

function digitsOf(chance: Random, prefix: string, length: number): string {
  let digits = prefix;
  while (digits.length < length - 1) digits += chance.below(10);
  return digits + checkDigit(digits);
}

function card(chance: Random): string {
  const [prefix, length, groups] = chance.pick(brands);
  const digits = digitsOf(chance, prefix, length);
  const separator = chance.pick(["", "", " ", " ", "-"]);
  let start = 0;
  return groups.map((size) => digits.slice(start, (start += size))).join(separator);
}

/** A card number with a wrong check digit. */
function mistyped(chance: Random): string {
  const digits = card(chance);
  return digits.slice(0, -1) + ((Number(digits.at(-1)) + 1 + chance.below(9)) % 10);
}

export const creditCardTemplates: Templates = {
  positive: [
    "Kunde zahlt mit {card}, gültig bis {month}/30",
    "so the front desk wrote down {card} on a sticky note",
    "> {card}\nThat one was stolen in Lisbon.",
    'charge.create(number="{card}", cvc="{small}")',
    "transcript 00:4{small}: 'the number is {card}, got it?'",
    "name_on_card,number\nM Lee,{card}\nT Roe,{card}",
    "refund both: {card} & {card}",
    "Apple Pay falls back to {card}.",
    'POST /v1/cards {"pan": "{card}"}',
    "* old: {card}\n* new: {card}",
    "il numero è {card}, scadenza {month}/28",
    "ok {card} 0{month}",
    "[payment] {card} -> approved",
    "Numer karty: {card}",
    "expired ({card})? use another",
  ],
  negative: [
    "typed {mistyped}, the site said invalid",
    "{mistyped}",
    "device {mac} reported {micros}",
    "frame {micros}: x={quad} y={quad} w={quad} h={quad}",
    "voucher {starts9} is valid until {date}",
    "SWIFT/IBAN: {iban}",
    "book: {isbn}, second edition",
    "dhl {long}",
    "sha1sum: {sha}  backup.tar",
    "{coordinates}",
    "object {uuid} moved to {uuid}",
    "nonce {starts1}, salt {hex16}",
    "licence key {licence}",
    "Kontostand {money}",
    "meter {starts0} reads {quad}",
    "pixel data {quad}-{quad}-{quad}",
    "tel +49 {quad} {quad} {small}",
    "trace-id: {trace}{trace}",
    "primes: 7919 7927 7933 7937 7949",
    "fib 1134903170 1836311903 2971215073",
    "ran {micros} iterations in {small} s",
    "order {card16}",
    "Auftrag Nr. {starts1}",
    "order id: {card16}",
  ],
  fillers: {
    card: labelledText(card),
    mistyped,
    card16: (chance) => digitsOf(chance, "4", 16),
    month: fillShape("0#", "1#"),
    small: fillShape("##", "###", "####"),
    quad: fillShape("####"),
    code: fillShape("^^####", "^#^#^#"),
    time: fillShape("12:4#:0#", "2026-03-1#T0#:1#:2#Z"),
    date: fillShape("2026-0#-1#"),
    long: fillShape("1Z####^####^######", "00############", "9400##############"),
    trace: fillShape("&&&&&&&&&&&&&&&&"),
    uuid: fillShape("&&&&&&&&-&&&&-4&&&-a&&&-&&&&&&&&&&&&"),
    micros: fillShape("17##############"),
    millis: fillShape("17###########"),
    isbn: fillShape("978-3-##-######-#", "978##########"),
    starts1: fillShape("1###############", "10##-####-####-####"),
    starts9: fillShape("9###############"),
    starts0: fillShape("0###############"),
    sha: fillShape("&".repeat(40)),
    iban: fillShape("DE## #### #### #### #### ##", "FR## #### #### #### #### #### ###"),
    coordinates: fillShape("48.#######, 11.#######"),
    licence: fillShape("^^^^-####-####-^^##"),
    hex16: fillShape("&&&&&&&&&&&&&&&&"),
    money: fillShape("$#,###.##", "#.###,## €"),
    mac: pickOne("00:1b:44:11:3a:b7", "3c:22:fb:90:ee:01"),
  },
};
