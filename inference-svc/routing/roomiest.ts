/** Of an input that will be made to fit: to whom the least of it is lost. */
import { type InputSize, inputTokensOf, sizeOf } from "../estimate/tokens.ts";
import type { TurnRequest } from "../turn/request.ts";
import { answerTokens, inputTarget } from "../turn/window.ts";
import type { Group } from "./candidates.ts";
import type { Endpoint } from "./catalog.ts";

/** Those with room for at least half of what is needed stay in their order; behind them the largest windows come first. */
export function roomiestFirst(endpoints: readonly Endpoint[], request: TurnRequest): readonly Endpoint[] {
  if (endpoints.every(({ contextLength }) => contextLength === endpoints[0]?.contextLength)) return endpoints;
  const size = sizeOf(request);
  const hasRoom = (endpoint: Endpoint) =>
    2 * endpoint.contextLength >= inputTokensOf(size, endpoint.model) + answerTokens(request, endpoint);
  const roomy = endpoints.filter(hasRoom);
  const others = endpoints.filter((endpoint) => !roomy.includes(endpoint));
  return [...roomy, ...others.toSorted((a, b) => b.contextLength - a.contextLength)];
}

/** For who chooses a model himself: those whose window takes all of the input; all of them where it fits nowhere, as it is estimated. */
export function withRoom(groups: readonly Group[], request: TurnRequest, size: InputSize): readonly Group[] {
  const hasRoom = (endpoint: Endpoint) => inputTokensOf(size, endpoint.model) <= inputTarget(request, endpoint);
  const roomy = groups.filter(({ endpoints }) => endpoints.some(hasRoom));
  return roomy.length === 0 ? groups : roomy;
}
