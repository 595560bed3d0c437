/** Sums of what attempts consumed. */
import type { Cost, ServerToolUse, Usage } from "./turn.ts";

/** What is undefined counts for nothing; undefined when nothing is left. The cost of a sum is known when that of each part is. */
export function sumOf(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const [first, ...others] = usages.filter((usage) => usage !== undefined);
  return first && others.reduce(plus, first);
}

function plus(a: Usage, b: Usage): Usage {
  const hourTokens = (a.cacheWriteHourTokens ?? 0) + (b.cacheWriteHourTokens ?? 0);
  const tools = a.serverToolUse && b.serverToolUse ? toolsTogether(a.serverToolUse, b.serverToolUse) : undefined;
  const serverToolUse = tools ?? a.serverToolUse ?? b.serverToolUse;
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    ...(hourTokens > 0 && { cacheWriteHourTokens: hourTokens }),
    ...(serverToolUse && { serverToolUse }),
    ...((a.estimated ?? b.estimated) && { estimated: true }),
    ...(a.cost && b.cost && { cost: costTogether(a.cost, b.cost) }),
  };
}

const costTogether = (a: Cost, b: Cost): Cost => ({
  input: a.input + b.input,
  output: a.output + b.output,
  serverTools: a.serverTools + b.serverTools,
});

export function toolsTogether(a: ServerToolUse, b: ServerToolUse): ServerToolUse {
  const sums: Partial<Record<keyof ServerToolUse, number>> = { ...a };
  for (const name of Object.keys(b) as (keyof ServerToolUse)[]) sums[name] = (a[name] ?? 0) + (b[name] ?? 0);
  return sums;
}

/** In 10^-12 USD. */
export const totalOf = ({ input, output, serverTools }: Cost): bigint => input + output + serverTools;
