/**
 * Caches the candidates of plain requests: their only needs are the model and, maybe, tools. Which endpoints may serve them
 * depends only on the models, the policy of the caller and the configuration: a reload makes a new router with an empty cache, and
 * a policy change makes a new caller. Ejections and cooldowns exclude no candidate; they only change the order.
 */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { textOnly } from "../../../turn/parse/text-only.ts";
import type { TurnRequest } from "../../../turn/request.ts";
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

  /** @param find called for each request with special needs, and once for all equivalent plain requests of a caller */
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
 * A key of everything the candidates of a plain request depend on; undefined for a request with special needs. Blanks can separate the slugs,
 * because no catalogue has a slug with a blank, and nothing is cached for a request refused because of such a slug.
 */
function keyOf(request: TurnRequest): string | undefined {
  if (!isPlain(request) || !textOnly.of(request.input)) return undefined;
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
