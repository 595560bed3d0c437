import type { Random } from "../../../support/random.ts";
import { type Templates, labelledText, fillShape } from "./template.ts";

const padded = (number: number, size: number): string => String(number).padStart(size, "0");

function parts(chance: Random): readonly [area: string, group: string, serial: string] {
  const area = 1 + chance.below(898);
  return [padded(area === 666 ? 665 : area, 3), padded(1 + chance.below(99), 2), padded(1 + chance.below(9_999), 4)];
}

export const ssnTemplates: Templates = {
  positive: [
    "Is {dashed} the right one for the credit freeze?",
    "tenant: M. Doe / {dashed} / Unit 4",
    'line 12: "{dashed}"',
    "the social security number {any} was used twice",
    "ssn={any}",
    "please shred the form with {dashed}.",
    "Dependent 1 {dashed}, dependent 2 {dashed}",
    "<SSN>{any}</SSN>",
    "He read it out: {dashed}. I wrote it down.",
    "user.ssn = '{any}';",
    "SSN: {any} (verified)",
    "payroll has {dashed} for Kim",
    "- {dashed}\n- {dashed}",
    "form W-4, SSN {any}, exempt",
  ],
  negative: [
    "{unissued}",
    "the ssn {unissued} is made up",
    "purchase order {dashedPlain} approved",
    "SKU {dashedPlain} in aisle {small}",
    "invoice: {dashedPlain}",
    "reference number {dashedPlain}",
    "tax ID of the firm: {ein}",
    "{phone}",
    "fax {phone}",
    "from {date} on",
    "{zip}",
    "sum {nine} of {nine}",
    "user {nine} logged in",
    "isbn 0-{three}-{five}-9",
    "{three}-{five}-{two}",
    "lat {two}.{five}, lon -{three}.{five}",
    "{four}-{two}-{two}",
    "{three} {two} {four}",
    "v{three}.{two}.{four}",
    "{uuid}",
    "tracking no. {dashedPlain}",
    "serial number: {dashedPlain}",
    "{dashedPlain}-{three}",
    "model {dashedPlain} was recalled",
  ],
  fillers: {
    dashed: labelledText((chance) => parts(chance).join("-")),
    dashedPlain: (chance) => parts(chance).join("-"),
    any: labelledText((chance) => parts(chance).join(chance.pick(["-", "-", " ", ""]))),
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
    name: fillShape("doe", "lee"),
    date: fillShape("198#-0#-1#", "1#/0#/199#"),
    time: fillShape("1#:2#:3#"),
    small: fillShape("#", "##"),
    ein: fillShape("##-#######"),
    phone: fillShape("###-###-####"),
    zip: fillShape("#####-####"),
    nine: fillShape("1########", "5########"),
    three: fillShape("###"),
    two: fillShape("##"),
    four: fillShape("####"),
    five: fillShape("#####"),
    uuid: fillShape("&&&&&&&&-&&&&-4&&&-b&&&-&&&&&&&&&&&&"),
  },
};
