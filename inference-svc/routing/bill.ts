/**
 * The bill of an attempt: what it consumed, and what that costs by the prices of its endpoint at that time.
 *
 * The figures are the provider's; where it gives none, they are estimated and said to be. An attempt that failed on its own without having
 * produced anything costs nothing; one that was left while the provider worked costs what was sent and what was heard.
 */
import { type InputSize, inputTokensOf, sizeOf, tokensOfBytes } from "../estimate/tokens.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Bill, Scope } from "../turn/scope.ts";
import type { Batch, Outcome, Turn, TurnEvent, Usage } from "../turn/turn.ts";
import type { Endpoint } from "./catalog.ts";
import { costOf } from "./tariff.ts";

/** Called when an attempt has come to its end, with what it consumed. */
export type Answered = (endpoint: Endpoint, scope: Scope, usage: Usage) => void;

/** Layer around one attempt: its end says what it consumed and cost. */
export const billed =
  (endpoint: Endpoint, turn: Turn, answered: Answered): Turn =>
  async (request, scope) => {
    const bill = new AttemptBill(endpoint, request, (usage) => answered(endpoint, scope, usage));
    scope.trace.bills.push(bill);
    return passing(await turn(request, scope), bill);
  };

/** Hand-written: a generator would cost more at every batch. */
function passing(batches: AsyncIterable<Batch>, bill: AttemptBill): AsyncIterable<Batch> {
  const note = (result: IteratorResult<Batch>): IteratorResult<Batch> =>
    result.done === true ? result : { value: bill.note(result.value), done: false };
  return {
    [Symbol.asyncIterator]() {
      const iterator = batches[Symbol.asyncIterator]();
      return {
        next: () => iterator.next().then(note),
        return: () => iterator.return?.() ?? Promise.resolve({ value: undefined, done: true }),
      };
    },
  };
}

class AttemptBill implements Bill {
  readonly #endpoint: Endpoint;
  readonly #request: TurnRequest;
  readonly #answered: (usage: Usage) => void;
  reported: Usage | undefined;
  abandoned = false;
  /** Of the end. */
  #settled: Usage | undefined;
  #size: InputSize | undefined;
  #textBytes = 0;
  #reasoningBytes = 0;
  #produced = false;
  #images = 0;

  constructor(endpoint: Endpoint, request: TurnRequest, answered: (usage: Usage) => void) {
    this.#endpoint = endpoint;
    this.#request = request;
    this.#answered = answered;
  }

  get settled(): boolean {
    return this.#settled !== undefined;
  }

  get usage(): Usage | undefined {
    if (this.#settled) return this.#settled;
    return this.#produced || this.abandoned
      ? this.#priced(this.#completed(this.reported), this.#endpoint.tier)
      : undefined;
  }

  /** The batch with the bill in its end. */
  note(batch: Batch): Batch {
    for (const event of batch) this.#count(event);
    const last = batch.at(-1);
    if (last?.type !== "end") return batch;
    return [...batch.slice(0, -1), { type: "end", outcome: this.#settle(last.outcome) }];
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
        if (event.item.type === "image_generation_call" && typeof event.item["result"] === "string") this.#images++;
        break;
      default:
        return;
    }
    this.#produced = true;
  }

  #settle(outcome: Outcome): Outcome {
    const { usage } = outcome;
    const told = usage !== undefined && usage.inputTokens + usage.outputTokens > 0 ? usage : this.reported;
    this.#settled = this.#priced(this.#counts(told) ? told : this.#completed(told), outcome.serviceTier);
    this.#answered(this.#settled);
    return { ...outcome, usage: this.#settled };
  }

  /** Some servers say zero for what they have not counted: an input always has tokens, and so have words. */
  #counts(usage: Usage | undefined): usage is Usage {
    return usage !== undefined && usage.inputTokens > 0 && (usage.outputTokens > 0 || !this.#produced);
  }

  /** Where less was reported than was seen, what was seen is counted by its size. */
  #completed(reported: Usage | undefined): Usage {
    const { model } = this.#endpoint;
    const inputTokens = reported?.inputTokens || inputTokensOf(this.#inputSize(), model);
    const reasoningTokens = Math.max(reported?.reasoningTokens ?? 0, tokensOfBytes(this.#reasoningBytes, model));
    const seen = reasoningTokens + tokensOfBytes(this.#textBytes, model);
    const outputTokens = Math.max(reported?.outputTokens ?? 0, seen);
    const estimated = inputTokens !== reported?.inputTokens || outputTokens !== reported.outputTokens;
    return {
      cachedTokens: 0,
      cacheWriteTokens: 0,
      ...reported,
      inputTokens,
      outputTokens,
      reasoningTokens,
      ...(estimated && { estimated }),
    };
  }

  #inputSize(): InputSize {
    this.#size ??= sizeOf(this.#request);
    return this.#size;
  }

  #priced(usage: Usage, tier: string): Usage {
    return priced(this.#endpoint, usage, tier, () => this.#inputSize(), this.#images);
  }
}

/** @param tier that served: a provider may serve with another one than it was asked for, and charges for that one */
function priced(
  { tariffs, tier: asked }: Endpoint,
  usage: Usage,
  tier: string,
  size: () => InputSize,
  outputImages: number,
): Usage {
  const tariff = tariffs.get(tier) ?? tariffs.get(asked);
  if (tariff === undefined) return usage;
  const charged = tariff.image > 0n || tariff.audio > 0n;
  return { ...usage, cost: costOf(tariff, usage, charged ? size().media : noMedia, outputImages) };
}

/** The cost of a call that was sent and gave nothing yet. */
export function sentUsage(endpoint: Endpoint, request: TurnRequest): Usage {
  const size = sizeOf(request);
  const inputTokens = inputTokensOf(size, endpoint.model);
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

const noMedia = { images: 0, audios: 0, others: 0 };
