/**
 * Prices: decimal strings of USD per million tokens in the configuration, per token in the catalogue. Floats only where they are compared,
 * never where something is charged.
 */
import type { EndpointSettings } from "@sluice/proto/runtime/house-file.js";

/** Twelve decimals are the most that the configuration takes. */
const decimals = 12;
/** A million. */
const shift = 6;

/** In units of 10^-12 USD per million tokens; exact, so that prices can be compared. */
export function units(price: string): bigint {
  const [whole = "0", fraction = ""] = price.split(".");
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

/** "0.25" a million is "0.00000025" a token. */
export function perToken(price: string): string {
  const digits = units(price)
    .toString()
    .padStart(decimals + shift + 1, "0");
  const at = digits.length - decimals - shift;
  const fraction = digits.slice(at).replace(/0+$/, "");
  return fraction === "" ? digits.slice(0, at) : `${digits.slice(0, at)}.${fraction}`;
}

/** USD as floats, which keep the order of decimals. What is not declared is not charged. */
export interface Prices {
  /** Per million tokens. */
  readonly prompt: number;
  /** Per million tokens. */
  readonly completion: number;
  readonly request: number;
  readonly image: number;
  readonly audio: number;
  /** Of a million tokens, three of the prompt to one of the completion. */
  readonly blended: number;
  /** 1 / blended²: the load that the endpoint takes beside others. */
  readonly weight: number;
}

/** Chats and agents send more than they get back. */
const promptShare = 0.75;

/** Free endpoints count as that cheap, so that several of them share. */
const leastPrice = 1e-6;

export function pricesOf(pricing: NonNullable<EndpointSettings["pricing"]>): Prices {
  const { prompt, completion, request = "0", image = "0", audio = "0" } = pricing;
  const blended = promptShare * Number(prompt) + (1 - promptShare) * Number(completion);
  return {
    prompt: Number(prompt),
    completion: Number(completion),
    request: Number(request),
    image: Number(image),
    audio: Number(audio),
    blended,
    weight: Math.max(blended, leastPrice) ** -2,
  };
}
