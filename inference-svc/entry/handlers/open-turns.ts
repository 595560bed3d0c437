/** ListOpenTurns and EndTurn: list and end the running turns of this process, for the console. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  EndTurnResponseSchema,
  type InferenceService,
  ListOpenTurnsResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { requireServiceToken } from "@sluice/proto/lib/rpc/caller.js";
import type { OpenTurns } from "../../engine/open-turns.ts";
import { type AdministratorDeps, requireManager } from "./administrator.ts";

export interface OpenTurnsDeps extends AdministratorDeps {
  readonly openTurns: OpenTurns;
}

const maxTurns = 1_000;

type Handlers = Pick<ServiceImpl<typeof InferenceService>, "listOpenTurns" | "endTurn">;

export const openTurnsHandlers = (deps: OpenTurnsDeps): Handlers => ({
  async listOpenTurns({ limit }, { requestHeader }) {
    requireServiceToken(requestHeader, deps.token);
    const { workspaceId } = await requireManager(deps, requestHeader);
    const most = limit === 0 ? maxTurns : Math.min(limit, maxTurns);
    return create(ListOpenTurnsResponseSchema, deps.openTurns.list(workspaceId, most));
  },
  async endTurn({ generationId }, { requestHeader }) {
    requireServiceToken(requestHeader, deps.token);
    const { workspaceId } = await requireManager(deps, requestHeader);
    return create(EndTurnResponseSchema, { ended: deps.openTurns.end(workspaceId, generationId) });
  },
});
