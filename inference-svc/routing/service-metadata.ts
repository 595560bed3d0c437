/** The receipt of a turn: `service_metadata`, out of its account. */
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
}

export const requestedSlug = ({
  model,
  models,
}: {
  readonly model: string;
  readonly models: readonly string[];
}): string => (model === "" ? (models[0] ?? "") : model);

export function serviceMetadata(trace: Trace, { requested, region }: MetadataParts): ServiceMetadata {
  const { attempts, candidates, excluded, stages, selected, strategy } = trace;
  // The same model whatever variant of it was asked for.
  const asked = trace.primaryModel ?? requested;
  const served = selected === undefined ? undefined : candidates[selected];
  return {
    attempt: attempts.length,
    ...(attempts.length > 0 && {
      attempts: attempts.map(({ provider, model, status }) => ({ model, provider, status })),
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
    },
    pipeline: stages,
    region,
    requested,
    strategy: strategy ?? (candidates.some(({ model }) => model !== asked) ? "fallback" : "direct"),
    summary: `available=${candidates.length}${served ? `, selected=${served.provider}` : ""}`,
  };
}
