/**
 * CountTokens: counts the tokens of a prompt, for clients with an API key and for Sluice's gateways. No turn is opened
 * and no provider called.
 */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CountTokensResponseSchema,
  type InferenceService,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { checkScalars } from "./scalars.ts";
import type { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import type { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { callerKeyHash, invalidKey, isServiceToken, serviceTokenHeader } from "@sluice/proto/lib/rpc/caller.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { type Permissions, permissionsOf } from "../../turn/permissions.ts";
import { doorWord } from "@sluice/proto/lib/turns/turn-facts.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { measureRequest } from "../../models/estimate/memory.ts";
import { estimateInputTokens, measureInput } from "../../models/estimate/tokens.ts";
import type { Catalog } from "../../models/routing/catalog.ts";
import type { CurrentConfig } from "../../engine/current-config.ts";
import { directDoor } from "../../engine/admission.ts";
import { findModels } from "../../models/routing/choose/candidates.ts";
import { requirePermitted } from "../../engine/permitted.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { RequestParser } from "../../turn/parse/request-parser.ts";
import { admitDirectly } from "./direct-admission.ts";
import { withoutOnline, isModelChoiceSlug } from "../../features/slugs.ts";

export interface CountTokensDeps {
  readonly access: Access;
  readonly limiter: Limiter;
  readonly token: ServiceToken;
  readonly budget: ByteBudget;
  readonly parse: RequestParser["parse"];
  /** The current configuration; a reload replaces its members. */
  readonly config: Pick<CurrentConfig, "catalog" | "file">;
}

type Handler = ServiceImpl<typeof InferenceService>["countTokens"];

export const countTokensHandler =
  (deps: CountTokensDeps): Handler =>
  async ({ request }, { requestHeader, responseHeader }) => {
    const { budget, parse, token } = deps;
    const keyHash = callerKeyHash(requestHeader, token);
    // A gateway has already checked the scalars, scanned the JSON texts and counted the request; other clients are not trusted to have done so.
    const isGateway = isServiceToken(requestHeader.get(serviceTokenHeader), token);
    const turn = request ?? create(RunTurnRequestSchema);
    const problems = new Problems();
    if (!isGateway) checkScalars(turn, problems);
    problems.throwIfAny();
    const admitted = isGateway ? undefined : await admitDirectly(deps, keyHash, responseHeader);
    const room = budget.open(keyHash);
    try {
      await room.grow(measureRequest(turn));
      const caller = admitted?.caller ?? (await deps.access.resolve(keyHash)).caller;
      if (!caller) throw invalidKey();
      const permissions = permissionsOf(caller, deps.config.file.permissions.default);
      permissions?.require("doors", isGateway ? doorWord(turn.door) : directDoor);
      const parsed = parse(turn, { keyHash, scanned: isGateway }, caller);
      if (permissions) requirePermitted(parsed, permissions);
      checkModels(deps.config.catalog, parsed, permissions);
      const inputTokens = estimateInputTokens(measureInput(parsed), parsed.models[0] ?? "");
      return create(CountTokensResponseSchema, { inputTokens });
    } finally {
      room.release();
      admitted?.admission.leave(false);
    }
  };

/** Checks the models of the request. Slugs of routers are not in the catalogue. @throws Fault as a turn does for models that cannot answer it */
function checkModels(catalog: Catalog, { models }: TurnRequest, permissions: Permissions | undefined): void {
  const slugs = models.filter((slug) => !isModelChoiceSlug(slug));
  const found = findModels(catalog, { models: slugs.map((slug) => withoutOnline(slug, catalog)) });
  if (permissions === undefined || slugs.length < models.length) return;
  const ids = found.map(({ model }) => model.settings.id);
  if (!ids.some((id) => permissions.allows("models", id))) permissions.require("models", ids[0] ?? "");
}
