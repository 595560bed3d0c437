/** The plugin `context-compression`: shortens an input that exceeds the context window of the current endpoint. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { EndpointFeature } from "../../models/ask.ts";
import type { Endpoint } from "../../models/routing/catalog.ts";
import { toDeferredAnswer } from "../../turn/answer-kinds.ts";
import { TimeSlice } from "../../turn/time-slice.ts";
import { estimateInputTokens, measureSettings, measureItems, estimateTokens } from "../../models/estimate/tokens.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type Stage, purposes } from "../../turn/trace.ts";
import type { Answer, Turn } from "../../turn/turn.ts";
import { inputTarget, isCompressed } from "../../turn/window.ts";
import { endpointApplies } from "../applies.ts";
import { type Compressed, compress } from "./compress.ts";

/** Factor for texts whose token estimate is too low: by a fifth for JSON, by less for most others. */
const safety = 1.08;
/** Factor for texts whose token estimate is up to half too high: an input above the window by this factor certainly does not fit. */
const overestimate = 1.5;

export const contextCompression: EndpointFeature = {
  id: "context-compression",
  applies: endpointApplies.contextCompression,
  layer: (endpoint) => (next) => (request, scope) =>
    // Internal calls for the operator's roles, such as judges, are not compressed: their input already fits.
    isCompressed(request, endpoint) && !hasPurpose(scope)
      ? toDeferredAnswer(answerCompressed(request, endpoint, scope, next))
      : next(request, scope),
};

const hasPurpose = ({ operation }: Scope): boolean => (purposes as readonly string[]).includes(operation);

async function answerCompressed(request: TurnRequest, endpoint: Endpoint, scope: Scope, next: Turn): Promise<Answer> {
  const fitting = await fitted(request, endpoint, scope);
  note(scope, fitting.stage);
  return next(fitting.request, scope);
}

interface Fitting {
  readonly request: TurnRequest;
  /** Stage for the receipt; absent when nothing was left out. */
  readonly stage?: Stage;
}

/**
 * Makes a request that fits the endpoint.
 * @throws Fault CONTEXT_LENGTH_EXCEEDED when nothing more can be removed
 */
async function fitted(request: TurnRequest, endpoint: Endpoint, scope: Scope): Promise<Fitting> {
  if (!isCompressed(request, endpoint)) return { request };
  const { model } = endpoint;
  const target = inputTarget(request, endpoint);
  const fixedTokens = Math.ceil(estimateTokens(measureSettings(request), model) * safety);
  const tokensOf = (item: InputItem) => Math.ceil(estimateInputTokens(measureItems([item]), model) * safety);
  const timeSlice = new TimeSlice(scope.signal);
  const compressed = await timeSlice.run(compress(request.input, { fixedTokens, target, tokensOf }));
  if (compressed === undefined) return { request };
  if (compressed.after > target * overestimate) throw tooLong(compressed.after, target, endpoint);
  if (compressed.steps.length === 0) return { request };
  return { request: { ...request, input: compressed.input }, stage: stageOf(compressed, request, endpoint) };
}

const tooLong = (tokens: number, target: number, { contextLength }: Endpoint): Fault =>
  new Fault(
    FaultReason.CONTEXT_LENGTH_EXCEEDED,
    `input: about ${tokens} tokens are left when everything is left out that may be; a window of ${contextLength} has room for ${target}`,
    {
      origin: FaultOrigin.CLIENT,
      metadata: {
        error_type: "context_length_exceeded",
        param: "input",
        context_length: { requested: tokens, maximum: target },
      },
    },
  );

/** Adds the stage to the receipt, unless an earlier attempt has already added it. */
function note({ trace }: Scope, stage: Stage | undefined): void {
  if (stage === undefined) return;
  const isSame = (other: Stage) => other.type === stage.type && other.data?.["model"] === stage.data?.["model"];
  if (!trace.stages.some(isSame)) trace.stages.push(stage);
}

function stageOf({ input, steps, before, after }: Compressed, request: TurnRequest, { model }: Endpoint): Stage {
  const [only] = request.input;
  const isText = request.input.length === 1 && typeof only?.["content"] === "string";
  return {
    type: "context_compression",
    name: "context-compression",
    summary: `Compressed: about ${before} tokens to ${after}`,
    data: {
      engine: "middle-out",
      input_type: isText ? "text" : "items",
      original_count: request.input.length,
      compressed_count: input.length,
      est_before: before,
      est_after: after,
      steps,
      model,
    },
  };
}
