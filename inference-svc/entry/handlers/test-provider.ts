/** TestProvider: sends one tiny request to a provider. Tests of the same provider run one at a time. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type InferenceService,
  type TestProviderResponse,
  TestProviderResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { CurrentConfig } from "../../engine/current-config.ts";
import { type TryOptions, type TrialResult, findTarget, tryProvider } from "../../models/trial/try-provider.ts";
import { type AdministratorDeps, requireManager } from "./administrator.ts";

export interface TestProviderDeps extends AdministratorDeps, Pick<TryOptions, "version" | "packages"> {
  readonly config: CurrentConfig;
}

const limitMs = 30_000;
/** Maximum length of a model name; every slug is shorter. */
const maxModelLength = 256;

export function testProviderHandler(deps: TestProviderDeps): ServiceImpl<typeof InferenceService>["testProvider"] {
  const running = new Set<string>();
  return async ({ providerId, model }, { requestHeader }) => {
    const caller = await requireManager(deps, requestHeader);
    if (!caller.account) {
      throw new Fault(
        FaultReason.PERMISSION_DENIED,
        "Only management keys of the account can test a provider; `keys create --management --account` makes one",
      );
    }
    const { file, catalog } = deps.config;
    const settings = file.providers.find(({ id }) => id === providerId);
    if (!settings) throw new Fault(FaultReason.NOT_FOUND, "Provider not found, or left out of the configuration");
    if (model.length > maxModelLength) throw invalid("model", `at most ${maxModelLength} characters`);
    const target = findTarget(catalog, providerId, model === "" ? undefined : model);
    if (!target) throw invalid("model", `${providerId} serves no model here; name one of its own`);
    if (running.has(providerId)) throw isRunning();
    running.add(providerId);
    try {
      // The result names the provider by its id, never by its address.
      return responseOf(await tryProvider(settings, target, { ...deps, host: providerId, limitMs }));
    } finally {
      running.delete(providerId);
    }
  };
}

const isRunning = (): Fault =>
  new Fault(FaultReason.RATE_LIMITED, "A test of this provider is running already", {
    origin: FaultOrigin.CLIENT,
    retryAfterMs: 1_000,
  });

const responseOf = ({ upstream_model, latency_ms, usage, cause, ...tried }: TrialResult): TestProviderResponse =>
  create(TestProviderResponseSchema, {
    ...tried,
    upstreamModel: upstream_model,
    latencyMs: latency_ms,
    ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
    ...(cause && {
      failure: { kind: cause.kind, message: cause.message, ...(cause.status && { status: cause.status }) },
    }),
  });
