/**
 * Asks a model whether a text breaks a rule. A judge that cannot be asked, or that does not answer in the form it was asked for, gives no
 * verdict, which is never the same as a good one.
 */
import { createHash } from "node:crypto";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { JudgeSettings } from "@sluice/proto/runtime/house/internal-models.js";
import { throwIfAborted } from "../turn/abort.ts";
import type { TextFormat } from "../turn/request.ts";
import type { TurnSignal } from "../turn/signal.ts";
import type { Turn } from "../turn/turn.ts";
import { Answers } from "./answers.ts";
import { type Occasion, type Question, callModel } from "./call.ts";
import { Circuit } from "./circuit.ts";
import { evidence } from "./evidence.ts";
import { Slots } from "./slots.ts";
import { calibrated, fromLetters, fromWords } from "./verdict.ts";

/** Of what is asked below: another wording gets other verdicts. */
const promptVersion = "1";

const task =
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

/** Why there is no verdict. */
export class NoVerdict extends Error {}

export class Judge {
  readonly #turn: Turn;
  readonly #settings: JudgeSettings;
  readonly #circuit: Circuit;
  readonly #slots: Slots;
  readonly #answers: Answers<number>;

  /** @param turn asks the endpoints of a model, past all layers */
  constructor(turn: Turn, settings: JudgeSettings, now: () => number = () => performance.now()) {
    this.#turn = turn;
    this.#settings = settings;
    this.#circuit = new Circuit(now);
    this.#slots = new Slots(settings.max_concurrency);
    this.#answers = new Answers(settings.cache_ttl_s * 1_000, now);
  }

  get model(): string {
    return this.#settings.model;
  }

  /** Of the correction that its probabilities have. */
  get calibration(): string {
    return this.#settings.calibration.version;
  }

  /**
   * The probability that the text breaks the rule.
   * @throws NoVerdict; Fault when the turn is over
   */
  async probability(rule: string, text: string, occasion: Occasion): Promise<number> {
    const { signal, caller } = occasion.scope;
    const { model, calibration } = this.#settings;
    const parts = [promptVersion, model, calibration.version, caller.workspaceId, rule, text];
    const question = createHash("sha256").update(JSON.stringify(parts)).digest("base64");
    try {
      return await this.#answers.get(question, (until) => this.#ask(rule, text, occasion, until), signal);
    } catch (error) {
      throwIfAborted(signal);
      throw error instanceof NoVerdict ? error : new NoVerdict("the judge failed", { cause: error });
    }
  }

  async #ask(rule: string, text: string, occasion: Occasion, signal: TurnSignal): Promise<number> {
    if (this.#circuit.open) throw new NoVerdict("the judge does not answer");
    const { total_ms, retries } = this.#settings;
    const until = performance.now() + total_ms;
    let failure: unknown;
    for (let left = retries; left >= 0 && performance.now() < until; left--) {
      throwIfAborted(signal);
      try {
        const found = await this.#once(rule, text, occasion, signal, until);
        this.#circuit.succeeded();
        if (found !== undefined) return calibrated(found, this.#settings.calibration);
        failure = new Error("an answer of another form");
      } catch (error) {
        throwIfAborted(signal);
        failure = error;
        this.#circuit.failed();
        if (isOurs(error)) break;
      }
    }
    throw new NoVerdict("the judge gave no verdict", { cause: failure });
  }

  async #once(
    rule: string,
    text: string,
    occasion: Occasion,
    signal: TurnSignal,
    until: number,
  ): Promise<number | undefined> {
    const release = await this.#slots.take();
    try {
      const timeoutMs = Math.max(1, Math.min(this.#settings.timeout_ms, until - performance.now()));
      const { text: answer, first } = await callModel(this.#turn, this.#question(rule, text), occasion, {
        signal,
        timeoutMs,
      });
      return this.#settings.logprobs ? fromLetters(first) : fromWords(answer);
    } finally {
      release();
    }
  }

  #question(rule: string, text: string): Question {
    const { model, logprobs, structured } = this.#settings;
    const format = logprobs ? undefined : formats[structured];
    return {
      model,
      logprobs,
      instructions: `${task} ${logprobs ? letterForm : wordForm}`,
      text: `${evidence(text)}\n\nThe rule: ${rule}`,
      maxOutputTokens: logprobs ? letterTokens : wordTokens,
      ...(format && { format }),
    };
  }
}

/** Another try would fail in the same way. */
const isOurs = (error: unknown): boolean =>
  error instanceof Fault && [FaultReason.NO_ENDPOINTS, FaultReason.INVALID_REQUEST].includes(error.reason);
