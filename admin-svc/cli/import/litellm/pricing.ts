/** Converts LiteLLM's prices, in USD per token, to those of Sluice, in USD per million tokens. */
import { formatDollars } from "@sluice/proto/lib/ledger/money.js";
import type { EndpointInput } from "../draft.ts";
import type { Params } from "./params.ts";

type Pricing = NonNullable<EndpointInput["pricing"]>;

const perToken = {
  input_cost_per_token: "prompt",
  output_cost_per_token: "completion",
  cache_read_input_token_cost: "cache_read",
  cache_creation_input_token_cost: "cache_write",
  cache_creation_input_token_cost_above_1hr: "cache_write_1h",
} as const;

const perPiece = { input_cost_per_image: "image", output_cost_per_image: "image_output" } as const;

/** Field names of prices for long requests, such as input_cost_per_token_above_200k_tokens. */
const steps = /^(input|output)_cost_per_token_above_(\d+)k_tokens$/;

const perMillion = (price: number): string => formatDollars(price * 1e6);

/** @returns the prices of an endpoint; undefined when the deployment has no price */
export function readPricing(params: Params): Pricing | undefined {
  const rates: Record<string, string> = {};
  for (const [name, rate] of Object.entries(perToken)) {
    const price = params.number(name);
    if (price === undefined) continue;
    rates[rate] = perMillion(price);
    params.taken(name, `pricing.${rate} of the endpoint, in USD per million tokens`);
  }
  for (const [name, rate] of Object.entries(perPiece)) {
    const price = params.number(name);
    if (price === undefined) continue;
    rates[rate] = formatDollars(price);
    params.taken(name, `pricing.${rate} of the endpoint`);
  }
  if (Object.keys(rates).length === 0) return undefined;
  const { prompt = "0", completion = "0" } = rates;
  const above = readSteps(params, { prompt, completion });
  return { prompt, completion, ...rates, ...(above.length > 0 && { above }) };
}

function readSteps(params: Params, base: { readonly prompt: string; readonly completion: string }) {
  const bounds = new Map<number, { prompt: string; completion: string }>();
  for (const name of params.names) {
    const [, side, thousands] = steps.exec(name) ?? [];
    const price = params.number(name);
    if (thousands === undefined || price === undefined) continue;
    const bound = Number(thousands) * 1_000;
    const rates = bounds.get(bound) ?? { ...base };
    rates[side === "input" ? "prompt" : "completion"] = perMillion(price);
    bounds.set(bound, rates);
    params.taken(name, `pricing.above of the endpoint, beyond ${bound} tokens of input`);
  }
  return [...bounds].sort(([a], [b]) => a - b).map(([input_tokens, rates]) => ({ input_tokens, ...rates }));
}
