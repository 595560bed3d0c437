/**
 * DryRun and DryRunEmbed: show what would happen to a request, without calling a provider. For clients with an API key
 * and for Sluice's gateways.
 */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { EmbedRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/embed_pb.js";
import {
  DryRunEmbedResponseSchema,
  DryRunResponseSchema,
  type InferenceService,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { type RunTurnRequest, RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { checkScalars } from "./scalars.ts";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { callerKeyHash, isServiceToken, requestIdIn, serviceTokenHeader } from "@sluice/proto/lib/rpc/caller.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { untraced } from "@sluice/proto/lib/tracing/context.js";
import { currentSpan } from "@sluice/proto/lib/tracing/rpc.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { CurrentConfig } from "../../engine/current-config.ts";
import type { DryPipeline, DryRun } from "../../engine/dry-run.ts";
import type { Pipeline } from "../../engine/engine.ts";
import type { PlanDryRun } from "../../engine/dry-run-plan.ts";
import { admitDirectly } from "./direct-admission.ts";
import { checkEmbedRequest, embedParser, toEmbedTurn } from "./embed-request.ts";

export interface DryRunDeps {
  readonly dryRun: DryRun;
  readonly parse: Pipeline["parse"];
  readonly planDryRun: PlanDryRun;
  readonly planEmbedDryRun: PlanDryRun;
  readonly config: Pick<CurrentConfig, "catalog">;
  readonly access: Access;
  readonly limiter: Limiter;
  readonly token: ServiceToken;
}

type Service = ServiceImpl<typeof InferenceService>;

export const dryRunHandler =
  (deps: DryRunDeps): Service["dryRun"] =>
  async ({ request, policyGeneration }, context) => {
    const turn = request ?? create(RunTurnRequestSchema);
    const problems = new Problems();
    if (!isFromGateway(deps, context)) checkScalars(turn, problems);
    problems.throwIfAny();
    const pipeline = { parse: deps.parse, plan: deps.planDryRun };
    const receiptJson = await runDry(deps, turn, policyGeneration, context, pipeline);
    return create(DryRunResponseSchema, { receiptJson });
  };

export const dryRunEmbedHandler =
  (deps: DryRunDeps): Service["dryRunEmbed"] =>
  async ({ request = create(EmbedRequestSchema) }, context) => {
    checkEmbedRequest(request);
    const pipeline = { parse: embedParser(request, deps.config), plan: deps.planEmbedDryRun };
    const receiptJson = await runDry(deps, toEmbedTurn(request), request.policyGeneration, context, pipeline);
    return create(DryRunEmbedResponseSchema, { receiptJson });
  };

type Call = Pick<HandlerContext, "requestHeader" | "responseHeader">;

/**
 * Whether the call comes from a gateway, which has already checked the scalars, scanned the JSON texts and counted the
 * request. Other clients are not trusted to have done so.
 */
const isFromGateway = ({ token }: DryRunDeps, { requestHeader }: Call): boolean =>
  isServiceToken(requestHeader.get(serviceTokenHeader), token);

async function runDry(
  deps: DryRunDeps,
  turn: RunTurnRequest,
  policyGeneration: bigint,
  context: Call,
  pipeline: DryPipeline,
): Promise<Buffer> {
  const { access, dryRun, token } = deps;
  const { requestHeader, responseHeader } = context;
  const keyHash = callerKeyHash(requestHeader, token);
  const isGateway = isFromGateway(deps, context);
  const admitted = isGateway ? undefined : await admitDirectly(deps, keyHash, responseHeader);
  const requester = {
    keyHash,
    requestId: requestIdIn(requestHeader) ?? newId("req_"),
    trace: currentSpan() ?? untraced,
    generationId: newId("gen-"),
    policyGeneration: isGateway ? policyGeneration : access.generation,
    scanned: isGateway,
    deadline: Number.POSITIVE_INFINITY,
  };
  try {
    return await dryRun.run(turn, requester, pipeline);
  } finally {
    admitted?.admission.leave(false);
  }
}
