/** Predicts with a judge model whether the cheap model solves a task. */
import type { ChooserSettings } from "@sluice/proto/config/internal-models.js";
import {
  type CallContext,
  type InternalQuestion,
  type RouteRequest,
  findForbiddingReasons,
} from "../../../models/internal-calls/internal-call.ts";
import { quoteEvidence } from "../../../content/quoted-data.ts";
import { JudgeClient, type FailureKind, JudgeUnavailable } from "../../../models/internal-calls/judge-client.ts";
import { findObject } from "../../../models/internal-calls/judge-verdict.ts";
import { findLastUserRequest, userMessages } from "../../../models/routing/choose/user-messages.ts";
import { truncate } from "../../../turn/truncate.ts";
import type { TextFormat } from "../../../turn/request.ts";
import type { Turn } from "../../../turn/turn.ts";
import type { PriceTier } from "./candidates.ts";

/** How well a current small model handles tasks of this kind. */
type Boundary = "supported" | "uncertain" | "unmatched" | "unsupported";

export interface Prediction {
  /** Probability that the cheap model solves the whole task at the first try. */
  readonly probability: number;
  readonly boundary: Boundary;
}

/** Minimum probability for the cheap model to be used, by how it handles the kind of task. */
export const minProbabilities: Readonly<Record<Boundary, number>> = {
  supported: 0.6,
  uncertain: 0.75,
  unmatched: 0.75,
  unsupported: 0.9,
};

export const findTaskTier = ({ probability, boundary }: Prediction): PriceTier =>
  probability >= minProbabilities[boundary] ? "efficient" : "capable";

/** Version of the prompt, a part of the cache key; must be increased when the prompt changes. */
const promptVersion = "1";

const rules = {
  S1: "The task stands by itself, and an answer can be checked against what is given.",
  S2: "Text or data is turned into another form: translated, summarised, extracted, renamed, formatted.",
  S3: "A small change is wanted, and both its place and its result are named.",
  U1: "Several steps or files depend on one another, and their order has to be found out.",
  U2: "Something goes wrong, and only its signs are known, not its cause.",
  U3: "It takes knowledge that few have, or that is recent.",
  X1: "A design or an algorithm has to weigh many demands of a whole system against each other.",
  X2: "A proof or a long chain of conclusions is wanted, in which one wrong step spoils all.",
  X3: "What is wanted is unclear, and a wrong guess does damage that cannot be undone.",
} as const;

const boundaries: Readonly<Record<string, Boundary>> = {
  S: "supported",
  U: "uncertain",
  X: "unsupported",
  n: "unmatched",
};

const instructions =
  "You forecast whether a small language model solves a whole task at its first try. You are shown the first and the latest message of a user; do not solve " +
  "the task. Name the crux: what decides whether it succeeds. Then the one rule of this card that fits best, or none:\n" +
  Object.entries(rules)
    .map(([name, rule]) => `${name}: ${rule}`)
    .join("\n") +
  "\nRules S mark what such a model supports, U what is uncertain, X what it does not support; without a rule the boundary is unmatched. " +
  'Answer with one JSON object and nothing else: {"crux": at most 200 characters, "primary_rule": a name of the card or "none", "capability_boundary": ' +
  '"supported", "uncertain", "unsupported" or "unmatched", "p_solve": between 0 and 1}.';

const schema = {
  type: "object",
  properties: {
    crux: { type: "string" },
    primary_rule: { type: "string", enum: [...Object.keys(rules), "none"] },
    capability_boundary: { type: "string", enum: Object.values(boundaries) },
    p_solve: { type: "number" },
  },
  required: ["crux", "primary_rule", "capability_boundary", "p_solve"],
  additionalProperties: false,
};

const formats: Readonly<Record<ChooserSettings["structured"], TextFormat | undefined>> = {
  json_schema: { type: "json_schema", name: "forecast", schemaJson: JSON.stringify(schema), strict: true },
  json_object: { type: "json_object" },
  prompt: undefined,
};

/** Parses the judge's answer. @returns undefined when it does not have the requested form, or its rule contradicts its boundary */
export function parsePrediction(text: string): Prediction | undefined {
  const { primary_rule: rule, capability_boundary: boundary, p_solve: probability } = findObject(text) ?? {};
  if (typeof probability !== "number" || !(probability >= 0 && probability <= 1)) return undefined;
  if (typeof rule !== "string" || !(rule === "none" || Object.hasOwn(rules, rule))) return undefined;
  const fitting = boundaries[rule.charAt(0)];
  return fitting !== undefined && boundary === fitting ? { probability, boundary: fitting } : undefined;
}

/** Maximum UTF-16 units of each message that are sent to the judge. */
const maxShown = 8_000;
const maxTokens = 300;

export class SuccessPredictor {
  readonly #settings: ChooserSettings;
  readonly #inquiries: JudgeClient<Prediction>;

  /** @param turn calls the endpoints of a model directly, without layers */
  constructor(turn: Turn, settings: ChooserSettings, now: () => number = () => performance.now()) {
    this.#settings = settings;
    this.#inquiries = new JudgeClient({ turn, settings, read: ({ text }) => parsePrediction(text), now });
  }

  get model(): string {
    return this.#settings.model;
  }

  /** Why the request's data policy forbids the call to the judge; empty when it is allowed. */
  forbidden(route: RouteRequest, occasion: CallContext): readonly string[] {
    return findForbiddingReasons(route, this.#question([]), occasion);
  }

  /** Calls the judge. @returns the prediction, or why there is none @throws Fault when the turn is over */
  async predict(occasion: CallContext): Promise<Prediction | FailureKind> {
    const { model } = this.#settings;
    const { input } = occasion.request;
    const shown = [...new Set([userMessages(input)[0] ?? "", findLastUserRequest(input).text])].map((text) =>
      truncate(text, maxShown),
    );
    try {
      return await this.#inquiries.get([promptVersion, model, ...shown], () => this.#question(shown), occasion);
    } catch (error) {
      if (error instanceof JudgeUnavailable) return error.kind;
      throw error;
    }
  }

  #question([first = "", latest]: readonly string[]): InternalQuestion {
    const { model, structured } = this.#settings;
    const format = formats[structured];
    const text =
      latest === undefined
        ? `The message of the user:\n${quoteEvidence(first)}`
        : `The first message of the user:\n${quoteEvidence(first)}\n\nThe latest message of the user:\n${quoteEvidence(latest)}`;
    return {
      model,
      purpose: "classifier",
      logprobs: false,
      instructions,
      text,
      maxOutputTokens: maxTokens,
      ...(format && { format }),
    };
  }
}
