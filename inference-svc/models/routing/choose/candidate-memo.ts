/**
 * Caches the candidates of plain requests, which need only the model and perhaps tools. The endpoints that may serve
 * them depend only on the models, the policy of the caller and the configuration. A reload makes a new router with an
 * empty cache, and a policy change makes a new caller object. Ejections and cooldowns exclude no candidate; they only
 * change the order.
 */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { textOnly } from "../../../turn/parse/text-only.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { CandidateGroup, Exclusions } from "./candidates.ts";
import { neededAnswerTokens } from "./needs.ts";

/** Maximum cached combinations of models and limits for each caller. A client needs few; the maximum bounds the memory that one can take. */
const maxRemembered = 64;

export interface KnownCandidates {
  readonly groups: readonly CandidateGroup[];
  readonly excluded: Exclusions;
}

export class CandidateMemo {
  readonly #callers = new WeakMap<Caller, Map<string, KnownCandidates>>();

  /**
   * @param find finds the candidates; called for each request with special needs, and once for all plain requests of a
   * caller that are equivalent
   */
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
 * A key of everything on which the candidates of a plain request depend. Blanks can separate the slugs, because no slug
 * of a catalogue contains one, and nothing is cached for a request refused because of such a slug.
 * @returns undefined for a request with special needs
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
