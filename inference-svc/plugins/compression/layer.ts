/** Makes an input that is too long for an endpoint fit its window, before it is translated: which window that is only the endpoint says. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Endpoint } from "../../routing/catalog.ts";
import { Breath } from "../../turn/breath.ts";
import { inputTokensOf, settingsBytesOf, sizeOfItems, tokensOfBytes } from "../../estimate/tokens.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope, Stage } from "../../turn/scope.ts";
import type { Turn } from "../../turn/turn.ts";
import { inputTarget, isMadeToFit } from "../../turn/window.ts";
import { type Compressed, compress } from "./compress.ts";

/** Estimates fall short for some texts: those of JSON by a fifth, most others by less. */
const safety = 1.08;
/** They are half too high for others: what is that much too long does not fit by any count. */
const overestimate = 1.5;

export const contextCompression =
  (endpoint: Endpoint, next: Turn): Turn =>
  (request, scope) =>
    // What the house asks for its own purposes was made to fit by whoever asks.
    isMadeToFit(request, endpoint) && scope.purpose === undefined
      ? asked(request, endpoint, scope, next)
      : next(request, scope);

async function asked(request: TurnRequest, endpoint: Endpoint, scope: Scope, next: Turn): ReturnType<Turn> {
  const fitting = await fitted(request, endpoint, scope);
  note(scope, fitting.stage);
  return next(fitting.request, scope);
}

export interface Fitting {
  readonly request: TurnRequest;
  /** Absent when nothing was left out. */
  readonly stage?: Stage;
}

/**
 * The request as the endpoint is asked it.
 * @throws Fault CONTEXT_LENGTH_EXCEEDED when nothing more can be left out
 */
export async function fitted(request: TurnRequest, endpoint: Endpoint, scope: Scope): Promise<Fitting> {
  if (!isMadeToFit(request, endpoint)) return { request };
  const { model } = endpoint;
  const target = inputTarget(request, endpoint);
  const fixedTokens = Math.ceil(tokensOfBytes(settingsBytesOf(request), model) * safety);
  const tokensOf = (item: InputItem) => Math.ceil(inputTokensOf(sizeOfItems([item]), model) * safety);
  const breath = new Breath(scope.signal);
  const compressed = await breath.through(compress(request.input, { fixedTokens, target, tokensOf }));
  if (compressed === undefined) return { request };
  if (compressed.after > target * overestimate) throw tooLong(compressed.after, target, endpoint);
  if (compressed.steps.length === 0) return { request };
  return { request: { ...request, input: compressed.input }, stage: stageOf(compressed, request, endpoint) };
}

const tooLong = (tokens: number, target: number, { contextLength }: Endpoint): Fault =>
  new Fault(
    FaultReason.CONTEXT_LENGTH_EXCEEDED,
    `input: about ${tokens} tokens are left when everything is left out that may be; a window of ${contextLength} has room for ${target}`,
    { origin: FaultOrigin.CLIENT, metadata: { error_type: "context_length_exceeded", param: "input" } },
  );

/** Whoever is asked twice is told the same twice. */
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
