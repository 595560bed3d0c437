/** Rules of a guardrail in words. A model configured by the operator judges whether a text breaks them. */
import { type Accepted, array, described, nullable, number, object, string, word } from "../../lib/validation/shape.ts";
import { judgeActions } from "../../lib/policy/guardrail-words.ts";

/** The default threshold of a rule. */
export const defaultThreshold = 0.7;

const rule = described(string({ min: 1, max: 500, identifier: true }), "What a text must or must not do, in words.");
const action = described(
  word(...judgeActions.map(({ word: action }) => action)),
  `${judgeActions.map(({ word: action, does }) => `${action} ${does}`).join(", ")}.`,
);

export const judgeRulesField = described(
  nullable(
    array(
      object(
        {
          rule,
          action,
          threshold: described(
            nullable(number({ min: 0.01, max: 1 })),
            `The probability at or above which it counts as broken; ${defaultThreshold} when absent.`,
          ),
          label: described(
            nullable(string({ min: 1, max: 100, identifier: true })),
            "Named to the client in place of the rule.",
          ),
        },
        { required: ["rule", "action"], strict: true },
      ),
      { max: 20, entry: "element" },
    ),
  ),
  "Rules in words, which the model of the role guard_judge judges by; without such a model on_error decides.",
);

const shownRule = object(
  {
    rule,
    action,
    threshold: described(number(), "The probability at or above which it counts as broken."),
    label: described(nullable(string()), "Named in place of the rule."),
  },
  { required: ["rule", "action", "threshold", "label"] },
);

/** A rule in words as it is stored, shown and enforced. */
export type JudgeRule = Accepted<typeof shownRule>;

export const judgeRulesAnswer = described(nullable(array(shownRule)), "Rules in words; null: none.");
