/** What tools gave, on its way to the model and to the client: the guardrails of the key look at both. */
import { lookedAt } from "../guardrails/added.ts";
import type { InputItem, TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { type Batch, type Layer, type OutputItem, type Turn, compose } from "../turn/turn.ts";

interface Occasion {
  readonly request: TurnRequest;
  readonly scope: Scope;
}

/** What is redacted is replaced in them. @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when they could not be looked at */
export async function checkedOutputs(
  outputs: InputItem[],
  guards: readonly Layer[],
  { request, scope }: Occasion,
): Promise<void> {
  outputs.splice(0, outputs.length, ...(await lookedAt(guards)([...outputs], request, scope)));
}

/** As the client is shown it. @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when it could not be looked at */
export async function shownItem(
  whole: OutputItem,
  gates: readonly Layer[],
  { request, scope }: Occasion,
): Promise<OutputItem> {
  const said: Turn = () => Promise.resolve(saying(whole));
  let shown = whole;
  for await (const batch of await compose(gates, said)(request, scope)) {
    for (const event of batch) if (event.type === "item.end") shown = event.item;
  }
  return shown;
}

async function* saying(item: OutputItem): AsyncGenerator<Batch> {
  yield [
    { type: "item.end", index: 0, item },
    { type: "end", outcome: { status: "completed", serviceTier: "default" } },
  ];
}
