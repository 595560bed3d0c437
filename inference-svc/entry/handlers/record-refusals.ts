/** RecordRefusals: writes turns refused by a gateway to the spool of this process. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type InferenceService,
  RecordRefusalsResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { requireServiceToken } from "@sluice/proto/lib/rpc/caller.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { Ledger } from "../../models/ledger/ledger.ts";

export interface RecordRefusalsDeps {
  readonly ledger: Pick<Ledger, "recordTurn" | "hasRoom">;
  readonly token: ServiceToken;
  /** Called before anything is sent to a client, to write what it will learn to the ledger first. */
  readonly beforeSending: () => void;
}

type Handler = ServiceImpl<typeof InferenceService>["recordRefusals"];

export const recordRefusalsHandler =
  ({ ledger, token, beforeSending }: RecordRefusalsDeps): Handler =>
  ({ turns }, { requestHeader }) => {
    requireServiceToken(requestHeader, token);
    if (!ledger.hasRoom) throw new Fault(FaultReason.UNAVAILABLE, "", { origin: FaultOrigin.INFERENCE });
    for (const turn of turns) ledger.recordTurn(turn);
    beforeSending();
    return create(RecordRefusalsResponseSchema);
  };
