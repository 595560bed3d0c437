/** Orders endpoints by how much of an over-long input fits into their context windows. */
import { type InputSize, estimateInputTokens, measureInput } from "../../estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import { reservedAnswerTokens, inputTarget } from "../../../turn/window.ts";
import type { CandidateGroup } from "./candidates.ts";
import type { Endpoint } from "../catalog.ts";

/** Keeps the order of the endpoints whose window takes at least half of the input; the others follow, largest window first. */
export function sortByRoom(endpoints: readonly Endpoint[], request: TurnRequest): readonly Endpoint[] {
  if (endpoints.every(({ contextLength }) => contextLength === endpoints[0]?.contextLength)) return endpoints;
  const size = measureInput(request);
  const hasRoom = (endpoint: Endpoint) =>
    2 * endpoint.contextLength >= estimateInputTokens(size, endpoint.model) + reservedAnswerTokens(request, endpoint);
  const roomy = endpoints.filter(hasRoom);
  const others = endpoints.filter((endpoint) => !roomy.includes(endpoint));
  return [...roomy, ...others.toSorted((a, b) => b.contextLength - a.contextLength)];
}

/** Keeps the groups whose context windows take all of the input, as estimated; all groups when no window does. */
export function groupsWithRoom(
  groups: readonly CandidateGroup[],
  request: TurnRequest,
  size: InputSize,
): readonly CandidateGroup[] {
  const hasRoom = (endpoint: Endpoint) => estimateInputTokens(size, endpoint.model) <= inputTarget(request, endpoint);
  const roomy = groups.filter(({ endpoints }) => endpoints.some(hasRoom));
  return roomy.length === 0 ? groups : roomy;
}
