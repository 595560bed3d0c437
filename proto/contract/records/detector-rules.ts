/**
 * Rules of a guardrail for external detectors. The configuration file defines the detectors; guardrails decide on the
 * action.
 */
import { type Accepted, array, described, nullable, number, object, string } from "../../lib/validation/shape.ts";
import { actionField } from "./content-filters.ts";

/** Placeholder for text of a category; that of `person-name` is `[PERSON_NAME]`. */
export const categoryPlaceholder = (category: string): string =>
  `[${category.toUpperCase().replaceAll(/[^\p{L}\p{N}]+/gu, "_")}]`;

const name = string({ min: 1, max: 100, identifier: true });
const detector = described(name, "Id of a detector under `detectors` in the configuration file.");
const category = described(
  name,
  "Category to look for: one of those that the configuration file lists for this detector.",
);

export const detectorRulesField = described(
  nullable(
    array(
      object(
        {
          detector,
          category,
          action: actionField,
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
  "Rules on external detectors, such as a recognizer of names or a classifier of prompt injection. A detector that the configuration file lacks is refused; when it is removed later or does not answer, on_error decides.",
);

const shownRule = object(
  {
    detector,
    category,
    action: actionField,
    threshold: described(nullable(number()), "The score from which on it counts; null: the detector's own."),
    label: described(nullable(string()), "Named in place of the category."),
  },
  { required: ["detector", "category", "action", "threshold", "label"] },
);

/** A detector rule as it is stored, shown and enforced. */
export type DetectorRule = Accepted<typeof shownRule>;

export const detectorRulesAnswer = described(nullable(array(shownRule)), "Rules on external detectors; null: none.");
