/** Explains the cost of a call as tokens times prices, provided that the present prices add up to the recorded cost. */
import { useLoad } from "../api/load.ts";
import { type Endpoint, loadEndpoints, perMillion } from "../models/data.ts";
import { formatCount, formatExactDollars } from "../parts/words.ts";
import type { ProviderCall } from "./data.ts";

interface PriceLine {
  readonly name: string;
  readonly tokens: number;
  /** Price in USD per token. */
  readonly price: string;
}

/** Accepted difference in USD: the ledger counts picodollars, and each call is rounded once. */
const precision = 1e-12;

export function PriceLines({ call }: { call: ProviderCall }) {
  const [author = "", ...slug] = call.model_permaslug.split("/");
  const endpoints = useLoad(() => loadEndpoints(author, slug.join("/")), [call.model_permaslug]);
  const lines = endpoints.data && linesThatAddUp(call, endpoints.data);
  if (!lines) return null;
  return (
    <span class="sub">
      {lines
        .map(({ name, tokens, price }) => `${formatCount(tokens)} ${name} × ${perMillion(price)} per million`)
        .join(" + ")}{" "}
      = {formatExactDollars(call.total_cost ?? 0)}
    </span>
  );
}

/**
 * The lines of tokens times price that add up to the recorded cost. Undefined if no endpoint's present prices do so: prices have changed, or the call
 * paid for more than tokens.
 */
function linesThatAddUp(call: ProviderCall, endpoints: readonly Endpoint[]): readonly PriceLine[] | undefined {
  const { tokens_prompt: input, total_cost: cost } = call;
  if (input === null || cost === null || cost === 0) return undefined;
  return endpoints.map(({ pricing }) => linesOf(call, pricing)).find((lines) => addUp(lines, cost));
}

function linesOf(call: ProviderCall, { prompt, completion, ...pricing }: Endpoint["pricing"]): readonly PriceLine[] {
  const [cached, written] = [call.tokens_cached ?? 0, call.tokens_cache_write ?? 0];
  const lines = [
    { name: "tokens in", tokens: (call.tokens_prompt ?? 0) - cached - written, price: prompt },
    { name: "cached", tokens: cached, price: pricing.input_cache_read ?? prompt },
    { name: "written to the cache", tokens: written, price: pricing.input_cache_write ?? prompt },
    { name: "tokens out", tokens: call.tokens_completion ?? 0, price: completion },
  ];
  return lines.filter(({ tokens }) => tokens > 0);
}

const addUp = (lines: readonly PriceLine[], cost: number): boolean =>
  Math.abs(lines.reduce((sum, { tokens, price }) => sum + tokens * Number(price), 0) - cost) <= precision;
