/** Holds back of an answer what the rules of the caller's guardrails find in it. Not there for callers whose guardrails look at input alone. */
import { type Batch, type Layer, type TurnEvent, commits } from "../../turn/turn.ts";
import { OutputGate } from "./gate.ts";
import { Report } from "./report.ts";
import { type OutputRule, outputRules } from "./rules.ts";

export const outputGuardrails: Layer = (next) => async (request, scope) => {
  const report = new Report();
  let rules: readonly OutputRule[];
  try {
    rules = outputRules(scope.caller, report);
  } catch (error) {
    scope.trace.stages.push(...report.stages());
    throw error;
  }
  if (rules.length > 0) return settled(new OutputGate(rules, scope, report).guard(await next(request, scope)));
  scope.trace.stages.push(...report.stages());
  return next(request, scope);
};

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
