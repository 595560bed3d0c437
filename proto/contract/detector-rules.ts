/** Detectors that are a service beside the house: the house file names them, guardrails say what follows from what they find. */
import {
  type Accepted,
  array,
  described,
  nullable,
  number,
  object,
  string,
  word,
} from "../runtime/validation/shape.ts";
import { filterActions } from "./guardrail-words.ts";

/** What is put in the place of what a detector has found of a category: `person-name` becomes `[PERSON_NAME]`. */
export const categoryPlaceholder = (category: string): string =>
  `[${category.toUpperCase().replaceAll(/[^\p{L}\p{N}]+/gu, "_")}]`;

const name = string({ min: 1, max: 100, identifier: true });
const detector = described(name, "Id of a detector under `detectors` in the house file.");
const category = described(name, "What it shall find: one of the categories that the house file gives this detector.");
const action = described(
  word(...filterActions.all),
  "When it is found: block refuses with 403, redact puts a placeholder in its place, flag reports it.",
);

export const detectorRulesField = described(
  nullable(
    array(
      object(
        {
          detector,
          category,
          action,
          threshold: described(
            nullable(number({ min: 0.01, max: 1 })),
            "The score at or above which something counts as found; the detector's own when absent.",
          ),
          label: described(
            nullable(name),
            "Named to the client in place of the category, and put in the place of what is redacted; the category in capitals and brackets when absent.",
          ),
        },
        { required: ["detector", "category", "action"], strict: true },
      ),
      { max: 20, entry: "element" },
    ),
  ),
  "What is looked for by services beside the house, such as a recognizer of names or a classifier of prompt injection. Those that the house file does not have are refused here; where one is missing later, or does not answer, on_error decides.",
);

const shownRule = object(
  {
    detector,
    category,
    action,
    threshold: described(nullable(number()), "The score from which on it counts; null: the detector's own."),
    label: described(nullable(string()), "Named in place of the category."),
  },
  { required: ["detector", "category", "action", "threshold", "label"] },
);

/** A detector rule as it is stored, shown and enforced. */
export type DetectorRule = Accepted<typeof shownRule>;

export const shownDetectorRules = described(
  nullable(array(shownRule)),
  "What is looked for by services beside the house; null: nothing.",
);
