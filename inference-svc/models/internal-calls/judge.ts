/**
 * Asks a judge model whether a text breaks a rule. A judge that cannot be called, or whose answer does not have the
 * requested form, gives no verdict, and this never counts as a good verdict.
 */
import type { JudgeSettings } from "@sluice/proto/config/internal-models.js";
import type { TextFormat } from "../../turn/request.ts";
import type { Purpose } from "../../turn/trace.ts";
import type { Turn } from "../../turn/turn.ts";
import {
  type CallContext,
  type InternalQuestion,
  type Reply,
  type RouteRequest,
  findForbiddingReasons,
} from "./internal-call.ts";
import { quoteEvidence } from "../../content/quoted-data.ts";
import { JudgeClient } from "./judge-client.ts";
import { calibrate, probabilityFromLetters, probabilityFromText } from "./judge-verdict.ts";

/** Version of the prompt, a part of the cache key; must be increased when the prompt changes. */
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

/** Output token limit for an answer of one letter; providers reject limits below 16. */
const letterTokens = 16;
const wordTokens = 200;

export interface JudgeOptions {
  /** The start of every prompt: how texts are judged. The default is to judge their wording only. */
  readonly task?: string;
  /** Purpose of the calls in the ledger; `judge` by default. */
  readonly purpose?: Purpose;
  /** Returns the time in milliseconds. */
  readonly now?: () => number;
}

/** Properties of a judge that are known without calling it. */
export class JudgeProfile {
  protected readonly settings: JudgeSettings;
  protected readonly task: string;
  readonly #purpose: Purpose;

  constructor(settings: JudgeSettings, { task = textTask, purpose = "judge" }: JudgeOptions = {}) {
    this.settings = settings;
    this.task = task;
    this.#purpose = purpose;
  }

  get model(): string {
    return this.settings.model;
  }

  /** Version of the correction of the judge's probabilities, for the receipt. */
  get calibration(): string {
    return this.settings.calibration.version;
  }

  /** Why the request's data policy forbids the call to the judge, in the terms of `excluded_by`; empty when it is allowed. */
  forbidden(route: RouteRequest, context: CallContext): readonly string[] {
    return findForbiddingReasons(route, this.question("", ""), context);
  }

  protected question(rule: string, text: string): InternalQuestion {
    const { model, logprobs, structured } = this.settings;
    const format = logprobs ? undefined : formats[structured];
    return {
      model,
      purpose: this.#purpose,
      logprobs,
      instructions: `${this.task} ${logprobs ? letterForm : wordForm}`,
      text: `${quoteEvidence(text)}\n\nThe rule: ${rule}`,
      maxOutputTokens: logprobs ? letterTokens : wordTokens,
      ...(format && { format }),
    };
  }
}

export class Judge extends JudgeProfile {
  readonly #client: JudgeClient<number>;

  /** @param turn calls the endpoints of a model directly, without layers */
  constructor(turn: Turn, settings: JudgeSettings, options: JudgeOptions = {}) {
    super(settings, options);
    const { now = () => performance.now() } = options;
    const read = ({ text, first }: Reply) => {
      const found = settings.logprobs ? probabilityFromLetters(first) : probabilityFromText(text);
      return found === undefined ? undefined : calibrate(found, settings.calibration);
    };
    this.#client = new JudgeClient({ turn, settings, read, now });
  }

  /**
   * The probability that the text breaks the rule.
   * @throws JudgeUnavailable; Fault when the turn is over
   */
  async probability(rule: string, text: string, context: CallContext): Promise<number> {
    const { model, calibration } = this.settings;
    const key = [promptVersion, this.task, model, calibration.version, rule, text];
    return this.#client.get(key, () => this.question(rule, text), context);
  }
}
