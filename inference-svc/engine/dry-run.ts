/**
 * Dry runs: what would happen to a request, found out without calling anything. The request passes the layers of the
 * stack like every turn, up to the call of an endpoint.
 */
import { errorMembers } from "@sluice/proto/contract/operations/errors.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import type { LineLog, Logger } from "@sluice/proto/lib/log/log.js";
import { logMember } from "@sluice/proto/lib/log/text.js";
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import { admit } from "./admission.ts";
import type { Requester } from "../turn/requester.ts";
import type { PlanDryRun } from "./dry-run-plan.ts";
import { checkEndUser } from "./end-users.ts";
import type { EngineDeps, Pipeline } from "./engine.ts";
import { requirePermitted } from "./permitted.ts";
import { measureRequest } from "../models/estimate/memory.ts";
import type { PlannedAttempt } from "../models/routing/choose/plan.ts";
import { type AppliedGuardrail, guardrailsFor } from "../turn/applied-guardrails.ts";
import { requestedSlug, serviceMetadata } from "../models/routing/records/service-metadata.ts";
import type { Scope } from "../turn/scope.ts";
import { type Stage, isAuditStage } from "../turn/trace.ts";
import { TurnAbort } from "../turn/signal.ts";

export type DryPipelineDeps = Pick<
  EngineDeps,
  "access" | "budget" | "enforcesEndUsers" | "permissionDefault" | "region"
> & {
  readonly log: Logger;
};

/** Parsing and planning for one kind of request: turns or embeddings. */
export interface DryPipeline extends Pick<Pipeline, "parse"> {
  readonly plan: PlanDryRun;
}

export class DryRun {
  readonly #parts: DryPipelineDeps;
  readonly #lines: LineLog;

  constructor(parts: DryPipelineDeps) {
    this.#parts = parts;
    this.#lines = parts.log.lines("dry run");
  }

  /**
   * Runs a dry run. @returns the receipt as JSON
   * @throws Fault, with service_metadata, for everything that refuses a turn before any call, except a block by a
   * guardrail
   */
  async run(request: RunTurnRequest, requester: Requester, pipeline: DryPipeline): Promise<Buffer> {
    let admitted: Scope | undefined;
    const room = this.#parts.budget.open(requester.keyHash);
    const abort = new TurnAbort();
    const held = heldBytes.open(requester.keyHash, (fault) => abort.abort(fault));
    try {
      await room.grow(measureRequest(request));
      const { access } = this.#parts;
      const resolved = await access.resolve(requester.keyHash, requester.policyGeneration, requester.trace);
      const scope = admit(resolved, requester, request, abort, held, this.#parts);
      const turnRequest = pipeline.parse(request, requester, scope.caller);
      if (scope.permissions) requirePermitted(turnRequest, scope.permissions);
      admitted = scope;
      if (turnRequest.ignoredFields) scope.trace.ignoredFields = turnRequest.ignoredFields;
      if (this.#parts.enforcesEndUsers())
        await checkEndUser(this.#parts, scope.caller, scope.user, requester.policyGeneration);
      const { refusal, plan } = await pipeline.plan(turnRequest, scope);
      const [first] = plan;
      scope.trace.passedFields = first?.passedFields ?? [];
      const receipt = this.#receipt(request, scope, refusal, plan);
      const shown = request.echoUpstreamBody && !refusal ? first?.bodyJson : undefined;
      this.#note(request, requester, refusal ? "blocked" : "allowed");
      return receiptJson(receipt, shown);
    } catch (error) {
      const fault = Fault.from(error);
      this.#note(request, requester, fault.errorType, fault);
      if (!admitted || fault.reason === FaultReason.INTERNAL) throw fault;
      throw fault.with({ serviceMetadataJson: Buffer.from(JSON.stringify(this.#metadata(request, admitted))) });
    } finally {
      room.release();
      held.release();
    }
  }

  #note({ model }: RunTurnRequest, { requestId, keyHash }: Requester, outcome: string, fault?: Fault): void {
    const members = `${logMember("request_id", requestId)},"key_hash":"${keyHash}"${logMember("model", model)},"outcome":"${outcome}"`;
    if (fault?.reason === FaultReason.INTERNAL) this.#lines.error(members, fault.cause);
    else this.#lines.info(members);
  }

  #receipt(request: RunTurnRequest, scope: Scope, refusal: Fault | undefined, plan: readonly PlannedAttempt[]): object {
    return {
      object: request.door === "embeddings" ? "embeddings.dry_run" : "response.dry_run",
      blocked: refusal !== undefined,
      error: refusal ? errorMembers(refusal) : null,
      guardrails: guardrailsFor(scope.caller).map((applied) => decisionOf(applied, scope.trace.stages)),
      candidates: plan.map(candidate),
      service_metadata: this.#metadata(request, scope),
    };
  }

  #metadata(request: RunTurnRequest, { trace }: Scope): object {
    const { unknownFields } = request;
    return serviceMetadata(trace, { requested: requestedSlug(request), region: this.#parts.region, unknownFields });
  }
}

/** The most severe action a guardrail takes. Actions of a guardrail in audit mode are only listed in the pipeline. */
function decisionOf({ guardrail, scope }: AppliedGuardrail, stages: readonly Stage[]): object {
  const own = stages.filter((stage) => stage.guardrail_id === guardrail.id && !isAuditStage(stage));
  const [gravest] = own.map((stage) => stage.data?.["action"]);
  return { guardrail_id: guardrail.id, guardrail_scope: scope, decision: gravest ?? "allowed" };
}

const candidate = ({ endpoint, losses, inputTokens, maxOutputTokens, cost, held }: PlannedAttempt): object => ({
  model: endpoint.model,
  provider: endpoint.providerName,
  service_tier: endpoint.tier,
  quantization: endpoint.quantization,
  not_sent: losses,
  estimate: {
    input_tokens: inputTokens,
    max_output_tokens: maxOutputTokens ?? null,
    input_cost: cost ? toDollars(cost.input) : null,
    max_output_cost: cost && maxOutputTokens !== undefined ? toDollars(cost.output) : null,
    max_cost: cost && maxOutputTokens !== undefined ? toDollars(cost.input + cost.output) : null,
    held: held === undefined ? null : toDollars(held),
  },
});

/** Writes the receipt with the provider's body as it would be sent, as text: parsing the body would round its numbers. */
function receiptJson(receipt: object, upstreamBody: string | undefined): Buffer {
  const json = JSON.stringify(receipt);
  return Buffer.from(upstreamBody === undefined ? json : `${json.slice(0, -1)},"upstream_body":${upstreamBody}}`);
}
