import type { Random } from "../../fuzz/random.ts";
import { type Templates, marked, shaped } from "./template.ts";

const padded = (number: number, size: number): string => String(number).padStart(size, "0");

function parts(chance: Random): readonly [area: string, group: string, serial: string] {
  const area = 1 + chance.below(898);
  return [padded(area === 666 ? 665 : area, 3), padded(1 + chance.below(99), 2), padded(1 + chance.below(9_999), 4)];
}

export const templates: Templates = {
  positive: [
    "yeah it's {dashed}, do you need my birthday too",
    "HR needs {dashed} by Friday",
    "Borrower 1: {dashed}\nBorrower 2: {dashed}",
    "{name},{dashed},{date}",
    "My social security number is {any} and I was born {date}",
    "the ssn on file ({any}) doesn't match",
    '{"first":"Lee","ssn":"{any}","state":"OH"}',
    "background check for {dashed} came back clean",
    "SSN {any}, DOB {date}",
    "1099 issued to {dashed}",
    "what is {dashed} used for?",
    "INSERT INTO staff (ssn) VALUES ('{any}')",
    "[{time}] lookup ssn={any} status=200",
    "* {dashed} *",
  ],
  negative: [
    "{unissued} cannot be a social security number",
    "ssn {unissued} failed validation",
    "order {dashedPlain} is on the way",
    "part {dashedPlain}, qty {small}",
    "invoice no. {dashedPlain}",
    "EIN {ein}",
    "call {phone} before noon",
    "{date} to {date}",
    "zip {zip}",
    "routing {nine}",
    "{nine} bytes were written",
    "id={nine}",
    "ISBN 0-{three}-{five}-1",
    "{three}-{two}-{five}",
    "{two}-{two}-{four}",
    "score {three}-{three}",
    "uuid {uuid}",
    "build {three}.{two}.{four}",
    "serial {dashedPlain}-{two}",
    "case number {dashedPlain}",
  ],
  fillers: {
    dashed: marked((chance) => parts(chance).join("-")),
    dashedPlain: (chance) => parts(chance).join("-"),
    any: marked((chance) => parts(chance).join(chance.pick(["-", "-", " ", ""]))),
    unissued: (chance) => {
      const [area, group, serial] = parts(chance);
      return chance.pick([
        `000-${group}-${serial}`,
        `666-${group}-${serial}`,
        `9${area.slice(1)}-${group}-${serial}`,
        `${area}-00-${serial}`,
        `${area}-${group}-0000`,
      ]);
    },
    name: shaped("doe", "lee"),
    date: shaped("198#-0#-1#", "1#/0#/199#"),
    time: shaped("1#:2#:3#"),
    small: shaped("#", "##"),
    ein: shaped("##-#######"),
    phone: shaped("###-###-####"),
    zip: shaped("#####-####"),
    nine: shaped("1########", "5########"),
    three: shaped("###"),
    two: shaped("##"),
    four: shaped("####"),
    five: shaped("#####"),
    uuid: shaped("&&&&&&&&-&&&&-4&&&-b&&&-&&&&&&&&&&&&"),
  },
};
