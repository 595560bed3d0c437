/** The provider of the built-in model `echo`. It calls no server, so it has no keys and no connections. */
import type { TurnRequest } from "../../../turn/request.ts";
import { noEmbeddingsRefusal } from "../embedding/none.ts";
import type { Destination, Provider } from "../provider.ts";
import { redactBody } from "../redacted-body.ts";
import { responses } from "../responses/dialect.ts";
import { echo, findDroppedFields, refuseEcho } from "./turn.ts";

/** The body that `debug.echo_upstream_body` shows. The built-in model gets no body, so the request is shown in the Responses format. */
function buildBody({ upstreamModel, tier }: Destination, request: TurnRequest): string {
  return redactBody(responses.body(request, { upstreamModel, tier, original: false }, () => {}));
}

export const echoProvider: Provider = {
  turn: (destination) => (request, scope) => {
    if (request.echoUpstreamBody && request.stream) scope.trace.bodies.push(buildBody(destination, request));
    return echo(request, scope);
  },
  rest: () => undefined,
  refusal: (_, request) => (request.embedding ? noEmbeddingsRefusal : refuseEcho(request)),
  droppedFields: () => [],
  preview: (destination, request) => ({
    droppedFields: findDroppedFields(request),
    bodyJson: buildBody(destination, request),
  }),
};
