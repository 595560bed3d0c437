/** The layers without anybody being asked: what would become of a request. */
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { FileReader } from "./files/texts.ts";
import { fitted } from "./plugins/compression/layer.ts";
import { parsed } from "./plugins/file-parser/layer.ts";
import { type Asked, type PlannedAttempt, planOf } from "./routing/plan.ts";
import type { Router } from "./routing/router.ts";
import type { TurnRequest } from "./turn/request.ts";
import type { Scope } from "./turn/scope.ts";
import { type Batch, type Layer, type Turn, compose } from "./turn/turn.ts";
import type { Upstreams } from "./upstream/providers.ts";

export interface Rehearsed {
  /** Why it would be refused, by a layer that may refuse what could be served. */
  readonly refusal: Fault | undefined;
  /** In the order in which they would be asked. */
  readonly plan: readonly PlannedAttempt[];
}

/** @throws Fault as a turn would, but for a block */
export type Rehearse = (request: TurnRequest, scope: Scope) => Promise<Rehearsed>;

export interface DryParts {
  readonly router: Router;
  readonly upstreams: Upstreams;
  readonly reader: FileReader;
}

export function dryStack(layers: readonly Layer[], parts: DryParts): Rehearse {
  const { router, upstreams } = parts;
  return async (request, scope) => {
    const { sent, refusal } = await through(layers, request, scope);
    const all = refusal
      ? router.route(sent, scope).map((endpoint) => ({ endpoint, request: sent }))
      : await askedOf(sent, scope, parts);
    return { refusal, plan: planOf(all, (endpoint, told) => upstreams.told(endpoint, told)) };
  };
}

/** The request as the layers leave it, or why one of them blocks it. */
async function through(
  layers: readonly Layer[],
  request: TurnRequest,
  scope: Scope,
): Promise<{ readonly sent: TurnRequest; readonly refusal: Fault | undefined }> {
  let sent = request;
  const last: Turn = (final) => {
    sent = final;
    return Promise.resolve(nothing);
  };
  try {
    await compose(layers, last)(request, scope);
    return { sent, refusal: undefined };
  } catch (error) {
    if (!(error instanceof Fault) || error.reason !== FaultReason.GUARDRAIL_BLOCKED) throw error;
    return { sent, refusal: error };
  }
}

const nothing: AsyncIterable<Batch> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ value: undefined, done: true }) }),
};

/** What each endpoint would be asked; of what is left out for the first the receipt tells. */
async function askedOf(
  request: TurnRequest,
  scope: Scope,
  { router, upstreams, reader }: DryParts,
): Promise<readonly Asked[]> {
  const all: Asked[] = [];
  let failure: unknown;
  for (const endpoint of router.route(request, scope)) {
    try {
      const { request: read, stages } = await parsed(request, endpoint, { reader, telling: upstreams, scope });
      const fitting = await fitted(read, endpoint, scope);
      if (all.length === 0) scope.trace.stages.push(...stages, ...(fitting.stage ? [fitting.stage] : []));
      all.push({ endpoint, request: fitting.request });
    } catch (error) {
      // The next one may have a larger window.
      failure = error;
    }
  }
  if (all.length === 0 && failure !== undefined) throw failure;
  return all;
}
