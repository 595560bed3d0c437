/** RunTurn: streams the events of one turn to a caller without a gateway. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type InferenceService,
  RunTurnResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { openTurnWithoutGateway } from "./direct-turn.ts";
import type { SharedTurnDeps } from "./shared-turn.ts";

type Handler = ServiceImpl<typeof InferenceService>["runTurn"];

export const runTurnHandler = (deps: SharedTurnDeps): Handler =>
  async function* (request, context) {
    const { batches } = await openTurnWithoutGateway(deps, request, context);
    for await (const events of batches) {
      deps.beforeSending();
      yield create(RunTurnResponseSchema, { events: [...events] });
    }
  };
