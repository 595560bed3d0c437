/** TryGuardrail: shows what a guardrail does to a text. The text appears only in the response. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { trialPieces } from "@sluice/proto/contract/request/guardrail-trial.js";
import { CallerSchema, GuardrailSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  type InferenceService,
  TryGuardrailResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { newId, newUuid } from "@sluice/proto/lib/ids/id.js";
import { heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { requestIdIn } from "@sluice/proto/lib/rpc/caller.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import type { TrialText, TryGuardrail } from "../../stack.ts";
import { Scope } from "../../turn/scope.ts";
import { TurnAbort } from "../../turn/signal.ts";
import { TurnState } from "../../turn/turn-state.ts";
import { Trace } from "../../turn/trace.ts";
import { type AdministratorDeps, requireManager } from "./administrator.ts";

export interface TryGuardrailDeps extends AdministratorDeps {
  readonly tryGuardrail: TryGuardrail;
}

const limitMs = 60_000;

export const tryGuardrailHandler =
  (deps: TryGuardrailDeps): ServiceImpl<typeof InferenceService>["tryGuardrail"] =>
  async ({ guardrail = create(GuardrailSchema), side: given, pieces }, { requestHeader, signal }) => {
    const { keyHash, workspaceId, kind } = await requireManager(deps, requestHeader);
    const side = given === "" ? "input" : given;
    throwProblems((problems) => trialPieces.check({ side, pieces }, "", problems));
    const abort = new TurnAbort();
    const timer = setTimeout(() => abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED, "")), limitMs);
    signal.addEventListener("abort", () => abort.abort(new Error("the client has left")));
    const held = heldBytes.open(keyHash, (fault) => abort.abort(fault));
    const scope = new Scope({
      signal: abort,
      held,
      caller: create(CallerSchema, { keyHash, workspaceId, kind, guardrail }),
      requestId: requestIdIn(requestHeader) ?? newId("req_"),
      turnId: newUuid(),
      generationId: newId("gen-"),
      deadline: performance.now() + limitMs,
      trace: new Trace(deps.access.generation),
      state: new TurnState(),
    });
    try {
      const result = await deps.tryGuardrail({ side: side as TrialText["side"], pieces }, scope);
      return create(TryGuardrailResponseSchema, { resultJson: Buffer.from(JSON.stringify(result)) });
    } finally {
      clearTimeout(timer);
      held.release();
      abort.abort(new Error("trial over"));
    }
  };
