/** CreateResponse: the response object of one turn, for a caller without a gateway. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateResponseResponseSchema,
  type InferenceService,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { type RunTurnRequest, RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Compat } from "@sluice/proto/config/config-file.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import { type Echo, buildEcho } from "@sluice/proto/lib/responses/echo.js";
import { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { type RunningTurn, openTurnWithoutGateway } from "./direct-turn.ts";
import type { SharedTurnDeps } from "./shared-turn.ts";

type Handler = ServiceImpl<typeof InferenceService>["createResponse"];

export const createResponseHandler =
  (deps: SharedTurnDeps): Handler =>
  async ({ request = create(RunTurnRequestSchema) }, context) => {
    if (request.stream) throw invalid("stream", "must be false: the answer is one object; RunTurn streams events");
    // The engine drops the content of its request, but the response object repeats it.
    const running = await openTurnWithoutGateway(deps, { ...request }, context);
    const json = await foldTurn(running, request, deps.config.file.compat);
    const { generationId } = running.turn;
    return create(CreateResponseResponseSchema, { responseJson: Buffer.from(json), generationId });
  };

async function foldTurn({ turn, batches }: RunningTurn, request: RunTurnRequest, compat: Compat): Promise<string> {
  let object: ResponseObject | undefined;
  try {
    for await (const events of batches) {
      // The engine has accepted the request when its first events arrive: its JSON texts are then valid and can be
      // repeated.
      object ??= new ResponseObject(turn.identify(request, echoOf(request, compat), compat.emit_metadata_alias));
      for (const { event } of events) object.apply(event);
    }
  } catch (error) {
    const usage = object?.withheldUsageJson;
    throw error instanceof Fault && usage !== undefined ? error.with({ usageJson: Buffer.from(usage) }) : error;
  }
  const json = object?.json();
  if (json !== undefined) return json;
  throw new Fault(FaultReason.PROVIDER_FAILED, "The turn was interrupted", { origin: FaultOrigin.INFERENCE });
}

function echoOf(request: RunTurnRequest, { fill_defaults: fillDefaults }: Compat): Echo {
  const { reasoningJson, metadata } = request;
  const reasoning = reasoningJson.length > 0 ? (JSON.parse(textOf(reasoningJson)) as JsonObject | null) : undefined;
  return buildEcho(
    request,
    { reasoning, metadata: Object.keys(metadata).length > 0 ? metadata : undefined },
    fillDefaults,
  );
}
