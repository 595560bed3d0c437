/** Builds the fault of a turn after all of its attempts have failed: the last failure, with a summary of the earlier ones. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { estimateInputTokens, measureInput } from "../../estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import { type Overflow, unansweredKind } from "../../../turn/provider-error.ts";
import { isModelLimit } from "../../../turn/model-limits.ts";
import type { Endpoint } from "../catalog.ts";
import { faultOwner, isRefusedBeforeCall } from "./fault-owner.ts";
import type { AttemptSchedule } from "./schedule.ts";

/** The last failure of an endpoint. */
export interface EndpointFailure {
  readonly endpoint: Endpoint;
  readonly fault: Fault;
}

const minRetryAfterMs = 1_000;

export function summarizeFailures(
  all: readonly EndpointFailure[],
  schedule: AttemptSchedule,
  request: TurnRequest,
): Fault {
  const failures = soonestLimitLast(all);
  const failure = failures.at(-1);
  const last = failure?.fault ?? noneAttempted(schedule);
  if (last.reason === FaultReason.INTERNAL) return last;
  const metadata = {
    error_type: last.errorType,
    ...last.metadata,
    ...(failure && isProviders(last) && answerOf(failure)),
    ...(failure && last.reason === FaultReason.CONTEXT_LENGTH_EXCEEDED && lengthsOf(failure, request)),
    ...(failures.length > 1 && { previous_errors: failures.slice(0, -1).map(toPreviousError) }),
  };
  return withRetryHint(last, failures, schedule).with({ metadata }, failure ? messageOf(failure) : last.message);
}

function answerOf({ endpoint: { provider }, fault }: EndpointFailure): object {
  const error = unansweredKind(fault);
  return {
    provider_name: provider,
    provider_status: fault.providerStatus ?? null,
    ...(error && { provider_error: error }),
  };
}

/** Requested and maximum context length: the provider's figures, completed by the catalogue and an estimate. */
function lengthsOf({ endpoint, fault }: EndpointFailure, request: TurnRequest): object {
  const { requested = 0, maximum = endpoint.contextLength } = (fault.metadata?.["context_length"] ?? {}) as Overflow;
  if (requested > maximum) return { context_length: { requested, maximum } };
  const estimate = estimateInputTokens(measureInput(request), endpoint.model);
  // The provider has counted more than the maximum, whatever the estimate says.
  return { context_length: { requested: Math.max(estimate, maximum + 1), maximum } };
}

const providerReasons: ReadonlySet<FaultReason> = new Set([
  FaultReason.PROVIDER_FAILED,
  FaultReason.PROVIDER_TIMEOUT,
  FaultReason.PROVIDER_OVERLOADED,
  FaultReason.RATE_LIMITED,
  FaultReason.NO_ENDPOINTS,
]);

/** Whether the provider failed, refused or stayed silent. Its name and status help an operator; they reveal nothing about the request. */
const isProviders = ({ reason, origin }: Fault): boolean =>
  origin === FaultOrigin.UPSTREAM && providerReasons.has(reason);

/** The message for the client. The provider's own words are left out, because they may quote the prompt or name secrets of the operator. */
function messageOf({ endpoint: { provider, model }, fault }: EndpointFailure): string {
  const { reason, origin, providerStatus, message } = fault;
  if (reason !== FaultReason.NO_ENDPOINTS || origin !== FaultOrigin.UPSTREAM) return message;
  const status = providerStatus === undefined ? "" : ` (it answered ${providerStatus})`;
  return `Provider ${provider} does not serve ${model} under its configured name${status}`;
}

/** The fault of a turn without any attempt, because every endpoint has a cooldown. */
const noneAttempted = (schedule: AttemptSchedule): Fault =>
  new Fault(schedule.limitedMs() === undefined ? FaultReason.NO_ENDPOINTS : FaultReason.RATE_LIMITED, "", {
    origin: FaultOrigin.UPSTREAM,
  });

/** The failures with that of the rate limit that ends first as the last: any of the models may serve the next request. */
function soonestLimitLast(failures: readonly EndpointFailure[]): readonly EndpointFailure[] {
  const last = failures.at(-1);
  if (last === undefined || !isModelLimit(last.fault)) return failures;
  const soonest = failures.reduce((first, each) =>
    isModelLimit(each.fault) && (!isModelLimit(first.fault) || each.fault.retryAfterMs < first.fault.retryAfterMs)
      ? each
      : first,
  );
  return soonest === last ? failures : [...failures.filter((each) => each !== soonest), soonest];
}

/** Milliseconds until an endpoint may serve a repeated request; Infinity when the request has to change. */
const waitMs = ({ fault }: EndpointFailure): number =>
  faultOwner(fault) === "caller" && fault.retryAfterMs === 0
    ? Number.POSITIVE_INFINITY
    : Math.max(minRetryAfterMs, fault.retryAfterMs);

/** Adds the pause after which a retry may succeed, by the state of the endpoints and the limits of the models. */
function withRetryHint(last: Fault, failures: readonly EndpointFailure[], schedule: AttemptSchedule): Fault {
  if (isModelLimit(last)) return last.with({ retryAfterMs: Math.min(...failures.map(waitMs)) });
  const hinted = withProviderHint(last, schedule);
  const limits = failures.filter(({ fault }) => isModelLimit(fault));
  return hinted.retryAfterMs === 0 || limits.length === 0
    ? hinted
    : hinted.with({ retryAfterMs: Math.min(hinted.retryAfterMs, ...limits.map(waitMs)) });
}

function withProviderHint(last: Fault, schedule: AttemptSchedule): Fault {
  if (last.reason === FaultReason.RATE_LIMITED && last.origin === FaultOrigin.UPSTREAM) {
    return last.with({ retryAfterMs: schedule.limitedMs() ?? Math.max(minRetryAfterMs, last.retryAfterMs) });
  }
  if (last.reason === FaultReason.PROVIDER_OVERLOADED && last.retryAfterMs === 0) {
    return last.with({ retryAfterMs: overloadedMs(schedule) });
  }
  return last;
}

/**
 * A random pause in milliseconds, so clients refused together do not come back together. SDKs obey it exactly, so a
 * single refusal costs about as much as their own first pause; the pause is longer only while every endpoint keeps
 * failing.
 */
const overloadedMs = (schedule: AttemptSchedule): number =>
  schedule.allEjected() ? 5_000 + Math.random() * 25_000 : 500 + Math.random() * 1_000;

function toPreviousError({ endpoint: { providerName: provider }, fault }: EndpointFailure): object {
  const error = unansweredKind(fault);
  return {
    ...(!isRefusedBeforeCall(fault) && { provider }),
    code: fault.errorType,
    status: fault.attemptStatus,
    ...(error && { error }),
  };
}
