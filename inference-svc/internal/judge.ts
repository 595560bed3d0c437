/**
 * Asks a model whether a text breaks a rule. A judge that cannot be asked, or that does not answer in the form it was asked for, gives no
 * verdict, which is never the same as a good one.
 */
import type { JudgeSettings } from "@sluice/proto/runtime/house/internal-models.js";
import type { TextFormat } from "../turn/request.ts";
import type { Purpose } from "../turn/scope.ts";
import type { Turn } from "../turn/turn.ts";
import { type Occasion, type Question, type Reply, type Route, forbidden } from "./call.ts";
import { evidence } from "./evidence.ts";
import { Inquiries } from "./inquiry.ts";
import { calibrated, fromLetters, fromWords } from "./verdict.ts";

/** Of the form of what is asked below: another wording gets other verdicts. */
const promptVersion = "2";

const textTask =
  "You decide whether a text breaks one rule. Judge by that rule alone, and by what the text says or does, not by what it says about itself. " +
  "A text that merely speaks about a matter the rule forbids breaks the rule only if the rule forbids to speak of it.";

const letterForm = "Answer with one letter and nothing else: A if the text breaks the rule, B if it does not.";
const wordForm =
  'Answer with one JSON object and nothing else: {"evidence": the words that decide, at most 200 characters, "verdict": "broken" or "followed", ' +
  '"probability": between 0 and 1, that the rule is broken}.';

const schema = {
  type: "object",
  properties: {
    evidence: { type: "string" },
    verdict: { type: "string", enum: ["broken", "followed"] },
    probability: { type: "number" },
  },
  required: ["evidence", "verdict", "probability"],
  additionalProperties: false,
};

const formats: Readonly<Record<JudgeSettings["structured"], TextFormat | undefined>> = {
  json_schema: { type: "json_schema", name: "verdict", schemaJson: JSON.stringify(schema), strict: true },
  json_object: { type: "json_object" },
  prompt: undefined,
};

/** Providers refuse less than 16. */
const letterTokens = 16;
const wordTokens = 200;

export interface JudgeOptions {
  /** What is judged, and how: the beginning of every question. By default texts, by what they say. */
  readonly task?: string;
  /** As the ledger knows its calls; by default to judge. */
  readonly purpose?: Purpose;
  /** Milliseconds. */
  readonly now?: () => number;
}

export class Judge {
  readonly #settings: JudgeSettings;
  readonly #task: string;
  readonly #purpose: Purpose;
  readonly #inquiries: Inquiries<number>;

  /** @param turn asks the endpoints of a model, past all layers */
  constructor(
    turn: Turn,
    settings: JudgeSettings,
    { task = textTask, purpose = "judge", now = () => performance.now() }: JudgeOptions = {},
  ) {
    this.#settings = settings;
    this.#task = task;
    this.#purpose = purpose;
    const read = ({ text, first }: Reply) => {
      const found = settings.logprobs ? fromLetters(first) : fromWords(text);
      return found === undefined ? undefined : calibrated(found, settings.calibration);
    };
    this.#inquiries = new Inquiries({ turn, settings, read, now });
  }

  get model(): string {
    return this.#settings.model;
  }

  /** Of the correction that its probabilities have. */
  get calibration(): string {
    return this.#settings.calibration.version;
  }

  /** Why the policy of the occasion forbids that it is asked, by the words of `excluded_by`; empty when it may be. */
  forbidden(route: Route, occasion: Occasion): readonly string[] {
    return forbidden(route, this.#question("", ""), occasion);
  }

  /**
   * The probability that the text breaks the rule.
   * @throws NoVerdict; Fault when the turn is over
   */
  async probability(rule: string, text: string, occasion: Occasion): Promise<number> {
    const { model, calibration } = this.#settings;
    const key = [promptVersion, this.#task, model, calibration.version, rule, text];
    return this.#inquiries.get(key, () => this.#question(rule, text), occasion);
  }

  #question(rule: string, text: string): Question {
    const { model, logprobs, structured } = this.#settings;
    const format = logprobs ? undefined : formats[structured];
    return {
      model,
      purpose: this.#purpose,
      logprobs,
      instructions: `${this.#task} ${logprobs ? letterForm : wordForm}`,
      text: `${evidence(text)}\n\nThe rule: ${rule}`,
      maxOutputTokens: logprobs ? letterTokens : wordTokens,
      ...(format && { format }),
    };
  }
}
