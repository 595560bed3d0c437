/** Sends one tiny request to a provider, through the code for real turns. */
import { create } from "@bufbuild/protobuf";
import { CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import { newId, newUuid } from "@sluice/proto/lib/ids/id.js";
import { heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import type { Catalog } from "../routing/catalog.ts";
import { bareRequest } from "../../turn/bare-request.ts";
import { Scope } from "../../turn/scope.ts";
import { TurnState } from "../../turn/turn-state.ts";
import { Trace } from "../../turn/trace.ts";
import { TurnAbort } from "../../turn/signal.ts";
import type { Outcome, Turn } from "../../turn/turn.ts";
import type { Usage } from "../../turn/usage.ts";
import type { SdkPackages } from "../upstream/ai-sdk/load.ts";
import { connectionLost, providerTimeout } from "../upstream/failure.ts";
import { type Destination, openUpstreams } from "../upstream/providers.ts";
import { type Cause, explainFault } from "./failure-causes.ts";

/** The lowest maximum of output tokens every provider accepts. */
const answerTokens = 16;

export interface TrialResult {
  readonly ok: boolean;
  readonly provider: string;
  /** Slug of the model; the provider's own name if the catalogue has no slug for it. */
  readonly model: string;
  readonly upstream_model: string;
  readonly latency_ms: number;
  /** How the answer ended; set only on success. */
  readonly outcome?: string;
  readonly usage?: { readonly input_tokens: number; readonly output_tokens: number };
  /** Cause of the failure; set only on failure. */
  readonly cause?: Cause;
}

export interface TestTarget {
  /** Slug of the model; the provider's own name if the catalogue has no slug for it. */
  readonly model: string;
  readonly destination: Destination;
}

/**
 * Finds the model by its slug or the provider's name, whether it is listed or not. Without a name, the cheapest model
 * with text output is taken, which excludes models only for embeddings or images.
 * @returns undefined when the provider serves no such model here
 */
export function findTarget({ models }: Catalog, id: string, model: string | undefined): TestTarget | undefined {
  const endpoints = models.flatMap((each) => each.endpoints).filter((each) => each.provider === id);
  const named = endpoints.find((each) => each.model === model || each.upstreamModel === model);
  if (named) return { model: named.model, destination: named };
  if (model !== undefined) return { model, destination: { provider: id, upstreamModel: model, tier: "default" } };
  const answering = new Set(
    models.filter(({ settings }) => settings.output_modalities.includes("text")).flatMap((each) => each.endpoints),
  );
  const [cheapest] = endpoints
    .filter((each) => answering.has(each))
    .toSorted((a, b) => (a.prices?.blended ?? 0) - (b.prices?.blended ?? 0));
  return cheapest && { model: cheapest.model, destination: cheapest };
}

export interface TryOptions {
  /** Version of Sluice, for the user agent. */
  readonly version: string;
  readonly packages: SdkPackages;
  /** Name for the provider in the explanation of a failure. */
  readonly host: string;
  /** Milliseconds for the whole answer. */
  readonly limitMs: number;
}

export async function tryProvider(
  settings: ProviderSettings,
  { model, destination }: TestTarget,
  { version, packages, host, limitMs }: TryOptions,
): Promise<TrialResult> {
  const log = { error: () => {}, warn: () => {} };
  const upstreams = openUpstreams([settings], { version, packages, log, now: () => performance.now() });
  const startedAt = performance.now();
  const tried = () => ({
    provider: settings.id,
    model,
    upstream_model: destination.upstreamModel,
    latency_ms: Math.round(performance.now() - startedAt),
  });
  try {
    const turn = upstreams.turn(destination);
    const { status, reason, usage } = await runTrial(turn, settings.id, limitMs).catch((error: unknown) => {
      // The signature was made with a wrong clock. The provider's answer told the difference, and the second attempt
      // corrects it.
      if (Fault.from(error).repeat !== "now") throw error;
      return runTrial(turn, settings.id, limitMs);
    });
    return {
      ok: true,
      ...tried(),
      outcome: reason === undefined ? status : `${status}: ${reason}`,
      ...(usage && { usage: usageOf(usage) }),
    };
  } catch (error) {
    const cause = explainFault(Fault.from(error), host, destination.upstreamModel);
    return { ok: false, ...tried(), cause: { ...cause, message: withoutKeys(cause.message, settings) } };
  } finally {
    await upstreams.close();
  }
}

/** Replaces API keys in a text, because some providers quote the rejected key. */
const withoutKeys = (text: string, { api_keys: keys = [] }: ProviderSettings): string =>
  keys.reduce((left, key) => left.replaceAll(key, "***"), text);

const usageOf = ({ inputTokens, outputTokens }: Usage) => ({ input_tokens: inputTokens, output_tokens: outputTokens });

const request = bareRequest({
  input: [{ type: "message", role: "user", content: "Answer with one word: are you there?" }],
  maxOutputTokens: answerTokens,
});

/** Runs the turn to its end. */
async function runTrial(turn: Turn, provider: string, limitMs: number): Promise<Outcome> {
  const abort = new TurnAbort();
  const held = heldBytes.open(provider, (fault) => abort.abort(fault));
  const timer = setTimeout(() => abort.abort(providerTimeout("answer")), limitMs);
  const scope = new Scope({
    signal: abort,
    held,
    caller: create(CallerSchema),
    requestId: newId("req_"),
    turnId: newUuid(),
    generationId: newId("gen-"),
    deadline: performance.now() + limitMs,
    attempt: { withinMs: limitMs, last: true },
    trace: new Trace(0n),
    state: new TurnState(),
  });
  try {
    for await (const batch of turn(request, scope)) {
      const last = batch.at(-1);
      if (last?.type === "end") return last.outcome;
    }
    throw connectionLost();
  } catch (error) {
    throw abort.aborted ? abort.reason : error;
  } finally {
    clearTimeout(timer);
    held.release();
    abort.abort(new Error("turn over"));
  }
}
