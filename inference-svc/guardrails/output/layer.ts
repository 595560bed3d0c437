/** Holds back of an answer what the rules of the caller's guardrails find in it. Not there for callers whose guardrails look at input alone. */
import type { Scope } from "../../turn/scope.ts";
import { type Batch, type Layer, type TurnEvent, commits } from "../../turn/turn.ts";
import { type Extent, OutputGate } from "./gate.ts";
import { Report } from "./report.ts";
import { type OutputRule, divided, outputRules } from "./rules.ts";

/** @param extent what is read of an answer @param rulesOf throws Fault when one of them cannot be applied and does not let pass what it could not look at */
export const outputGate =
  (extent: Extent, rulesOf: (scope: Scope, report: Report) => readonly OutputRule[]): Layer =>
  (next) =>
  async (request, scope) => {
    const report = new Report();
    let rules: readonly OutputRule[];
    try {
      rules = rulesOf(scope, report);
    } catch (error) {
      scope.trace.stages.push(...report.stages());
      throw error;
    }
    if (rules.length > 0) {
      const gate = new OutputGate(rules, scope, report, extent);
      return settled(gate.guard(await next(request, scope).catch((error: unknown) => gate.refused(error))));
    }
    scope.trace.stages.push(...report.stages());
    return next(request, scope);
  };

const enforcedRules = (scope: Scope, report: Report) => divided(outputRules(scope.caller, report)).enforced;

export const outputGuardrails: Layer = outputGate("answer", ({ caller }, report) => outputRules(caller, report));

/** Without those that only report: for items that were put together of what they have seen. */
export const enforcedGuardrails: Layer = outputGate("items", enforcedRules);

/** The same for several answers that a client gets as one, and joins. */
export const joinedGuardrails: Layer = outputGate("texts", enforcedRules);

/** Once something has passed that a client may act on: until then a block is a refusal. */
export async function settled(batches: AsyncGenerator<Batch>): Promise<AsyncIterable<Batch>> {
  const first: TurnEvent[] = [];
  let over = false;
  while (!over && !first.some(commits)) {
    const result = await batches.next();
    if (result.done === true) over = true;
    else first.push(...result.value);
  }
  return first.length > 0 ? resumed(first, batches) : batches;
}

async function* resumed(first: Batch, rest: AsyncGenerator<Batch>): AsyncGenerator<Batch> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}
