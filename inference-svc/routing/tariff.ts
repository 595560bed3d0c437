/**
 * What a provider charges, and what an attempt costs by it. Whole numbers throughout: prices come as decimal strings and leave as 10^-12 USD.
 */
import type { EndpointSettings } from "@sluice/proto/runtime/house-file.js";
import type { Media } from "../estimate/media.ts";
import type { Cost, Usage } from "../turn/turn.ts";
import { units } from "./price.ts";

type Pricing = NonNullable<EndpointSettings["pricing"]>;
type RateSettings = Omit<NonNullable<Pricing["above"]>[number], "input_tokens">;

/** In 10^-12 USD per million tokens. */
interface Rates {
  readonly prompt: bigint;
  readonly completion: bigint;
  readonly cacheRead: bigint;
  readonly cacheWrite: bigint;
  readonly cacheWriteHour: bigint;
}

export interface Tariff {
  readonly rates: Rates;
  /** Highest bound first: that of the whole request counts whose input has more tokens than the bound. */
  readonly above: readonly { readonly inputTokens: number; readonly rates: Rates }[];
  /** In 10^-12 USD each. */
  readonly request: bigint;
  readonly image: bigint;
  readonly outputImage: bigint;
  readonly audio: bigint;
  readonly webSearch: bigint;
}

export function tariffOf(pricing: Pricing): Tariff {
  const { above = [], request = "0", image = "0", image_output = "0", audio = "0", web_search = "0" } = pricing;
  return {
    rates: ratesOf(pricing),
    above: above
      .map((step) => ({ inputTokens: step.input_tokens, rates: ratesOf(step) }))
      .sort((a, b) => b.inputTokens - a.inputTokens),
    request: units(request),
    image: units(image),
    outputImage: units(image_output),
    audio: units(audio),
    webSearch: units(web_search),
  };
}

/** A cache that is not priced is not cheaper. */
function ratesOf({ prompt, completion, cache_read, cache_write, cache_write_1h }: RateSettings): Rates {
  const write = cache_write ?? prompt;
  return {
    prompt: units(prompt),
    completion: units(completion),
    cacheRead: units(cache_read ?? prompt),
    cacheWrite: units(write),
    cacheWriteHour: units(cache_write_1h ?? write),
  };
}

/**
 * Of one attempt; input, output and tools at most 100,000 USD each.
 * @param media of the request
 * @param outputImages of the answer
 */
export function costOf(
  { rates: usual, above, ...fees }: Tariff,
  usage: Usage,
  media: Media,
  outputImages: number,
): Cost {
  const rates = above.find(({ inputTokens }) => usage.inputTokens > inputTokens)?.rates ?? usual;
  // Figures of providers have contradicted each other: no part is larger than the whole.
  const read = Math.min(usage.cachedTokens, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens, usage.inputTokens - read);
  const hourly = Math.min(usage.cacheWriteHourTokens ?? 0, written);
  const tokens =
    BigInt(usage.inputTokens - read - written) * rates.prompt +
    BigInt(read) * rates.cacheRead +
    BigInt(written - hourly) * rates.cacheWrite +
    BigInt(hourly) * rates.cacheWriteHour;
  const mediaFees = BigInt(media.images) * fees.image + BigInt(media.audios) * fees.audio;
  return {
    input: bounded(perMillion(tokens) + mediaFees + fees.request),
    output: bounded(
      perMillion(BigInt(usage.outputTokens) * rates.completion) + BigInt(outputImages) * fees.outputImage,
    ),
    serverTools: bounded(BigInt(usage.serverToolUse?.webSearchRequests ?? 0) * fees.webSearch),
  };
}

/** Bounds of a call that is not made yet. */
export interface CallBounds {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Input may be written to a cache that is kept for an hour. */
  readonly writesHourCache: boolean;
  /** Searches of the provider. */
  readonly searches: number;
  readonly media: Media;
  readonly outputImages: number;
}

/** The most that a call within these bounds costs, in 10^-12 USD: at the dearest rates that any number of tokens up to them can meet. */
export function maxCostOf({ rates, above, ...fees }: Tariff, bounds: CallBounds): bigint {
  const met = [rates, ...above.filter((step) => bounds.inputTokens > step.inputTokens).map((step) => step.rates)];
  const input = highest(
    met.flatMap(({ prompt, cacheRead, cacheWrite, cacheWriteHour }) =>
      bounds.writesHourCache ? [prompt, cacheRead, cacheWrite, cacheWriteHour] : [prompt, cacheRead, cacheWrite],
    ),
  );
  const output = highest(met.map(({ completion }) => completion));
  const tokens = upPerMillion(BigInt(bounds.inputTokens) * input) + upPerMillion(BigInt(bounds.outputTokens) * output);
  const fixed =
    fees.request +
    BigInt(bounds.media.images) * fees.image +
    BigInt(bounds.media.audios) * fees.audio +
    BigInt(bounds.outputImages) * fees.outputImage +
    BigInt(bounds.searches) * fees.webSearch;
  return bounded(tokens + fixed);
}

const highest = (values: readonly bigint[]): bigint => values.reduce((most, value) => (value > most ? value : most));

/** 100,000 USD: no attempt costs more, and the sum over all attempts of a turn fits into the 64 bits of the contract. */
const mostCost = 100_000n * 1_000_000_000_000n;

const bounded = (pico: bigint): bigint => (pico > mostCost ? mostCost : pico);

const million = 1_000_000n;

const upPerMillion = (value: bigint): bigint => (value + million - 1n) / million;

/** Rounded to the nearest. */
const perMillion = (value: bigint): bigint => (value + million / 2n) / million;
