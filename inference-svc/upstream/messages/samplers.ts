/** How tokens are drawn. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Lose } from "../dialect.ts";
import type { JsonObject } from "../json.ts";

/** Models that think take nothing below it (https://platform.claude.com/docs/en/build-with-claude/extended-thinking). */
const leastTopP = 0.95;

/** @param thinks whether thought was asked for: it is drawn in one way only */
export function samplers(request: TurnRequest, thinks: boolean, lose: Lose): JsonObject {
  const { temperature, topP, topK } = request;
  const lost = (path: string, value: unknown, reason: string): undefined => {
    if (value !== undefined) lose(path, reason);
    return undefined;
  };
  if (thinks) {
    const reason = "models that think do not take it";
    lost("temperature", temperature, reason);
    lost("top_k", topK, reason);
    return { top_p: topP !== undefined && topP < leastTopP ? lost("top_p", topP, reason) : topP };
  }
  if (temperature !== undefined && temperature > 1) lose("temperature", "sent as 1, which is the most");
  return {
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    // Newer models answer 400 to both.
    top_p: temperature === undefined ? topP : lost("top_p", topP, "only one of temperature and top_p is taken"),
    top_k: topK,
  };
}
