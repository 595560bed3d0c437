/** Runs turns under guardrails for answers. */
import { toGeneratedAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { create } from "@bufbuild/protobuf";
import { outputGuardrails } from "@sluice/inference-svc/features/guardrails/output/layer.js";
import type { Batch, OutputItem, Turn, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import {
  AppliesTo,
  ErrorPolicy,
  FilterAction,
  GuardrailMode,
  GuardrailSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { testRequest, newScope, runTestTurn } from "../../asking.js";

export interface Filter {
  readonly pattern: string;
  readonly label?: string;
  readonly action?: FilterAction;
}

export const blockFilter = (pattern: string, label = ""): Filter => ({ pattern, label, action: FilterAction.BLOCK });
export const redactFilter = (pattern: string, label = ""): Filter => ({ pattern, label, action: FilterAction.REDACT });
export const flagFilter = (pattern: string, label = ""): Filter => ({ pattern, label, action: FilterAction.FLAG });

export interface GuardrailFields {
  readonly appliesTo?: AppliesTo;
  readonly mode?: GuardrailMode;
  readonly onError?: ErrorPolicy;
  readonly contentFilterBuiltins?: readonly { readonly slug: string; readonly action: FilterAction }[];
}

export const guardrailOf = (filters: readonly Filter[], fields: GuardrailFields = {}) =>
  create(GuardrailSchema, {
    id: "550e8400-e29b-41d4-a716-446655440000",
    name: "g",
    contentFilters: filters.map((filter) => ({ label: "", action: FilterAction.BLOCK, ...filter })),
    appliesTo: AppliesTo.OUTPUT,
    ...fields,
    contentFilterBuiltins: [...(fields.contentFilterBuiltins ?? [])],
  });

export const outputMessage = (...texts: readonly string[]): OutputItem => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: texts.map((text) => ({ type: "output_text", text, annotations: [], logprobs: [] })),
});

export const itemStart = (index: number, item: OutputItem): TurnEvent => ({ type: "item.start", index, item });
export const itemEnd = (index: number, item: OutputItem): TurnEvent => ({ type: "item.end", index, item });
export const textDeltaEvent = (delta: string, part = 0, index = 0): TurnEvent => ({
  type: "text.delta",
  index,
  part,
  delta,
});
export const turnEnd: TurnEvent = {
  type: "end",
  outcome: { status: "completed", serviceTier: "default" },
};

/** A message streamed in these deltas. */
export const streamedMessage = (...deltas: readonly string[]): Batch[] => [
  [{ type: "start", model: "acme/large-2" }],
  [itemStart(0, { ...outputMessage(), status: "in_progress" })],
  ...deltas.map((delta) => [textDeltaEvent(delta)]),
  [itemEnd(0, outputMessage(deltas.join(""))), turnEnd],
];

export interface Outcome {
  readonly events: readonly TurnEvent[];
  readonly fault: Awaited<ReturnType<typeof runTestTurn>>["fault"];
  readonly rejected: boolean;
  readonly stages: readonly object[];
  /** Whether the provider was stopped before its end. */
  readonly stopped: boolean;
}

/** The events and the receipt of a turn under a guardrail. */
export async function runGuarded(
  batches: readonly Batch[],
  filters: readonly Filter[],
  fields: GuardrailFields = {},
): Promise<Outcome> {
  let stopped = true;
  const turn: Turn = () =>
    toGeneratedAnswer(
      (async function* () {
        yield* batches;
        stopped = false;
      })(),
    );
  return { ...(await guardedTurn(turn, filters, fields)), stopped };
}

/** Runs the given turn, for example a failing one, under a guardrail. */
export async function guardedTurn(
  turn: Turn,
  filters: readonly Filter[],
  fields: GuardrailFields = {},
): Promise<Omit<Outcome, "stopped">> {
  const testScope = newScope({ guardrail: guardrailOf(filters, fields) });
  const { scope } = testScope;
  const { events, fault, rejected } = await runTestTurn(outputGuardrails(turn), testRequest(), testScope);
  return { events, fault, rejected, stages: scope.trace.stages };
}

/** The joined deltas of a kind. */
export function joinDeltas(events: readonly TurnEvent[], type: TurnEvent["type"] = "text.delta"): string {
  return events.map((event) => (event.type === type && "delta" in event ? event.delta : "")).join("");
}

export const itemAt = (events: readonly TurnEvent[], index = 0): OutputItem | undefined =>
  events.flatMap((event) => (event.type === "item.end" && event.index === index ? [event.item] : []))[0];
