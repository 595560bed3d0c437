/** Calls a model for an internal purpose, such as judging: an ordinary turn, under the data policy of the request whose text is sent. */
import { create } from "@bufbuild/protobuf";
import { type Caller, CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  FileParserPluginSchema,
  type ProviderPreferences,
  ProviderPreferencesSchema,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { newUuid } from "@sluice/proto/lib/ids/id.js";
import type { TextFormat, TurnRequest } from "../../turn/request.ts";
import { Scope } from "../../turn/scope.ts";
import { TurnState } from "../../turn/turn-state.ts";
import { readToEnd } from "../../turn/answer-kinds.ts";
import { type Purpose, Trace } from "../../turn/trace.ts";
import { TurnAbort, type TurnSignal } from "../../turn/signal.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import type { Usage } from "../../turn/usage.ts";

/** The request for which a call is made, and its scope. */
export interface CallContext {
  readonly request: TurnRequest;
  readonly scope: Scope;
  /** Receives the usage of each call; the usage is undefined when unknown. */
  readonly spent?: (usage: Usage | undefined) => void;
}

export interface InternalQuestion {
  /** Slug of the called model. */
  readonly model: string;
  readonly instructions: string;
  readonly text: string;
  /** A file sent with the text. */
  readonly file?: Readonly<Record<string, unknown>>;
  /** Maximum number of the file's pages the model reads. */
  readonly pages?: number;
  readonly format?: TextFormat;
  readonly maxOutputTokens: number;
  readonly purpose: Purpose;
  /** Whether to request the probabilities of alternatives to each token. */
  readonly logprobs: boolean;
}

/** An alternative for a token, with the natural logarithm of its probability. */
export interface ReplyFormat {
  readonly token: string;
  readonly logprob: number;
}

export interface Reply {
  readonly text: string;
  /** Alternatives for the first token; empty when the provider reports none. */
  readonly first: readonly ReplyFormat[];
  /** Whether the answer was cut off before its end. */
  readonly isCut: boolean;
  /** Number of pages read; present when the provider counts pages. */
  readonly pages: number | undefined;
}

/** Number of alternatives requested per token; the two letters of a verdict are among the first ones. */
const choices = 5;

export interface CallLimits {
  readonly signal: TurnSignal;
  readonly timeoutMs: number;
  /** Whether the key pays for the call, because the calls paid by the operator are used up for this request. */
  readonly charged: boolean;
}

/** Calls the model. @throws Fault as a turn does, DEADLINE_EXCEEDED after the time limit */
export async function callModel(
  turn: Turn,
  question: InternalQuestion,
  { request, scope, spent }: CallContext,
  { signal, timeoutMs, charged }: CallLimits,
): Promise<Reply> {
  const abort = new TurnAbort();
  const stop = () => abort.abort(signal.reason);
  const timer = setTimeout(() => abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED, "")), timeoutMs);
  signal.addEventListener("abort", stop);
  const callScope = innerScope(scope, abort, performance.now() + timeoutMs, question.purpose);
  const inner = charged ? chargedTo(scope, callScope) : callScope;
  try {
    if (signal.aborted) stop();
    return replyOf(await readToEnd(turn(requestOf(question, request), inner)), inner.trace.usage?.pages);
  } finally {
    spent?.(inner.trace.usage);
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** Routes a request. @throws Fault when no endpoint may serve it */
export type RouteRequest = (request: TurnRequest, scope: Scope) => unknown;

/** Matches reasons for excluding an endpoint that come from data policies, and from the providers the key may use. */
const ofPolicy = /^(?:allowed_providers$|data_|permissions\.providers$)/;

/** The policy's reasons for forbidding a call, in the terms of `excluded_by`. @returns an empty list if the policy leaves an endpoint */
export function findForbiddingReasons(
  route: RouteRequest,
  question: InternalQuestion,
  { request, scope }: CallContext,
): readonly string[] {
  const inner = innerScope(scope, scope.signal, scope.deadline, question.purpose);
  try {
    route(requestOf(question, request), inner);
    return [];
  } catch {
    return [...inner.trace.excluded.keys()].filter((reason) => ofPolicy.test(reason));
  }
}

function innerScope(scope: Scope, signal: TurnSignal, deadline: number, purpose: Purpose): Scope {
  return new Scope({
    signal,
    held: scope.held,
    caller: internalCaller(scope.caller),
    permissions: scope.permissions?.ofProviders(),
    requestId: scope.requestId,
    deadline: Math.min(scope.deadline, deadline),
    operation: purpose,
    payer: "operator",
    turnId: newUuid(),
    generationId: scope.generationId,
    door: scope.door,
    trace: new Trace(scope.trace.policyGeneration),
    state: new TurnState(),
  });
}

/** The scope of a call the key pays for: its usage counts as the request's, and the limits of its model apply. */
function chargedTo({ caller, trace, modelLimits, tags, tagBudgets }: Scope, inner: Scope): Scope {
  inner.caller.hasBudget = caller.hasBudget;
  trace.parts.push(inner.trace);
  return inner.with({ payer: "key", modelLimits, tags, tagBudgets });
}

/** The key for an internal call, without rules about models: the judge's model is the operator's choice. */
function internalCaller({ keyHash, workspaceId, kind, guardrail, workspaceGuardrails }: Caller): Caller {
  const inner = create(CallerSchema, { keyHash, workspaceId, kind });
  const policies = [...(guardrail ? [guardrail] : []), ...workspaceGuardrails];
  inner.workspaceGuardrails = policies.flatMap((policy) => {
    const { routingPolicy } = policy;
    if (!routingPolicy) return [];
    return [
      { ...policy, contentFilters: [], contentFilterBuiltins: [], routingPolicy: { ...routingPolicy, ...anyModel } },
    ];
  });
  return inner;
}

const anyModel = { allowedModels: [], ignoredModels: [] };

function requestOf(question: InternalQuestion, { provider }: TurnRequest): TurnRequest {
  const { model, instructions, text, file, pages, format, maxOutputTokens, logprobs } = question;
  return {
    models: [model],
    instructions,
    input: [{ type: "message", role: "user", content: file ? [{ type: "input_text", text }, { ...file }] : text }],
    // The model must get the file itself instead of its text.
    ...(file && { plugins: { fileParser: create(FileParserPluginSchema, { enabled: false }) } }),
    stream: false,
    maxOutputTokens,
    temperature: 0,
    ...(logprobs && { topLogprobs: choices }),
    ...(pages !== undefined && { pages }),
    ...(format && { textFormat: format }),
    ...(provider && { provider: policyOf(provider) }),
    tools: [],
    include: [],
    outputModalities: [],
    echoUpstreamBody: false,
    serviceMetadata: false,
  };
}

/** The data policy among the provider preferences of a request; its preferences for providers are dropped. */
export const policyOf = ({ only, ignore, zdr, dataCollection }: ProviderPreferences): ProviderPreferences =>
  create(ProviderPreferencesSchema, { only, ignore, dataCollection, ...(zdr !== undefined && { zdr }) });

function replyOf(events: readonly TurnEvent[], pages: number | undefined): Reply {
  const messages = events.flatMap((event) =>
    event.type === "item.end" && event.item.type === "message" ? [event.item] : [],
  );
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as readonly Part[]) : []));
  const text = parts.map((part) => (typeof part.text === "string" ? part.text : "")).join("");
  const [first] = parts.flatMap(({ logprobs }) => logprobs ?? []);
  const last = events.at(-1);
  const isCut = last?.type === "end" && last.outcome.status === "incomplete";
  return { text, first: first?.top_logprobs ?? [], isCut, pages };
}

interface Part {
  readonly text?: unknown;
  readonly logprobs?: readonly { readonly top_logprobs?: readonly ReplyFormat[] }[];
}
