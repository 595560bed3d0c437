/** Sampling settings. */
import type { TurnRequest } from "../../../../turn/request.ts";
import type { OnDropped } from "../../dialect.ts";

/** Minimum top_p of models with reasoning on (https://platform.claude.com/docs/en/build-with-claude/extended-thinking). */
const minTopP = 0.95;

export interface Samplers {
  readonly temperature: number | undefined;
  readonly top_p: number | undefined;
  readonly top_k: number | undefined;
}

/** @param thinks whether reasoning is on, which excludes most samplers */
export function samplers(request: TurnRequest, thinks: boolean, onDropped: OnDropped): Samplers {
  const { temperature, topP, topK } = request;
  const drop = (path: string, value: unknown, reason: string): undefined => {
    if (value !== undefined) onDropped(path, reason);
    return undefined;
  };
  if (thinks) {
    const reason = "models do not take it while they reason";
    drop("temperature", temperature, reason);
    drop("top_k", topK, reason);
    const allowed = topP !== undefined && topP < minTopP ? drop("top_p", topP, reason) : topP;
    return { temperature: undefined, top_p: allowed, top_k: undefined };
  }
  if (temperature !== undefined && temperature > 1) onDropped("temperature", "sent as 1, the maximum");
  return {
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    // Newer models answer 400 to temperature and top_p together.
    top_p: temperature === undefined ? topP : drop("top_p", topP, "only one of temperature and top_p is taken"),
    top_k: topK,
  };
}
