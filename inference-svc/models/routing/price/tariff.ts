/**
 * Tariffs: the prices of a provider, and the cost of an attempt by them. All amounts are integers: prices are parsed
 * from decimal strings, and costs are in 10^-12 USD.
 */
import type { EndpointSettings } from "@sluice/proto/config/config-file.js";
import type { Media } from "../../estimate/media.ts";
import type { Cost, Usage } from "../../../turn/usage.ts";
import { parsePrice } from "./price.ts";

type Pricing = NonNullable<EndpointSettings["pricing"]>;
type RateSettings = Omit<NonNullable<Pricing["above"]>[number], "input_tokens">;

/** Prices in 10^-12 USD per million tokens. */
interface Rates {
  readonly prompt: bigint;
  readonly completion: bigint;
  readonly cacheRead: bigint;
  readonly cacheWrite: bigint;
  readonly cacheWriteHour: bigint;
}

export interface Tariff {
  readonly rates: Rates;
  /** Prices for long inputs, highest bound first. A whole request is charged at the first prices whose bound its input exceeds. */
  readonly above: readonly { readonly inputTokens: number; readonly rates: Rates }[];
  /** Fees in 10^-12 USD for each unit, such as a request. */
  readonly request: bigint;
  readonly image: bigint;
  readonly outputImage: bigint;
  readonly page: bigint;
  readonly audio: bigint;
  readonly webSearch: bigint;
}

export function parseTariff(pricing: Pricing): Tariff {
  const { above = [], request = "0", image = "0", image_output = "0", page = "0", audio = "0" } = pricing;
  return {
    rates: parseRates(pricing),
    above: above
      .map((step) => ({ inputTokens: step.input_tokens, rates: parseRates(step) }))
      .sort((a, b) => b.inputTokens - a.inputTokens),
    request: parsePrice(request),
    image: parsePrice(image),
    outputImage: parsePrice(image_output),
    page: parsePrice(page),
    audio: parsePrice(audio),
    webSearch: parsePrice(pricing.web_search ?? "0"),
  };
}

/** Factor for the default tier's price that no vendor's price for the priority tier exceeds (https://openai.com/api/pricing, 2026-11). */
const priorityFactor = 2n;

/** The tariff of a tier for which the operator states no price: the price of a cheaper tier must not be used for it. */
export function unlistedTariff(tariff: Tariff, tier: string): Tariff {
  if (tier !== "priority") return tariff;
  return {
    ...tariff,
    rates: scaled(tariff.rates),
    above: tariff.above.map(({ inputTokens, rates }) => ({ inputTokens, rates: scaled(rates) })),
  };
}

const scaled = ({ prompt, completion, cacheRead, cacheWrite, cacheWriteHour }: Rates): Rates => ({
  prompt: prompt * priorityFactor,
  completion: completion * priorityFactor,
  cacheRead: cacheRead * priorityFactor,
  cacheWrite: cacheWrite * priorityFactor,
  cacheWriteHour: cacheWriteHour * priorityFactor,
});

/** Parses prices. Without a separate price, cached tokens cost as much as the prompt. */
function parseRates({ prompt, completion, cache_read, cache_write, cache_write_1h }: RateSettings): Rates {
  const write = cache_write ?? prompt;
  return {
    prompt: parsePrice(prompt),
    completion: parsePrice(completion),
    cacheRead: parsePrice(cache_read ?? prompt),
    cacheWrite: parsePrice(write),
    cacheWriteHour: parsePrice(cache_write_1h ?? write),
  };
}

/**
 * Cost of one attempt; input, output and tools count at most 100,000 USD each.
 * @param media numbers of media in the request
 * @param outputImages number of images in the answer
 */
export function calculateCost(tariff: Tariff, usage: Usage, media: Media, outputImages: number): Cost {
  const rates = tariff.above.find(({ inputTokens }) => usage.inputTokens > inputTokens)?.rates ?? tariff.rates;
  // Providers have sent contradictory figures, so no part may exceed the whole.
  const read = Math.min(usage.cachedTokens, usage.inputTokens);
  const written = Math.min(usage.cacheWriteTokens, usage.inputTokens - read);
  const hourly = Math.min(usage.cacheWriteHourTokens ?? 0, written);
  const tokens =
    BigInt(usage.inputTokens - read - written) * rates.prompt +
    BigInt(read) * rates.cacheRead +
    BigInt(written - hourly) * rates.cacheWrite +
    BigInt(hourly) * rates.cacheWriteHour;
  const mediaFees =
    BigInt(media.images) * tariff.image +
    BigInt(media.audios) * tariff.audio +
    BigInt(usage.pages ?? media.pages) * tariff.page;
  return {
    input: bounded(perMillion(tokens) + mediaFees + tariff.request),
    output: bounded(
      perMillion(BigInt(usage.outputTokens) * rates.completion) + BigInt(outputImages) * tariff.outputImage,
    ),
    serverTools: bounded(BigInt(usage.serverToolUse?.webSearchRequests ?? 0) * tariff.webSearch),
  };
}

/** Upper bounds for a call that is not made yet. */
export interface CallBounds {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Whether the input may be written to a cache kept for an hour. */
  readonly writesHourCache: boolean;
  /** Maximum number of web searches by the provider. */
  readonly searches: number;
  readonly media: Media;
  readonly outputImages: number;
}

/** Maximum cost of a call within these bounds, in 10^-12 USD: the highest prices that apply to any number of tokens up to the bounds. */
export function calculateMaxCost({ rates, above, ...fees }: Tariff, bounds: CallBounds): bigint {
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
    BigInt(bounds.media.pages) * fees.page +
    BigInt(bounds.outputImages) * fees.outputImage +
    BigInt(bounds.searches) * fees.webSearch;
  return bounded(tokens + fixed);
}

const highest = (values: readonly bigint[]): bigint => values.reduce((max, value) => (value > max ? value : max));

/**
 * Maximum cost of a part of an attempt, 100,000 USD, so the sum over all attempts of a turn fits into the 64 bits of
 * the protobuf field.
 */
const maxCost = 100_000n * 1_000_000_000_000n;

const bounded = (pico: bigint): bigint => (pico > maxCost ? maxCost : pico);

const million = 1_000_000n;

const upPerMillion = (value: bigint): bigint => (value + million - 1n) / million;

/** Divides by a million and rounds to the nearest integer. */
const perMillion = (value: bigint): bigint => (value + million / 2n) / million;
