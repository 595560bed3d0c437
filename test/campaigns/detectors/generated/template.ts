/** Templates of cases: texts with {places} that are filled at random. Marked fillers are the expected findings. */
import type { Random } from "../../../support/random.ts";

export type Filler = (chance: Random) => string;
export type Fillers = Readonly<Record<string, Filler>>;

export interface Templates {
  /** Texts that contain a finding. */
  readonly positive: readonly string[];
  /** Texts that contain no finding but resemble one. */
  readonly negative: readonly string[];
  readonly fillers: Fillers;
}

export const labelledText =
  (filler: Filler): Filler =>
  (chance) =>
    `⟦${filler(chance)}⟧`;

export const pickOne =
  (...values: readonly string[]): Filler =>
  (chance) =>
    chance.pick(values);

/** Fills a form at random: # stands for a digit, ^ for a capital, % for a letter or digit, & for a hexadecimal digit. */
export const fillShape =
  (...shapes: readonly string[]): Filler =>
  (chance) =>
    chance.pick(shapes).replace(/[#^%&]/g, (sign) => chance.pick(alphabets[sign] as string[]));

const alphabets: Readonly<Record<string, string[]>> = {
  "#": "0123456789".split(""),
  "^": "ABCDEFGHIJKLMNOPQRSTUVWXYZ".split(""),
  "%": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".split(""),
  "&": "0123456789abcdef".split(""),
};

export const fillTemplate = (template: string, fillers: Fillers, chance: Random): string =>
  template.replace(/\{(\w+)\}/g, (place, name: string) => fillers[name]?.(chance) ?? place);
