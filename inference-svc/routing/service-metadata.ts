/** The receipt of a turn: `service_metadata`, out of its account. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Trace } from "../turn/scope.ts";

export interface ServiceMetadata {
  /** The attempt that served, counted from 1; of a failed turn the last one, 0 when nothing reached a provider. */
  readonly attempt: number;
  readonly [field: string]: unknown;
}

export interface MetadataParts {
  /** The slug that was asked for. */
  readonly requested: string;
  /** Of this process. */
  readonly region: string;
  /** Fields of the request that the contract does not have; absent means none. */
  readonly unknownFields?: RunTurnRequest["unknownFields"];
}

export const requestedSlug = ({
  model,
  models,
}: {
  readonly model: string;
  readonly models: readonly string[];
}): string => (model === "" ? (models[0] ?? "") : model);

export function serviceMetadata(
  trace: Trace,
  { requested, region, unknownFields = [] }: MetadataParts,
): ServiceMetadata {
  const { attempts, candidates, excluded, stages, selected, strategy } = trace;
  // The same model whatever variant of it was asked for.
  const asked = trace.primaryModel ?? requested;
  const served = selected === undefined ? undefined : candidates[selected];
  return {
    attempt: attempts.length,
    ...(attempts.length > 0 && {
      attempts: attempts.map(({ provider, model, status, error }) => ({
        model,
        provider,
        status,
        ...(error && { error }),
      })),
    }),
    endpoints: {
      available: candidates.map(({ provider, model, ejected, rests }, index) => ({
        model,
        provider,
        selected: index === selected,
        ...(ejected && { ejected }),
        ...(rests && { rests }),
      })),
      total: candidates.length,
      ...(excluded.size > 0 && { excluded_by: Object.fromEntries(excluded) }),
    },
    ...(served && { generation_time: Math.round(performance.now() - trace.startedAt) }),
    is_byok: false,
    params: {
      policy_generation: Number(trace.policyGeneration),
      ...(trace.losses.length > 0 && { not_sent: trace.losses }),
      ...(unknownFields.length > 0 && { unknown_fields: unknownFields.map(unknownField) }),
    },
    pipeline: stages,
    region,
    requested,
    strategy: strategy ?? (candidates.some(({ model }) => model !== asked) ? "fallback" : "direct"),
    summary: `available=${candidates.length}${served ? `, selected=${served.provider}` : ""}`,
  };
}

const unknownField = ({ name, didYouMean }: RunTurnRequest["unknownFields"][number]): object => ({
  name,
  ...(didYouMean !== "" && { did_you_mean: didYouMean }),
});
