/** One call that the house makes for its own purposes: an ordinary turn, with the data policy of whoever's text it is about. */
import { create } from "@bufbuild/protobuf";
import { type Caller, CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type ProviderPreferences, ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { newUuid } from "@sluice/proto/runtime/id.js";
import type { TextFormat, TurnRequest } from "../turn/request.ts";
import { type Purpose, type Scope, Trace } from "../turn/scope.ts";
import { TurnAbort, type TurnSignal } from "../turn/signal.ts";
import type { Turn, TurnEvent, Usage } from "../turn/turn.ts";

/** On whose behalf: the request and its scope. */
export interface Occasion {
  readonly request: TurnRequest;
  readonly scope: Scope;
  /** Told what each call has consumed; undefined when nobody knows. */
  readonly spent?: (usage: Usage | undefined) => void;
}

export interface Question {
  /** Slug. */
  readonly model: string;
  readonly instructions: string;
  readonly text: string;
  readonly format?: TextFormat;
  readonly maxOutputTokens: number;
  readonly purpose: Purpose;
  /** Whether the alternatives to each token are wanted, with their probabilities. */
  readonly logprobs: boolean;
}

/** A token that could have been said, with the natural logarithm of its probability. */
export interface Choice {
  readonly token: string;
  readonly logprob: number;
}

export interface Reply {
  readonly text: string;
  /** Of the first token; empty where the provider tells none. */
  readonly first: readonly Choice[];
}

/** Of each token; the two that count are among the first. */
const choices = 5;

export interface Limits {
  readonly signal: TurnSignal;
  readonly timeoutMs: number;
  /** The key pays for the call, because the operator's calls for the request are used up. */
  readonly charged: boolean;
}

/** @throws Fault as a turn does, DEADLINE_EXCEEDED after the time limit */
export async function callModel(
  turn: Turn,
  question: Question,
  { request, scope, spent }: Occasion,
  { signal, timeoutMs, charged }: Limits,
): Promise<Reply> {
  const abort = new TurnAbort();
  const stop = () => abort.abort(signal.reason);
  const timer = setTimeout(() => abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED, "")), timeoutMs);
  signal.addEventListener("abort", stop);
  const asked = innerScope(scope, abort, performance.now() + timeoutMs, question.purpose);
  const inner = charged ? chargedTo(scope, asked) : asked;
  try {
    if (signal.aborted) stop();
    const events: TurnEvent[] = [];
    for await (const batch of await turn(requestOf(question, request), inner)) events.push(...batch);
    return replyOf(events);
  } finally {
    spent?.(inner.trace.usage);
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** Decides where a request goes. @throws Fault when nobody may serve it */
export type Route = (request: TurnRequest, scope: Scope) => unknown;

/** What a data policy leaves endpoints out for. */
const ofPolicy = /^(?:allowed_providers|data_)/;

/** Why the policy of the occasion leaves nobody to be asked, by the words of `excluded_by`; empty when it does not. */
export function forbidden(route: Route, question: Question, { request, scope }: Occasion): readonly string[] {
  const inner = innerScope(scope, scope.signal, scope.deadline, question.purpose);
  try {
    route(requestOf(question, request), inner);
    return [];
  } catch {
    return [...inner.trace.excluded.keys()].filter((reason) => ofPolicy.test(reason));
  }
}

function innerScope(scope: Scope, signal: TurnSignal, deadline: number, purpose: Purpose): Scope {
  return {
    signal,
    caller: houseOf(scope.caller),
    requestId: scope.requestId,
    deadline: Math.min(scope.deadline, deadline),
    purpose,
    turnId: newUuid(),
    generationId: scope.generationId,
    trace: new Trace(scope.trace.policyGeneration),
  };
}

/** The usage of the request contains what its key pays for. */
function chargedTo({ caller, trace }: Scope, inner: Scope): Scope {
  inner.caller.hasBudget = caller.hasBudget;
  trace.parts.push(inner.trace);
  return { ...inner, charged: true };
}

/** The key's own policy, without what is about its models: which model judges is the operator's choice. */
function houseOf({ keyHash, workspaceId, kind, guardrail, workspaceGuardrails }: Caller): Caller {
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

function requestOf(question: Question, { provider }: TurnRequest): TurnRequest {
  const { model, instructions, text, format, maxOutputTokens, logprobs } = question;
  return {
    models: [model],
    instructions,
    input: [{ type: "message", role: "user", content: text }],
    stream: false,
    maxOutputTokens,
    temperature: 0,
    ...(logprobs && { topLogprobs: choices }),
    ...(format && { textFormat: format }),
    ...(provider && { provider: policyOf(provider) }),
    tools: [],
    include: [],
    outputModalities: [],
    echoUpstreamBody: false,
    serviceMetadata: false,
  };
}

/** Who may see the text is as for the request; who is preferred is not. */
export const policyOf = ({ only, ignore, zdr, dataCollection }: ProviderPreferences): ProviderPreferences =>
  create(ProviderPreferencesSchema, { only, ignore, dataCollection, ...(zdr !== undefined && { zdr }) });

function replyOf(events: readonly TurnEvent[]): Reply {
  const messages = events.flatMap((event) =>
    event.type === "item.end" && event.item.type === "message" ? [event.item] : [],
  );
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as readonly Part[]) : []));
  const text = parts.map((part) => (typeof part.text === "string" ? part.text : "")).join("");
  const [first] = parts.flatMap(({ logprobs }) => logprobs ?? []);
  return { text, first: first?.top_logprobs ?? [] };
}

interface Part {
  readonly text?: unknown;
  readonly logprobs?: readonly { readonly top_logprobs?: readonly Choice[] }[];
}
