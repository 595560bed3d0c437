/** Consumption of attempts and turns: tokens, calls of tools run by providers, and cost. */

export interface Usage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  /** Cache write tokens kept for an hour instead of five minutes; absent when there are none. */
  readonly cacheWriteHourTokens?: number | undefined;
  /** All output tokens, reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** Pages read by the provider; present for providers that count these instead of tokens. */
  readonly pages?: number | undefined;
  /** Tools run by the provider, when it reports them. */
  readonly serverToolUse?: ServerToolUse | undefined;
  /** Present when the provider left out figures: some of these are estimates. */
  readonly estimated?: true | undefined;
  /** Implausible figures of the provider, replaced by estimates; absent when all were plausible. */
  readonly doubted?: ReadonlySet<string> | undefined;
  /** Cost by the catalogue's prices; absent when no price is known. */
  readonly cost?: Cost | undefined;
}

/** Cost in 10^-12 USD: whole numbers, for exact sums. */
export interface Cost {
  /** Cost of input tokens, images and sounds, and the fee of the request. */
  readonly input: bigint;
  /** Cost of output tokens, reasoning included, and of output images. */
  readonly output: bigint;
  /** Cost of tools run by the provider. */
  readonly serverTools: bigint;
}

export interface ServerToolUse {
  readonly webSearchRequests?: number | undefined;
  readonly toolCallsRequested?: number | undefined;
  readonly toolCallsExecuted?: number | undefined;
}

/** Adds up usages and ignores undefined ones; undefined when none is left. The cost of the sum is known when the cost of each part is. */
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

/** Adds up the calls of tools run by providers; a figure is unset when both parts lack it. */
export const addToolUse = (a: ServerToolUse, b: ServerToolUse): ServerToolUse => ({
  webSearchRequests: addCounts(a.webSearchRequests, b.webSearchRequests),
  toolCallsRequested: addCounts(a.toolCallsRequested, b.toolCallsRequested),
  toolCallsExecuted: addCounts(a.toolCallsExecuted, b.toolCallsExecuted),
});

const addCounts = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : a + (b ?? 0);

/** Sum of all parts in 10^-12 USD. */
export const totalCost = ({ input, output, serverTools }: Cost): bigint => input + output + serverTools;
