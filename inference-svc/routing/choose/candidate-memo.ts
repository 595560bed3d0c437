/**
 * Remembers the candidates of requests that need nothing of an endpoint but its model and, maybe, tools. Which endpoints may serve them
 * depends only on the models, the policy of the caller and the configuration: a reload makes another router with a memory of its own, and
 * a change of the policy is another caller. Ejections and cooldowns exclude no candidate; they only change the order.
 */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { ListMemo } from "../../turn/parse/list-memo.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { CandidateGroup, Exclusions } from "./candidates.ts";
import { neededAnswerTokens } from "./needs.ts";

/** Combinations of models and limits for each caller: a client has few, unless it tries out how much memory it can take. */
const maxRemembered = 64;

export interface KnownCandidates {
  readonly groups: readonly CandidateGroup[];
  readonly excluded: Exclusions;
}

export class CandidateMemo {
  readonly #callers = new WeakMap<Caller, Map<string, KnownCandidates>>();

  /** @param find called for requests with needs of their own, and once for all others of a caller that are alike */
  find(request: TurnRequest, caller: Caller, find: () => KnownCandidates): KnownCandidates {
    const key = keyOf(request);
    if (key === undefined) return find();
    let known = this.#callers.get(caller);
    if (known === undefined) this.#callers.set(caller, (known = new Map()));
    let candidates = known.get(key);
    if (candidates === undefined) {
      candidates = find();
      if (known.size >= maxRemembered) known.clear();
      known.set(key, candidates);
    }
    return candidates;
  }
}

/**
 * Names all that the candidates of a plain request depend on; undefined for a request with needs of its own. A slug with a blank is in no
 * catalogue, and nothing is remembered of a request that is refused for it, so that blanks can divide the slugs.
 */
function keyOf(request: TurnRequest): string | undefined {
  if (!isPlain(request) || !plainInputs.of(request.input)) return undefined;
  const { models, tools } = request;
  return `${tools.length > 0 ? "tools" : ""} ${neededAnswerTokens(request) ?? 0} ${models.length === 1 ? models[0] : models.join(" ")}`;
}

const isPlain = ({
  provider,
  plugins,
  serviceTier,
  textFormat,
  outputModalities,
  tools,
  toolChoice,
  embedding,
}: TurnRequest) =>
  embedding === undefined &&
  provider === undefined &&
  plugins === undefined &&
  serviceTier === undefined &&
  (textFormat === undefined || textFormat.type === "text") &&
  outputModalities.length === 0 &&
  typeof toolChoice !== "object" &&
  tools.every((tool) => tool.type === "function" && tool.cacheControl === undefined);

/** Inputs with plain items alone. */
const plainInputs = new ListMemo<boolean>(true, (before, input, from) => {
  if (!before) return false;
  for (let index = from; index < input.length; index++) if (!isPlainItem(input[index]!)) return false;
  return true;
});

/** Text alone is taken by every endpoint. */
function isPlainItem({ type, content, output, cache_control: mark }: InputItem): boolean {
  if (type === "function_call") return content === undefined && output === undefined && mark === undefined;
  if (type === "function_call_output") return content === undefined && typeof output === "string";
  if (type !== "message" || output !== undefined) return false;
  return typeof content === "string" || (Array.isArray(content) && content.every(isPlainPart));
}

function isPlainPart(part: Readonly<Record<string, unknown>> | null): boolean {
  if (part?.["type"] !== "input_text" && part?.["type"] !== "output_text") return false;
  return part["cache_control"] === undefined && part["prompt_cache_breakpoint"] === undefined;
}
