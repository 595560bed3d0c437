/** Applies guardrails to tool results, on their way to the model and to the client. */
import { addedItemsScanner } from "../../turn/scan-added.ts";
import { WholeAnswer } from "../../turn/answer-kinds.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type Batch, type Layer, type OutputItem, type Turn, compose } from "../../turn/turn.ts";

interface Occasion {
  readonly request: TurnRequest;
  readonly scope: Scope;
}

/** Redacts tool outputs in place by the input guardrails. @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when they could not be scanned */
export async function scanOutputs(
  outputs: InputItem[],
  guards: readonly Layer[],
  { request, scope }: Occasion,
): Promise<void> {
  outputs.splice(0, outputs.length, ...(await addedItemsScanner(guards)([...outputs], request, scope)));
}

/** The item as redacted by the output guardrails, for the client. @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when it could not be scanned */
export async function scanItem(
  whole: OutputItem,
  gates: readonly Layer[],
  { request, scope }: Occasion,
): Promise<OutputItem> {
  const scannedTurn: Turn = () => new WholeAnswer(saying(whole));
  let shown = whole;
  for await (const batch of compose(gates, scannedTurn)(request, scope)) {
    for (const event of batch) if (event.type === "item.end") shown = event.item;
  }
  return shown;
}

const saying = (item: OutputItem): Batch => [
  { type: "item.end", index: 0, item },
  { type: "end", outcome: { status: "completed", serviceTier: "default" } },
];
