/**
 * Parses prices: decimal strings of USD, per million tokens in the configuration and per token in the catalogue API.
 * Floats are used only to compare prices, never to charge.
 */
import type { EndpointSettings } from "@sluice/proto/config/config-file.js";

/** Maximum number of decimals of a price in the configuration. */
const decimals = 12;
/** Number of zeros of a million, for the conversion between prices per million tokens and per token. */
const shift = 6;

/** Parses a price per million tokens into whole units of 10^-12 USD, without rounding, so prices can be compared. */
export function parsePrice(price: string): bigint {
  const [whole = "0", fraction = ""] = price.split(".");
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

/** Converts a price per million tokens to one per token: "0.25" becomes "0.00000025". */
export function toPricePerToken(price: string): string {
  const digits = parsePrice(price)
    .toString()
    .padStart(decimals + shift + 1, "0");
  const at = digits.length - decimals - shift;
  const fraction = digits.slice(at).replace(/0+$/, "");
  return fraction === "" ? digits.slice(0, at) : `${digits.slice(0, at)}.${fraction}`;
}

/** Prices in USD as floats, which keep the order of the decimals. A price that is not declared is 0. */
export interface Prices {
  /** Price of a million prompt tokens. */
  readonly prompt: number;
  /** Price of a million completion tokens. */
  readonly completion: number;
  readonly request: number;
  readonly image: number;
  readonly audio: number;
  /** Price of a million tokens of which three quarters are prompt and one quarter is completion. */
  readonly blended: number;
  /** Share of the load in relation to other endpoints: 1 / blended². */
  readonly weight: number;
}

/** Share of prompt tokens in a blended price, since chats and agents send more than they receive. */
const promptShare = 0.75;

/** Price assumed for free endpoints, so several of them share the load. */
const minPrice = 1e-6;

export function parsePrices(pricing: NonNullable<EndpointSettings["pricing"]>): Prices {
  const { prompt, completion, request = "0", image = "0", audio = "0" } = pricing;
  const blended = promptShare * Number(prompt) + (1 - promptShare) * Number(completion);
  return {
    prompt: Number(prompt),
    completion: Number(completion),
    request: Number(request),
    image: Number(image),
    audio: Number(audio),
    blended,
    weight: Math.max(blended, minPrice) ** -2,
  };
}
