/** Sampling parameters of Claude and other models in formats made of blocks. */
import type { TurnRequest } from "../../../../turn/request.ts";
import type { OnDropped, Target } from "../../dialect.ts";

/** Minimum top_p for models with reasoning on (https://platform.claude.com/docs/en/build-with-claude/extended-thinking). */
const minTopP = 0.95;

/**
 * Matches Claude 4.0 and earlier, which take temperature and top_p together. Since Opus 4.1: "`temperature` and `top_p`
 * cannot both be specified for this model" (anomalyco/opencode, issue 1644; recorded answers of Claude 3).
 */
const earlier = /claude-(?:instant|v?[123](?!\d)|(?:opus|sonnet)-4(?:-0)?(?:$|[@:]|-(?:latest|v\d|20\d{6})))/;

export interface Samplers {
  readonly temperature: number | undefined;
  readonly top_p: number | undefined;
  readonly top_k: number | undefined;
}

/** The model that gets the parameters, and whether it reasons. */
export interface SamplingModel {
  readonly target: Pick<Target, "upstreamModel" | "original">;
  /** Whether reasoning is on, with which most sampling parameters are not allowed. */
  readonly thinks: boolean;
}

export function samplers(request: TurnRequest, model: SamplingModel, onDropped: OnDropped): Samplers {
  const { temperature, topP, topK } = request;
  // Other models at a server of this format get the parameters as a client of the format wrote them.
  if (request.door === "messages" && !isClaude(model.target)) return { temperature, top_p: topP, top_k: topK };
  const drop = (path: string, value: unknown, reason: string): undefined => {
    if (value !== undefined) onDropped(path, reason);
    return undefined;
  };
  if (model.thinks) {
    const reason = "models do not take it while they reason";
    // Anthropic answers 400 to others: "`temperature` may only be set to 1 when thinking is enabled"
    const kept = temperature === 1 ? temperature : drop("temperature", temperature, reason);
    drop("top_k", topK, reason);
    const allowed = topP !== undefined && topP < minTopP ? drop("top_p", topP, reason) : topP;
    return { temperature: kept, top_p: besideTemperature(kept, allowed), top_k: undefined };
  }
  if (temperature !== undefined && temperature > 1) onDropped("temperature", "sent as 1, the maximum");
  return {
    temperature: temperature === undefined ? undefined : Math.min(1, temperature),
    top_p: besideTemperature(temperature, topP),
    top_k: topK,
  };

  function besideTemperature(given: number | undefined, value: number | undefined): number | undefined {
    if (given === undefined || earlier.test(model.target.upstreamModel)) return value;
    return drop("top_p", value, "only one of temperature and top_p is taken");
  }
}

const isClaude = ({ original, upstreamModel }: SamplingModel["target"]): boolean =>
  original || upstreamModel.includes("claude");
