/**
 * Bills an attempt: what it consumed, and the cost by the prices of its endpoint at that time.
 *
 * The figures come from the provider; missing figures are estimated, and marked as estimates. An attempt that failed by
 * itself before any output costs nothing; an attempt abandoned while the provider worked costs its input and
 * the output received.
 */
import { type InputSize, estimateInputTokens, measureInput, estimateTokens } from "../../estimate/tokens.ts";
import { ForwardedAnswer } from "../../../turn/answer-kinds.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import type { Bill, Stage } from "../../../turn/trace.ts";
import type { Answer, Batch, Outcome, Turn, TurnEvent } from "../../../turn/turn.ts";
import type { Usage } from "../../../turn/usage.ts";
import type { Endpoint } from "../catalog.ts";
import { UsageCheck } from "./usage-check.ts";
import { calculateCost, unlistedTariff } from "./tariff.ts";

/** Called with the usage when an attempt has come to its end. */
export type OnAnswered = (endpoint: Endpoint, scope: Scope, usage: Usage) => void;

/** A layer that adds usage and cost to the end of one attempt. */
export const billLayer =
  (endpoint: Endpoint, turn: Turn, answered: OnAnswered): Turn =>
  (request, scope) => {
    const bill = new AttemptBill(endpoint, request, scope, answered);
    scope.trace.bills.push(bill);
    const answer = turn(request, scope);
    // A request the dialect refuses has thrown before this line: no provider was called.
    scope.modelLimits?.note(endpoint.model, bill);
    return new BilledAnswer(answer, bill);
  };

class BilledAnswer extends ForwardedAnswer {
  readonly #bill: AttemptBill;

  constructor(answer: Answer, bill: AttemptBill) {
    super(answer);
    this.#bill = bill;
  }

  protected override passed(batch: Batch): Batch {
    return this.#bill.note(batch);
  }
}

class AttemptBill implements Bill {
  readonly #endpoint: Endpoint;
  /** The request; undefined once its size was measured, to free its memory. */
  #request: TurnRequest | undefined;
  readonly #scope: Scope;
  readonly #answered: OnAnswered;
  readonly #doubt: UsageCheck;
  reported: Usage | undefined;
  abandoned = false;
  /** Final usage; undefined before the end of the attempt. */
  #settled: Usage | undefined;
  #size!: InputSize;
  #textBytes = 0;
  #reasoningBytes = 0;
  #produced = false;
  #images = 0;
  #searches = 0;
  #isDoubtNoted = false;

  constructor(endpoint: Endpoint, request: TurnRequest, scope: Scope, answered: OnAnswered) {
    this.#endpoint = endpoint;
    this.#request = request;
    this.#scope = scope;
    this.#answered = answered;
    this.#doubt = new UsageCheck(endpoint, request);
  }

  get settled(): boolean {
    return this.#settled !== undefined;
  }

