/** Refuses a request in which a block filter of the key's guardrail finds something, before any provider is asked. */
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  AppliesTo,
  type ContentFilter,
  FilterAction,
  type Guardrail,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { TurnRequest } from "../turn/request.ts";
import type { Scope, Stage } from "../turn/scope.ts";
import { type Layer, onRequest } from "../turn/turn.ts";
import { isFound, patternOf } from "./patterns.ts";
import { viewsOf } from "./views.ts";

/** Characters times patterns after which others get their turn: some ten milliseconds. */
const sliceCharacters = 64 * 1024;

export const inputGuardrail: Layer = onRequest(async (request, scope) => {
  const { guardrail, workspaceGuardrails } = scope.caller;
  for (const applied of workspaceGuardrails) await apply(applied, "workspace", request, scope);
  if (guardrail) await apply(guardrail, "api-key", request, scope);
  return request;
});

async function apply(guardrail: Guardrail, given: string, request: TurnRequest, scope: Scope): Promise<void> {
  if (guardrail.contentFilters.length === 0 || guardrail.appliesTo === AppliesTo.OUTPUT) return;
  const hits = await matching(request, guardrail.contentFilters);
  const [first] = hits;
  if (first === undefined) return;
  scope.trace.stages.push(stageOf(guardrail, given, hits));
  throw new Fault(FaultReason.GUARDRAIL_BLOCKED, `Request blocked by content filter: ${first}`, {
    origin: FaultOrigin.CLIENT,
    metadata: { patterns: hits },
  });
}

/** What the filters that found something are called, in their own order. */
async function matching(request: TurnRequest, filters: readonly ContentFilter[]): Promise<readonly string[]> {
  const rules = filters.map((filter) => ({
    pattern: patternOf(blocking(filter).pattern),
    name: filter.label || filter.pattern,
    hit: false,
  }));
  let characters = 0;
  for (const view of viewsOf(request)) {
    for (const rule of rules) rule.hit ||= await isFound(rule.pattern, view);
    characters += view.length * rules.length;
    if (characters < sliceCharacters) continue;
    characters = 0;
    await nextTurn();
  }
  return [...new Set(rules.filter((rule) => rule.hit).map((rule) => rule.name))];
}

/** An action of a newer admin-svc is not ours to guess. */
function blocking(filter: ContentFilter): ContentFilter {
  if (filter.action === FilterAction.BLOCK) return filter;
  throw new Fault(FaultReason.UNAVAILABLE, "The key's guardrail cannot be applied", {
    origin: FaultOrigin.INFERENCE,
    shouldRetry: false,
    cause: new Error(`filter action ${filter.action}`),
  });
}

const stageOf = (guardrail: Guardrail, given: string, patterns: readonly string[]): Stage => ({
  type: "guardrail",
  name: "content-filter",
  guardrail_id: guardrail.id,
  guardrail_scope: given,
  summary: `Blocked: ${patterns.length} ${patterns.length === 1 ? "pattern" : "patterns"}`,
  data: { action: "blocked", detected: true, engines: ["regex"], patterns },
});
