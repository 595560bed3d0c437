import type { Random } from "../../fuzz/random.ts";
import { type Templates, marked, oneOf, shaped } from "./template.ts";

/** First digits and lengths of cards that are in use, digits of a group. */
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

/** A card whose last digit is another. */
function mistyped(chance: Random): string {
  const digits = card(chance);
  return digits.slice(0, -1) + ((Number(digits.at(-1)) + 1 + chance.below(9)) % 10);
}

export const templates: Templates = {
  positive: [
    "hey, can you put the hotel on {card}? thanks",
    "USER: {card}\nUSER: exp {month}/29",
    "Zahlung mit {card} wurde abgelehnt",
    "booking {code} guaranteed with {card} ({month}/27)",
    'INSERT INTO payments VALUES ({small}, "{card}", "EUR");',
    "{time} WARN gateway refused {card} code=05",
    "1) {card}\n2) {card}\n",
    "La carte {card} expire en {month}/2028.",
    "my wife's number ends differently, it is {card}, mine is {card}",
    "<input name=cc value='{card}'>",
    "curl -d source[number]={card} -d amount={small}",
    "Gift: {card}.",
    "Please remove {card} from my profile and add {card}",
    "dial-in {small}, then type {card} followed by hash",
  ],
  negative: [
    "card {mistyped} was refused by the form",
    "please look at {mistyped}, one digit is wrong",
    "parcel {long} left the depot on {date}",
    "span {trace} took {small} ms",
    "{uuid} -> {uuid}",
    "epoch_us={micros} epoch_ms={millis}",
    "ISBN {isbn} and ISBN {isbn}",
    "row {small}: {quad} {quad} {quad}",
    "receipt no. {starts1}",
    "git show {sha}",
    "IBAN {iban}",
    "GPS {coordinates}",
    "π ≈ 3.14159265358979 and e ≈ 2.71828182845904",
    "seed {starts9} gives the same picture",
    "sensor values {quad}, {quad}, {quad}, {quad}",
    "license {licence}",
    "kernel 0x{hex16} at {time}",
    "total {money} for {small} units of {quad}",
    "meter reading {starts0}",
    "mac {mac} serial {code}-{quad}",
  ],
  fillers: {
    card: marked(card),
    mistyped,
    month: shaped("0#", "1#"),
    small: shaped("##", "###", "####"),
    quad: shaped("####"),
    code: shaped("^^####", "^#^#^#"),
    time: shaped("12:4#:0#", "2026-03-1#T0#:1#:2#Z"),
    date: shaped("2026-0#-1#"),
    long: shaped("1Z####^####^######", "00############", "9400##############"),
    trace: shaped("&&&&&&&&&&&&&&&&"),
    uuid: shaped("&&&&&&&&-&&&&-4&&&-a&&&-&&&&&&&&&&&&"),
    micros: shaped("17##############"),
    millis: shaped("17###########"),
    isbn: shaped("978-3-##-######-#", "978##########"),
    starts1: shaped("1###############", "10##-####-####-####"),
    starts9: shaped("9###############"),
    starts0: shaped("0###############"),
    sha: shaped("&".repeat(40)),
    iban: shaped("DE## #### #### #### #### ##", "FR## #### #### #### #### #### ###"),
    coordinates: shaped("48.#######, 11.#######"),
    licence: shaped("^^^^-####-####-^^##"),
    hex16: shaped("&&&&&&&&&&&&&&&&"),
    money: shaped("$#,###.##", "#.###,## €"),
    mac: oneOf("00:1b:44:11:3a:b7", "3c:22:fb:90:ee:01"),
  },
};
