/** Texts for training and measuring: sentences from fixtures/injection, by themselves and between harmless ones. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { builtinDetectors } from "@sluice/inference-svc/features/guardrails/detectors/registry.js";
import type { Random } from "../../../support/random.ts";
import { root } from "../../../support/processes.ts";
import { handWrittenCases } from "../corpus.ts";

const linesOf = (name: string): readonly string[] =>
  readFileSync(join(root, "test", "fixtures", "injection", `${name}.txt`), "utf8")
    .split("\n")
    .filter((line) => line !== "");

const isSentence = (line: string): boolean => !line.startsWith("//");

/** Replaces each {choice|between|words} by one of its words. */
const chosen = (line: string, chance: Random): string =>
  line.replace(/\{([^{}]*)\}/g, (_, choices: string) => chance.pick(choices.split("|")));

export interface Sentences {
  readonly attacks: readonly string[];
  readonly benign: readonly string[];
}

export const trainingSentences = (): Sentences => ({
  attacks: linesOf("training-attacks").filter(isSentence),
  benign: linesOf("training-benign").filter(isSentence),
});

export interface ValidationTexts {
  /** Attempts that a user sends in a request. */
  readonly direct: readonly string[];
  /** Attempts hidden in a page or a tool's result. */
  readonly indirect: readonly string[];
  /** Harmless sentences, many of which contain words of attempts. */
  readonly benign: readonly string[];
  /** Harmless texts of other origins: about this project, and earlier test texts of the detectors. */
  readonly others: readonly string[];
}

/** Sentences that the training does not use. */
export function readValidationTexts(): ValidationTexts {
  const attacks = linesOf("held-out-attacks");
  const border = attacks.findIndex((line) => line.startsWith("// indirect"));
  const tried = builtinDetectors.filter(({ slug }) => slug !== "regex-prompt-injection").map(({ slug }) => slug);
  return {
    direct: attacks.slice(0, border).filter(isSentence),
    indirect: attacks.slice(border).filter(isSentence),
    benign: linesOf("held-out-benign").filter(isSentence),
    others: [
      ...linesOf("held-out-prose").filter(isSentence),
      ...tried.flatMap((slug) => handWrittenCases(slug).map(({ text }) => text)),
    ],
  };
}

/** A harmless text of one to five sentences. */
export const harmlessText = (benign: readonly string[], chance: Random): string =>
  Array.from({ length: 1 + chance.below(5) }, () => chosen(chance.pick(benign), chance)).join(
    chance.pick([". ", "\n", " "]),
  );

/** A text with an attempt: in half of the cases only the attempt, otherwise somewhere in a harmless text. */
export function attackingText(attack: string, benign: readonly string[], chance: Random): string {
  const words = chosen(attack, chance);
  if (chance.chance(0.5)) return words;
  const around = Array.from({ length: 1 + chance.below(4) }, () => chosen(chance.pick(benign), chance));
  around.splice(chance.below(around.length + 1), 0, words);
  return around.join(chance.pick([". ", "\n", " "]));
}
