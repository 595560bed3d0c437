/** Builds `service_metadata`, the receipt of a turn for clients. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Trace } from "../../../turn/trace.ts";

export interface ServiceMetadata {
  /** Number of the attempt that served, from 1; for a failed turn, the number of attempts. */
  readonly attempt: number;
  readonly [field: string]: unknown;
}

export interface MetadataParts {
  /** The slug the client requested. */
  readonly requested: string;
  /** Region of this process. */
  readonly region: string;
  /** Request fields unknown to Sluice's API; absent when there are none. */
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
  const { passedFields: passed } = trace;
  const unread = passed.length === 0 ? unknownFields : unknownFields.filter(({ name }) => !passed.includes(name));
  const unknown = [...unread.map(unknownField), ...trace.ignoredFields.map((name) => ({ name }))];
  const { attempts, candidates, excluded, stages, selected, strategy } = trace;
  // The requested model without its variant.
  const requestedModel = trace.primaryModel ?? requested;
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
      ...(trace.notSent.length > 0 && { not_sent: trace.notSent }),
      ...(unknown.length > 0 && { unknown_fields: unknown }),
    },
    pipeline: stages,
    region,
    requested,
    strategy: strategy ?? (candidates.some(({ model }) => model !== requestedModel) ? "fallback" : "direct"),
    summary: `available=${candidates.length}${served ? `, selected=${served.provider}` : ""}`,
  };
}

const unknownField = ({ name, didYouMean, reason }: RunTurnRequest["unknownFields"][number]): object => ({
  name,
  ...(didYouMean !== "" && { did_you_mean: didYouMean }),
  ...(reason !== "" && { reason }),
});