  get usage(): Usage | undefined {
    if (this.#settled) return this.#settled;
    return this.#produced || this.abandoned
      ? this.#priced(this.#completed(this.#believed(this.reported)), this.#endpoint.tier)
      : undefined;
  }

  /** Counts the contents of a batch, and adds the bill to the end event. */
  note(batch: Batch): Batch {
    for (const event of batch) this.#count(event);
    const last = batch.at(-1);
    if (last?.type !== "end") {
      // The request is measured now, because it must not stay in memory for the minutes a stream may take.
      this.#inputSize();
      return batch;
    }
    const settled = batch.slice(0, -1);
    settled.push({ type: "end", outcome: this.#settle(last.outcome) });
    return settled;
  }

  #count(event: TurnEvent): void {
    switch (event.type) {
      case "reasoning.delta":
      case "summary.delta":
        this.#reasoningBytes += Buffer.byteLength(event.delta);
        break;
      case "text.delta":
      case "refusal.delta":
      case "arguments.delta":
        this.#textBytes += Buffer.byteLength(event.delta);
        break;
      case "item.end":
        // For vectors, a provider reports no output tokens, so none are counted.
        if (event.item.type === "embeddings") return;
        if (event.item.type === "web_search_call") this.#searches++;
        if (event.item.type === "image_generation_call" && typeof event.item["result"] === "string") this.#images++;
        break;
      default:
        return;
    }
    this.#produced = true;
  }

  #settle(outcome: Outcome): Outcome {
    const { usage } = outcome;
    const isReported = usage !== undefined && (usage.inputTokens + usage.outputTokens > 0 || usage.pages !== undefined);
    const reported = this.#believed(isReported ? usage : this.reported);
    // Some servers report zero for tokens they do not count, but every input has tokens, and so has a text.
    const isCounted =
      reported !== undefined &&
      (reported.pages !== undefined || (reported.inputTokens > 0 && (reported.outputTokens > 0 || !this.#produced)));
    this.#settled = this.#priced(isCounted ? reported : this.#completed(reported), outcome.serviceTier);
    this.#answered(this.#endpoint, this.#scope, this.#settled);
    const { status, reason, detail, serviceTier, stopSequence, isInferred, alignment } = outcome;
    return { status, reason, detail, usage: this.#settled, serviceTier, stopSequence, isInferred, alignment };
  }

  /** The reported figures without those that are implausible, which the receipt names. */
  #believed(reported: Usage | undefined): Usage | undefined {
    if (reported === undefined) return undefined;
    const shown = { bytes: this.#textBytes + this.#reasoningBytes, images: this.#images, searches: this.#searches };
    const believed = this.#doubt.checked(reported, () => this.#inputSize(), shown);
    if (believed.doubted && !this.#isDoubtNoted) {
      this.#isDoubtNoted = true;
      this.#scope.trace.stages.push(doubtStage(this.#endpoint, believed.doubted));
    }
    return believed;
  }

  /** Fills in estimates from sizes where the provider reported less than was received. */
  #completed(reported: Usage | undefined): Usage {
    const { model } = this.#endpoint;
    const inputTokens = reported?.inputTokens || estimateInputTokens(this.#inputSize(), model);
    const reasoningTokens = Math.max(reported?.reasoningTokens ?? 0, estimateTokens(this.#reasoningBytes, model));
    const seen = reasoningTokens + estimateTokens(this.#textBytes, model);
    const outputTokens = Math.max(reported?.outputTokens ?? 0, seen);
    const estimated = inputTokens !== reported?.inputTokens || outputTokens !== reported.outputTokens || undefined;
    return {
      inputTokens,
      cachedTokens: reported?.cachedTokens ?? 0,
      cacheWriteTokens: reported?.cacheWriteTokens ?? 0,
      cacheWriteHourTokens: reported?.cacheWriteHourTokens,
      outputTokens,
      reasoningTokens,
      pages: reported?.pages,
      serverToolUse: reported?.serverToolUse,
      estimated: estimated || reported?.estimated,
      doubted: reported?.doubted,
      cost: reported?.cost,
    };
  }

  #inputSize(): InputSize {
    if (this.#request) this.#size = measureInput(this.#request);
    this.#request = undefined;
    return this.#size;
  }

  #priced(usage: Usage, tier: string): Usage {
    return priced(this.#endpoint, usage, tier, () => this.#inputSize(), this.#images);
  }
}

/** Adds the cost to a usage. @param tier tier that served: a provider may serve with another tier than requested, and charges for it */
function priced(
  { tariffs, tier: requestedTier }: Endpoint,
  usage: Usage,
  tier: string,
  size: () => InputSize,
  outputImages: number,
): Usage {
  const own = tariffs.get(requestedTier);
  const tariff = tariffs.get(tier) ?? (own && requestedTier === "default" ? unlistedTariff(own, tier) : own);
  if (tariff === undefined) return usage;
  const charged = tariff.image > 0n || tariff.audio > 0n || tariff.page > 0n;
  return {
    inputTokens: usage.inputTokens,
    cachedTokens: usage.cachedTokens,
    cacheWriteTokens: usage.cacheWriteTokens,
    cacheWriteHourTokens: usage.cacheWriteHourTokens,
    outputTokens: usage.outputTokens,
    reasoningTokens: usage.reasoningTokens,
    pages: usage.pages,
    serverToolUse: usage.serverToolUse,
    estimated: usage.estimated,
    doubted: usage.doubted,
    cost: calculateCost(tariff, usage, charged ? size().media : noMedia, outputImages),
  };
}

/** Estimated usage of a call sent and has given no output yet. */
export function estimateSentUsage(endpoint: Endpoint, request: TurnRequest): Usage {
  const size = measureInput(request);
  const inputTokens = estimateInputTokens(size, endpoint.model);
  const usage: Usage = {
    inputTokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  };
  return priced(endpoint, usage, endpoint.tier, () => size, 0);
}

const doubtStage = ({ providerName }: Endpoint, figures: ReadonlySet<string>): Stage => ({
  type: "usage",
  name: providerName,
  summary: "Estimated: the provider counted what cannot be",
  data: { figures: [...figures] },
});

const noMedia = { images: 0, audios: 0, others: 0, pages: 0 };
