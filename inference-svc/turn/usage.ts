/** Consumption of attempts and turns: tokens, calls of tools providers run, and cost. */

export interface Usage {
  /** All input tokens, including cached ones. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  /** Tokens written to a cache kept for an hour instead of five minutes; absent when there are none. */
  readonly cacheWriteHourTokens?: number | undefined;
  /** All output tokens, including reasoning. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** Pages the provider has read; present for providers that count pages instead of tokens. */
  readonly pages?: number | undefined;
  /** Calls of tools the provider has run, if it reports them. */
  readonly serverToolUse?: ServerToolUse | undefined;
  /** Set when the provider left out figures, so some of these are estimates. */
  readonly estimated?: true | undefined;
  /** Names of implausible figures of the provider, for which estimates are used; absent when all were plausible. */
  readonly doubted?: ReadonlySet<string> | undefined;
  /** Cost by the catalogue's prices; absent when no price is known. */
  readonly cost?: Cost | undefined;
}

/** Cost in 10^-12 USD, as integers, so sums are exact. */
export interface Cost {
  /** Cost of input tokens, images and sounds, with the fee per request. */
  readonly input: bigint;
  /** Cost of output tokens, including reasoning, and of output images. */
  readonly output: bigint;
  /** Cost of tools the provider has run. */
  readonly serverTools: bigint;
}

export interface ServerToolUse {
  readonly webSearchRequests?: number | undefined;
  readonly toolCallsRequested?: number | undefined;
  readonly toolCallsExecuted?: number | undefined;
}

/** Adds up usages, without undefined ones; undefined when none is left. The cost of the sum is known if the cost of each part is. */
export function sumUsage(usages: readonly (Usage | undefined)[]): Usage | undefined {
  let sum: Usage | undefined;
  for (const usage of usages) if (usage) sum = sum ? addUsage(sum, usage) : usage;
  return sum;
}

function addUsage(a: Usage, b: Usage): Usage {
  const hourTokens = (a.cacheWriteHourTokens ?? 0) + (b.cacheWriteHourTokens ?? 0);
  const tools = a.serverToolUse && b.serverToolUse ? addToolUse(a.serverToolUse, b.serverToolUse) : undefined;
  const serverToolUse = tools ?? a.serverToolUse ?? b.serverToolUse;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    cacheWriteHourTokens: hourTokens > 0 ? hourTokens : undefined,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    pages: addCounts(a.pages, b.pages),
    serverToolUse,
    estimated: a.estimated ?? b.estimated,
    doubted: a.doubted && b.doubted ? new Set([...a.doubted, ...b.doubted]) : (a.doubted ?? b.doubted),
    cost: a.cost && b.cost && addCost(a.cost, b.cost),
  };
}

const addCost = (a: Cost, b: Cost): Cost => ({
  input: a.input + b.input,
  output: a.output + b.output,
  serverTools: a.serverTools + b.serverTools,
});

/** Adds up calls of tools providers have run; a figure is unset when both parts lack it. */
export const addToolUse = (a: ServerToolUse, b: ServerToolUse): ServerToolUse => ({
  webSearchRequests: addCounts(a.webSearchRequests, b.webSearchRequests),
  toolCallsRequested: addCounts(a.toolCallsRequested, b.toolCallsRequested),
  toolCallsExecuted: addCounts(a.toolCallsExecuted, b.toolCallsExecuted),
});

const addCounts = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : a + (b ?? 0);

/** Sum of all parts in 10^-12 USD. */
export const totalCost = ({ input, output, serverTools }: Cost): bigint => input + output + serverTools;
